"""A data directory that can run full."""

import subprocess


class SmallDisk:
    """A file system of 8 MiB below the data directory; where mounting is forbidden, a limit on the size of files."""

    def __init__(self, gateway):
        self.gateway, self.filler = gateway, gateway.data / "filler"
        gateway.data.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(gateway.data)]
        self.is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
        if not self.is_mounted:
            gateway.prefix = ["prlimit", "--fsize=2097152:unlimited"]

    def fill(self):
        if self.is_mounted:
            with open(self.filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass

    def free(self):
        if self.is_mounted:
            self.filler.unlink()
        else:
            pid = str(self.gateway.process.pid)
            subprocess.run(["prlimit", "--pid", pid, "--fsize=unlimited:unlimited"], check=True)
            self.gateway.prefix = []  # there is room after a restart, too

    def remove(self):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", str(self.gateway.data)], check=True)

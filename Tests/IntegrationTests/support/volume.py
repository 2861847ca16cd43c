"""File systems that a test may fill, and turn read-only under a running gateway. They need root, and the test fails
without: a disk that only seems full would prove nothing."""

import subprocess


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (
        f"this test needs a file system of its own, and `{' '.join(map(str, command))}` failed: {done.stderr.strip()} "
        "(run the tests as root, with leave to mount)")
    return done.stdout.strip()


class MemoryVolume:
    """A small tmpfs below the gateway's data directory. Make it before the gateway starts."""

    def __init__(self, gateway, megabytes=48):
        self.gateway, self.path, self.filler = gateway, gateway.data, gateway.data / "filler"
        self.path.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "cutover-test", self.path)

    def fill(self):
        """To the last page."""
        with open(self.filler, "ab", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def free(self):
        self.filler.unlink()

    def set_read_only(self, read_only):
        """Only while nobody has a file open for writing."""
        run("mount", "-o", f"remount,{'ro' if read_only else 'rw'}", self.path)

    def remove(self):
        run("umount", "--lazy", self.path)


class DiskVolume:
    """An ext4 in a file: it can fail under a running process, as a disk does after an error of the hardware."""

    def __init__(self, gateway, megabytes=64):
        self.path, self.image = gateway.data, gateway.directory / "disk.img"
        self.path.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        run("mkfs.ext4", "-q", self.image)
        self._mount()

    def _mount(self):
        run("mount", "-o", "loop", self.image, self.path)

    def fail(self):
        """ext4 gives up and is read-only from now on, open files included."""
        run("mount", "-o", "remount,abort", self.path)

    def repair(self):
        """What an operator does: unmount, check, mount. Nobody may use it meanwhile."""
        run("umount", self.path)
        # 1: errors were corrected.
        status = subprocess.run(["e2fsck", "-fy", self.image], capture_output=True).returncode
        assert status in (0, 1), f"e2fsck says {status}"
        self._mount()

    def remove(self):
        run("umount", "--lazy", self.path)

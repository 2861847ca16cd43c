"""A wall clock of its own for one gateway, which a test may step while it runs."""

import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("clock.c")


class SteppedClock:
    """Made before the gateway starts; outlives its restarts."""

    def __init__(self, scratch):
        self.library, self.file, self.seconds = scratch / "clock.so", scratch / "clock", 0
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", self.library, SOURCE, "-ldl"], check=True)
        self.file.write_bytes(bytes(8))

    @property
    def environment(self):
        return {"LD_PRELOAD": str(self.library), "CUTOVER_CLOCK": str(self.file)}

    def step(self, seconds):
        """Sets the clock `seconds` further (or back)."""
        self.seconds += seconds
        # In place: the gateway has the file mapped.
        with open(self.file, "r+b") as file:
            file.write(struct.pack("<q", self.seconds * 1_000_000_000))

"""What one fsync of a disk costs: 4 KiB written over what is there, then fdatasync, again and again."""

import os
import pathlib
import statistics
import threading
import time

BLOCK = 4096


class Disk:
    """A file of 4 MiB in a directory of the file system that is measured."""

    def __init__(self, directory):
        self.path = pathlib.Path(directory) / "fsync-probe"
        self.descriptor = os.open(self.path, os.O_CREAT | os.O_RDWR)
        os.pwrite(self.descriptor, bytes(1024 * BLOCK), 0)
        os.fsync(self.descriptor)

    def syncs(self, seconds):
        """(median, 95th percentile) in milliseconds of as many as fit in this time."""
        block, waited, end = os.urandom(BLOCK), [], time.perf_counter() + seconds
        while (begin := time.perf_counter()) < end:
            os.pwrite(self.descriptor, block, len(waited) % 1024 * BLOCK)
            os.fdatasync(self.descriptor)
            waited.append((time.perf_counter() - begin) * 1000)
        return statistics.median(waited), statistics.quantiles(waited, n=20)[-1]

    def syncs_during(self, work, seconds):
        """The same while `work()` runs, which takes about as long; with what that returned."""
        measured = []
        thread = threading.Thread(target=lambda: measured.append(self.syncs(seconds)))
        thread.start()
        result = work()
        thread.join()
        return measured[0], result

    def close(self):
        os.close(self.descriptor)
        self.path.unlink()


def forget_pages(path):
    """Drops a file from the page cache, so that the next reader finds it as after a reboot."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)

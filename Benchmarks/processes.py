"""What a process and its children have used: processor time, memory."""

import os
import pathlib
import time

TICK = os.sysconf("SC_CLK_TCK")


def family(parent):
    """The process and its children."""
    found = [parent]
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = _fields(path)
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(path.parent.name))
    return found


def processor_seconds(parent):
    """User and system time of the process and its children so far, to the nanosecond, threads that ended included."""
    return sum(time.clock_gettime(_clock(pid)) for pid in family(parent))


def _clock(pid):
    """The processor clock of another process (clock_getcpuclockid(3), which Python does not have)."""
    return (~pid << 3) | 2


def thread_seconds(pid):
    """User and system time of each thread of one process so far, by thread."""
    return {path.parent.name: _seconds(path) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")}


def _fields(path):
    return path.read_text().rpartition(")")[2].split()


def _seconds(path):
    fields = _fields(path)
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_bytes(parent, name="Pss"):
    """`Pss` or `Rss` of the process and its children: a page that two of them share counts half in each, or in full."""
    return sum(_kibibytes(f"/proc/{pid}/smaps_rollup", name) for pid in family(parent)) * 1024


def forget_peak(parent):
    """The peak counts from here."""
    for pid in family(parent):
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_bytes(parent):
    """The most that was resident at a time since the peak was forgotten; each process for itself."""
    return sum(_kibibytes(f"/proc/{pid}/status", "VmHWM") for pid in family(parent)) * 1024


def resident_bytes(pid):
    return _kibibytes(f"/proc/{pid}/status", "VmRSS") * 1024


def _kibibytes(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise ValueError(f"{path} has no {name}")


def settle_processor(parent, limit=10.0):
    """Waits until a process has nothing left to do, so that its work is counted in its own round."""
    deadline = time.monotonic() + limit
    last = -1.0
    # By the coarse clock: what a process does each second must not look like work.
    while (used := sum(_seconds(pathlib.Path(f"/proc/{pid}/stat")) for pid in family(parent))) != last:
        if time.monotonic() > deadline:
            return
        last = used
        time.sleep(0.25)

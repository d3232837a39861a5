"""Whether there is memory for what is being read, so that a file that is too big is refused and not killed for.

Linux gives memory out freely and ends a process that then uses it. What is free is read from /proc and from the
process's control group; where neither says, nothing is refused.
"""

from __future__ import annotations

from pathlib import Path

from longpole.errors import UnreadableError

#: What an interval still takes when a trace is put together and judged, beside what it took to be read.
ROW_BYTES = 120
#: How many intervals are read between two looks.
LOOK_EVERY = 500_000


class Room:
    """Looks from time to time whether there is room to put together what was read of one file."""

    def __init__(self, path: str) -> None:
        self._path, self._next = path, LOOK_EVERY

    def ask(self, rows: int) -> None:
        """Raises UnreadableError where so many intervals are more than memory has room for."""
        if rows < self._next:
            return
        self._next = rows + LOOK_EVERY
        free = free_bytes()
        if free is not None and rows * ROW_BYTES > free:
            raise UnreadableError(
                f"{self._path}: more than fits in memory: {rows:,} intervals were read, {free / 1e9:.1f} GB are free; "
                "record fewer steps, or leave out stacks (with_stack=False)"
            )


def free_bytes() -> int | None:
    """How many bytes this process can still take, None where the system does not say."""
    known = [_available(), _left_in_group()]
    return min((n for n in known if n is not None), default=None)


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _left_in_group() -> int | None:
    """What the control group (version 2) of this process leaves, None without a limit."""
    try:
        group = Path("/proc/self/cgroup").read_text("ascii").rpartition("::")[2].strip()
        folder = Path("/sys/fs/cgroup") / group.lstrip("/")
        most, taken = (folder / "memory.max").read_text().strip(), (folder / "memory.current").read_text()
    except (OSError, ValueError):
        return None
    return int(most) - int(taken) if most.isdigit() else None

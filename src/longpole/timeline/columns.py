"""A timeline: what happened when, as columns. Sources write it, `job` reads it.

One row is one interval on one lane. Rows are sorted by start. Times are int64 nanoseconds on the clock of the
source (Unix time where the source knows it), so nothing is lost to a float. Names are interned: `names[name[i]]`.
It covers what one process tree of one rank recorded; several ranks are several timelines (see `clocks`).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]


class Kind(enum.IntEnum):
    """What an interval is, whatever the source calls it."""

    KERNEL = 0  #: a kernel on a device (collectives too: their names tell)
    COPY = 1  #: a copy engine's work; the name is canonical: "Memcpy HtoD (Pageable -> Device)"
    FILL = 2  #: a memset on a device
    DEVICE_RANGE = 3  #: an annotation projected onto a stream
    DEVICE_SYNC = 4  #: a synchronisation as the device library recorded it
    CALL = 5  #: a call of the device's API on a host thread: cudaLaunchKernel, hipFree, cuMemcpyAsync
    OPERATOR = 6  #: an operator of the framework on a host thread: aten::addmm
    RANGE = 7  #: a user's or the framework's annotation: Optimizer.step#SGD.step, enumerate(DataLoader)#...
    STEP = 8  #: a marked step: ProfilerStep#7
    PYTHON = 9  #: a Python function on a host thread: "torch/nn/modules/module.py(1773): _call_impl"
    OVERHEAD = 10  #: the profiler at work: buffer requests and flushes, its own instrumentation
    SPAN = 11  #: the recorder's own span: what it says it covered


@dataclass(frozen=True, slots=True)
class Lane:
    """Where intervals ran. `kind` is 'thread', 'stream' or 'other'; ids are as the source gives them, else None."""

    kind: str
    label: str
    pid: int | None = None
    tid: int | None = None
    device: int | None = None
    stream: int | None = None


@dataclass(frozen=True, slots=True)
class Collectives:
    """What a source knows of its collective rows, beside their names; parallel arrays, one entry a row known.

    `row` indexes the timeline (ascending), `operation` and `group` its `names` (-1 unknown); `group_size` counts
    ranks and `in_bytes`, `out_bytes` are what one rank hands in and gets out (-1 unknown).
    """

    row: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    operation: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    group: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    group_size: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    in_bytes: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    out_bytes: I64 = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class Timeline:
    """Columns of intervals (all of one length) and what the source says of itself.

    `correlation` joins an API call to the device work it caused (-1 unknown), `size_bytes` is what a copy moved
    (-1 unknown). `set_aside` counts what was not read, by reason; `whole` is False where the source breaks off,
    so that what is missing says nothing. `notes` are lines for the user.
    """

    source: str
    start_ns: I64
    end_ns: I64
    name: I32
    lane: I32
    kind: U8
    correlation: I64
    size_bytes: I64
    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    collectives: Collectives = field(default_factory=Collectives)
    rank: int | None = None
    world_size: int | None = None
    host: str | None = None
    devices: tuple[str, ...] = ()
    set_aside: dict[str, int] = field(default_factory=dict)
    whole: bool = True
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def file(self) -> str:
        """The name of the file it was read from, without its folders."""
        return re.split(r"[/\\]", self.source)[-1]

    def rows(self, *kinds: Kind) -> I64:
        """Indices of the rows of these kinds, ascending."""
        mask = self.kind == kinds[0]
        for kind in kinds[1:]:
            mask |= self.kind == kind
        return np.flatnonzero(mask)

    def by_name(self, rows: I64, amounts: I64) -> I64:
        """The sum of the rows' amounts for each name."""
        total = np.zeros(len(self.names), np.int64)
        np.add.at(total, self.name[rows], amounts)
        return total


def partners(keys: I64, wanted: I64) -> I64:
    """For each wanted key the index of the first entry of `keys` with it, -1 where there is none.

    Keys are correlations: a negative one is unknown, and joins nothing.
    """
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where((keys[at] == wanted) & (wanted >= 0), at, -1)

"""Times that can't be: what profilers are known to write, found by what the rest of the trace says.

Each function changes or drops as little as it can and says what it did, for `Timeline.set_aside`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longpole.timeline.columns import I32, I64, U8, Kind

#: A duration overran that is at least so long, covers at least so many of the next starts on its own stream and lasts
#: so many times as long as nearly all others there. A stream runs one kernel after the other; programmatic dependent
#: launch overlaps the next one or two, the branches of a graph overlap more, but not by such factors.
_OVERRUN_NS = 100_000_000
_OVERRUN_STARTS = 16
_OVERRUN_FACTOR = 100


def zero_times(start: I64) -> NDArray[np.bool_]:
    """Which rows have no time but 0, in a trace whose times are elsewhere (records that were never filled in)."""
    at_zero = start <= 0
    if not at_zero.any() or at_zero.all():
        return np.zeros(len(start), bool)
    rest = start[~at_zero]
    first, last = int(rest.min()), int(rest.max())
    return at_zero if first > 10 * (last - first) + 1_000_000 else np.zeros(len(start), bool)


def overruns(start: I64, end: I64, lane: I32, kind: U8) -> tuple[I64, I64]:
    """The rows of device work (sorted by start) whose end can't be, and the ends to give them.

    Such a row is clipped to the next start on its stream: what it ran at least, as trace viewers draw it.
    """
    rows, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    work = np.flatnonzero((kind <= Kind.FILL) & (end > start))
    reach, horizon = _horizon(start, end, kind)
    suspect = lane[work[(end[work] - start[work] >= _OVERRUN_NS) | (end[work] > horizon)]]
    work = work[np.argsort(lane[work], kind="stable")]
    lanes = lane[work]
    for each in np.unique(suspect):
        first, last = np.searchsorted(lanes, (each, each + 1))
        on_lane = work[first:last]
        begins, finishes = start[on_lane], end[on_lane]
        lasts = finishes - begins
        covered = np.searchsorted(begins, finishes, "left") - np.arange(len(on_lane)) - 1
        usual = np.percentile(lasts, 90)
        overrun = (lasts >= _OVERRUN_NS) & (covered >= _OVERRUN_STARTS) & (lasts >= _OVERRUN_FACTOR * usual)
        overrun |= finishes > horizon
        at = np.flatnonzero(overrun)
        following = np.append(begins[1:], reach)[at]
        rows.append(on_lane[at])
        ends.append(np.maximum(np.minimum(following, finishes[at]), begins[at]))
    return np.concatenate(rows), np.concatenate(ends)


def _horizon(start: I64, end: I64, kind: U8) -> tuple[int, int]:
    """How far the trace reaches by what is sure of it, and as far again: no work on a device was seen to end later.

    A long end is sure where the host waited for it: a kernel that hung for a minute has a call that lasts as long.
    """
    host = (kind >= Kind.CALL) & (kind <= Kind.PYTHON)
    most = int(np.iinfo(np.int64).max)
    if not host.any():
        return most, most
    reach = max(int(start.max()), int(end[host].max()))
    return reach, min(most, reach + max(reach - int(start.min()), _OVERRUN_NS))

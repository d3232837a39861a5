"""Arithmetic on sets of time: unions, differences, and painting a window with causes.

A `Spans` is sorted and disjoint, as two int64 arrays; every function keeps it so. All are O(n log n) at most and
exact: integers in, integers out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]


class Spans(NamedTuple):
    """A set of nanoseconds as half-open [start, end) pieces, sorted, disjoint and not touching."""

    start: I64
    end: I64

    @property
    def total(self) -> int:
        """Its size in ns."""
        return int((self.end - self.start).sum())


NONE = Spans(np.empty(0, np.int64), np.empty(0, np.int64))


def union(start: I64, end: I64) -> Spans:
    """The set covered by any of the intervals; empty and negative ones cover nothing."""
    good = end > start
    if not good.all():
        start, end = start[good], end[good]
    if len(start) == 0:
        return NONE
    if (np.diff(start) < 0).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    first = np.empty(len(start), bool)
    first[0] = True
    np.greater(start[1:], reach[:-1], out=first[1:])
    begin = np.flatnonzero(first)
    return Spans(start[begin], reach[np.append(begin[1:] - 1, len(start) - 1)])


def join(sets: Iterable[Spans]) -> Spans:
    """The union of several sets."""
    some = [s for s in sets if len(s.start)]
    if not some:
        return NONE
    if len(some) == 1:
        return some[0]
    return union(np.concatenate([s.start for s in some]), np.concatenate([s.end for s in some]))


def clip(spans: Spans, start: int, end: int) -> Spans:
    """What of the set lies in [start, end)."""
    low, high = np.searchsorted(spans.end, start, "right"), np.searchsorted(spans.start, end, "left")
    if start >= end or low >= high:
        return NONE
    return Spans(np.maximum(spans.start[low:high], start), np.minimum(spans.end[low:high], end))


def complement(spans: Spans, start: int, end: int) -> Spans:
    """What of [start, end) is not in the set."""
    inside = clip(spans, start, end)
    edges_start = np.append(np.int64(start), inside.end)
    edges_end = np.append(inside.start, np.int64(end))
    keep = edges_end > edges_start
    return Spans(edges_start[keep], edges_end[keep])


def intersect(a: Spans, b: Spans) -> Spans:
    """What lies in both sets."""
    if not len(a.start) or not len(b.start):
        return NONE
    low = np.searchsorted(b.end, a.start, "right")
    high = np.searchsorted(b.start, a.end, "left")
    count = np.maximum(high - low, 0)
    mine = np.repeat(np.arange(len(a.start)), count)
    offset = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    theirs = low[mine] + offset
    return Spans(np.maximum(a.start[mine], b.start[theirs]), np.minimum(a.end[mine], b.end[theirs]))


def subtract(a: Spans, b: Spans) -> Spans:
    """What lies in the first set and not in the second."""
    if not len(a.start) or not len(b.start):
        return a
    start, end = int(min(a.start[0], b.start[0])), int(max(a.end[-1], b.end[-1]))
    return intersect(a, complement(b, start, end))


def overlap(spans: Spans, start: I64, end: I64) -> I64:
    """How many ns of the set lie in each of the intervals [start[i], end[i]); one number an interval."""
    return covered_before(spans, np.maximum(start, end)) - covered_before(spans, start)


def holds(spans: Spans, at: I64) -> NDArray[np.bool_]:
    """One flag a time: whether it lies in the set."""
    if not len(spans.start):
        return np.zeros(len(at), bool)
    index = np.searchsorted(spans.start, at, "right") - 1
    return np.asarray((index >= 0) & (at < spans.end[np.maximum(index, 0)]))


def covered_before(spans: Spans, at: I64) -> I64:
    """How many ns of the set lie before each of the times."""
    if not len(spans.start):
        return np.zeros(len(at), np.int64)
    length = spans.end - spans.start
    before = np.concatenate(([np.int64(0)], np.cumsum(length)))
    index = np.searchsorted(spans.start, at, "right")
    last = np.maximum(index - 1, 0)
    part = np.minimum(at - spans.start[last], length[last])
    return np.where(index > 0, before[last] + part, 0)


class Strip(NamedTuple):
    """A window painted from end to end: piece i is [edge[i], edge[i + 1]) and has the colour label[i]."""

    edge: I64
    label: NDArray[np.int16]

    def totals(self, colours: int) -> I64:
        """The ns of each colour."""
        out = np.zeros(colours, np.int64)
        np.add.at(out, self.label, np.diff(self.edge))
        return out

    def spans(self, colour: int) -> Spans:
        """The set painted with one colour."""
        at = np.flatnonzero(self.label == colour)
        return union(self.edge[at], self.edge[at + 1])


def paint(start: int, end: int, layers: Sequence[Spans]) -> Strip:
    """Paint [start, end): layer 0 is the strongest, what no layer covers gets the colour len(layers).

    Every nanosecond gets exactly one colour, so that the totals add up to end - start.
    """
    inside = [clip(layer, start, end) for layer in layers]
    ends = np.array([start, end], np.int64)
    edge = distinct(np.concatenate([ends, *[s.start for s in inside], *[s.end for s in inside]]))
    label = np.full(len(edge) - 1, len(layers), np.int16)
    for colour in range(len(layers) - 1, -1, -1):
        cover = np.zeros(len(edge), np.int8)
        # A set's pieces do not touch, so no edge is both an end and a start of one layer.
        cover[np.searchsorted(edge, inside[colour].start)] = 1
        cover[np.searchsorted(edge, inside[colour].end)] = -1
        label[np.cumsum(cover[:-1], dtype=np.int8) > 0] = colour
    return Strip(edge, label)


def distinct(values: I64) -> I64:
    """The values ascending, each once. Runs that are sorted already are merged, which is faster than hashing them."""
    values = np.sort(values, kind="stable")
    keep = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]


def among(values: I64, members: I64) -> NDArray[np.bool_]:
    """One flag a value: whether it is one of the members."""
    if not len(members):
        return np.zeros(len(values), bool)
    sorted_members = np.sort(members, kind="stable")
    at = np.minimum(np.searchsorted(sorted_members, values), len(members) - 1)
    return np.asarray(sorted_members[at] == values)

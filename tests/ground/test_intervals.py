"""Sets of time against a brute-force bitmap: one bit a nanosecond of a small range."""

from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from longpole.timeline import intervals
from longpole.timeline.intervals import NONE, Spans

LOW, HIGH = -8, 40
RANGE = range(LOW, HIGH)

pieces = st.lists(st.tuples(st.integers(LOW, HIGH), st.integers(LOW, HIGH)), max_size=8)
times = st.integers(LOW, HIGH)


def column(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(values), np.int64)


def spans(some: list[tuple[int, int]]) -> Spans:
    return intervals.union(column(s for s, _ in some), column(e for _, e in some))


def bits(some: list[tuple[int, int]]) -> set[int]:
    return {t for s, e in some for t in range(s, e)}


def members(found: Spans) -> set[int]:
    """The set as a bitmap; asserts on the way that it is sorted, disjoint, not touching and int64."""
    assert found.start.dtype == np.int64 and found.end.dtype == np.int64
    assert (found.start < found.end).all()
    assert (found.end[:-1] < found.start[1:]).all()
    out = bits(list(zip(found.start.tolist(), found.end.tolist(), strict=True)))
    assert found.total == len(out)
    return out


@given(pieces)
def test_union(some: list[tuple[int, int]]) -> None:
    assert members(spans(some)) == bits(some)


@given(st.lists(pieces, max_size=4))
def test_join(some: list[list[tuple[int, int]]]) -> None:
    assert members(intervals.join(map(spans, some))) == bits([p for s in some for p in s])


@given(pieces, pieces)
def test_intersect(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert members(intervals.intersect(spans(a), spans(b))) == bits(a) & bits(b)


@given(pieces, pieces)
def test_subtract(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert members(intervals.subtract(spans(a), spans(b))) == bits(a) - bits(b)


@given(pieces, times, times)
def test_complement(a: list[tuple[int, int]], start: int, end: int) -> None:
    assert members(intervals.complement(spans(a), start, end)) == set(range(start, end)) - bits(a)


@given(pieces, times, times)
def test_clip(a: list[tuple[int, int]], start: int, end: int) -> None:
    assert members(intervals.clip(spans(a), start, end)) == set(range(start, end)) & bits(a)


@given(pieces, pieces)
def test_overlap(a: list[tuple[int, int]], of: list[tuple[int, int]]) -> None:
    found = intervals.overlap(spans(a), column(s for s, _ in of), column(e for _, e in of))
    assert found.tolist() == [len(set(range(s, e)) & bits(a)) for s, e in of]


@given(pieces, st.lists(times, max_size=8))
def test_covered_before(a: list[tuple[int, int]], at: list[int]) -> None:
    found = intervals.covered_before(spans(a), column(at))
    assert found.tolist() == [len({t for t in bits(a) if t < limit}) for limit in at]


@given(st.lists(pieces, max_size=4), times, times)
def test_paint(layers: list[list[tuple[int, int]]], a: int, b: int) -> None:
    start, end = min(a, b), max(a, b)
    strip = intervals.paint(start, end, list(map(spans, layers)))
    left = set(range(start, end))
    totals = strip.totals(len(layers) + 1)
    assert totals.sum() == end - start, "every nanosecond gets exactly one colour"
    for colour, layer in enumerate(layers):
        expected = left & bits(layer)  # what stronger layers left of it
        assert members(strip.spans(colour)) == expected
        assert totals[colour] == len(expected)
        left -= expected
    assert members(strip.spans(len(layers))) == left


def test_an_empty_window_has_no_colour() -> None:
    strip = intervals.paint(5, 5, [spans([(0, 10)])])
    assert strip.totals(2).tolist() == [0, 0]
    assert strip.totals(2).dtype == np.int64
    assert intervals.paint(5, 5, []).totals(1).tolist() == [0]


def test_totals_counts_colours_that_were_not_painted() -> None:
    assert intervals.paint(0, 10, [NONE, spans([(2, 4)])]).totals(3).tolist() == [0, 2, 8]


def test_nanoseconds_of_unix_time_stay_exact() -> None:
    """Above 2**53 a float would merge neighbours."""
    base = 1_764_547_200_000_000_001
    a = spans([(base, base + 1), (base + 2, base + 3)])
    assert a.total == 2
    assert intervals.complement(a, base, base + 4).start.tolist() == [base + 1, base + 3]
    assert intervals.covered_before(a, column([base + 3])).tolist() == [2]
    assert intervals.paint(base, base + 4, [a]).totals(2).tolist() == [2, 2]


def test_what_is_given_is_not_changed() -> None:
    start, end = column([5, 1, 9]), column([6, 3, 2])
    intervals.union(start, end)
    assert start.tolist() == [5, 1, 9] and end.tolist() == [6, 3, 2]

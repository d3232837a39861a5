"""Times are exact to the nanosecond, however they are written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole.sources.kineto_events import exact_ns, written_ns

BASE = 1_790_857_026_000_000_000


def trace(ts: str, dur: str, base: int | None = None) -> str:
    tail = f', "baseTimeNanoseconds": {base}' if base is not None else ""
    return f'{{"traceEvents": [{{"ph": "X", "cat": "kernel", "name": "k", "ts": {ts}, "dur": {dur}}}]{tail}}}'


@pytest.mark.parametrize(
    ("ts", "dur", "base", "start", "end"),
    [
        ("1790857026123456.789", "0.001", None, 1790857026123456789, 1790857026123456790),
        ("1712195495519689.047", "63.813", None, 1712195495519689047, 1712195495519752860),
        ("1669783687464181", "45", None, 1669783687464181000, 1669783687464226000),
        ("1669783687464181", "45.5", None, 1669783687464181000, 1669783687464226500),
        ("5220502643362.251", "8.25", BASE, BASE + 5220502643362251, BASE + 5220502643370501),
        ("4398046511105.999", "0.001", BASE, BASE + 4398046511105999, BASE + 4398046511106000),
        ('"1790857026123456.789"', '"1"', None, 1790857026123456789, 1790857026123457789),
        ("1.790857026123456e15", "1e3", None, 1790857026123456000, 1790857026124456000),
        ("101.524", "134.49", None, 101524, 236014),
        # A base does not apply to times that are Unix times already.
        ("1790857026123456.789", "1", BASE, 1790857026123456789, 1790857026123457789),
    ],
)
def test_exact(read_text, ts, dur, base, start, end):
    timeline = read_text(trace(ts, dur, base))
    assert (timeline.start_ns.tolist(), timeline.end_ns.tolist()) == ([start], [end])


@pytest.mark.parametrize("ts", ["1e300", "9223372036854775807", "-1e19", "null", "true", "[1]", '"soon"', "9" * 5000])
def test_times_that_are_none_are_set_aside(read_text, ts):
    events = json.loads(trace("1", "1"))["traceEvents"]
    text = json.dumps([*events, {"ph": "X", "name": "odd", "ts": "TS", "dur": 1}]).replace('"TS"', ts)
    timeline = read_text(text)
    assert len(timeline) == 1 and sum(timeline.set_aside.values()) == 1


@given(st.integers(0, 2**43 * 1000 - 1))
def test_floats_below_their_limit_are_exact(ns):
    assert exact_ns([float(f"{ns // 1000}.{ns % 1000:03}")]) == [ns]


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1))
def test_whole_microseconds_are_exact(us):
    assert exact_ns(us).tolist() == [each * 1000 for each in us]


@given(st.integers(0, 3 * 10**18))
def test_written_times_are_exact(ns):
    assert written_ns(f"{ns // 1000}.{ns % 1000:03}".encode()) == ns
    assert written_ns(f'"{ns // 1000}.{ns % 1000:03}"'.encode()) == ns

"""What must hold whatever the file: how it is written and cut does not matter, and damage is never a crash."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpole.errors import UnreadableError
from longpole.sources import kineto
from longpole.sources.content import Content
from longpole.timeline.columns import Timeline

words = st.text(st.characters(codec="utf-8"), max_size=12)
#: Names as they come, and such as look like the ends and beginnings of things.
names = words | st.sampled_from(
    ["}]", "}, {", '"}', '}],"', '{"ph": "X"}', "\\", "\\u", "k<(lambda()#1)>{int}", "inf, nan]"]
)
numbers = st.integers(0, 10**9) | st.integers(0, 10**12).map(lambda ns: ns / 1000)
args = st.dictionaries(
    st.sampled_from(["correlation", "stream", "device", "bytes", "External id", "Ev Idx", "list"]),
    st.integers(0, 2**40) | words | st.lists(st.fixed_dictionaries({"name": words, "ph": st.just("X")}), max_size=2),
    max_size=4,
)
categories = st.sampled_from(["kernel", "gpu_memcpy", "cpu_op", "cuda_runtime", "python_function", "user_annotation"])
places = st.integers(0, 2)
intervals = st.fixed_dictionaries(
    {"ph": st.just("X"), "cat": categories, "name": names, "pid": places, "tid": places, "ts": numbers, "dur": numbers},
    optional={"args": args},
)
others = st.fixed_dictionaries({"name": names, "ph": st.sampled_from("sfiCM"), "ts": numbers})
traces = st.lists(intervals | others, min_size=1, max_size=12).filter(
    lambda events: any(e["ph"] == "X" for e in events)
)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Timeline]:
    """Reads bytes as a trace, by chunks of a given size."""
    path: Path = tmp_path_factory.mktemp("traces") / "trace.json"

    def read_bytes(data: bytes, chunk_bytes: int = 1 << 19) -> Timeline:
        path.write_bytes(data)
        with Content(path, chunk_bytes) as content:
            if not kineto.claims(content.head):
                raise UnreadableError("not claimed")
            return kineto.read(content)

    return read_bytes


def plain(timeline: Timeline) -> list[tuple[Any, ...]]:
    columns = (timeline.start_ns, timeline.end_ns, timeline.kind, timeline.correlation, timeline.size_bytes)
    return [
        (*map(int, row), timeline.names[name], timeline.lanes[lane])
        for *row, name, lane in zip(*columns, timeline.name, timeline.lane, strict=True)
    ]


@given(traces, st.integers(1, 300), st.sampled_from([None, 1]), st.booleans())
def test_how_it_is_cut_and_laid_out_does_not_matter(read, events, chunk_bytes, indent, ascii_only):
    expected = read(json.dumps(events).encode())
    text = json.dumps(
        {"a": 1, "traceEvents": events, "z": [{"b": 1}, {"c": 2}]}, indent=indent, ensure_ascii=ascii_only
    )
    cut = read(text.encode(), chunk_bytes)
    assert plain(cut) == plain(expected)
    assert cut.set_aside == expected.set_aside and cut.notes == expected.notes
    assert (cut.names, cut.lanes) == (expected.names, expected.lanes)


@given(traces, st.permutations(["traceEvents", "distributedInfo", "baseTimeNanoseconds", "note"]), st.booleans())
def test_the_order_of_keys_and_packing_do_not_matter(read, events, keys, packed):
    said = {
        "traceEvents": events,
        "distributedInfo": {"rank": 1, "world_size": 2},
        "baseTimeNanoseconds": 10**18,
        "note": [{}],
    }
    expected = read(json.dumps(said).encode())
    data = json.dumps({key: said[key] for key in keys}, separators=(",", ":")).encode()
    timeline = read(gzip.compress(data) if packed else data, 100)
    assert plain(timeline) == plain(expected)
    assert (timeline.rank, timeline.world_size, timeline.notes) == (1, 2, ())


@given(traces, st.integers(1, 100), st.data())
def test_one_event_a_line_is_the_same(read, events, chunk_bytes, data):
    lines = data.draw(st.sampled_from(["", "[\n"])) + "\n".join(map(json.dumps, events))
    assert plain(read(lines.encode(), chunk_bytes)) == plain(read(json.dumps(events).encode()))


@given(traces, st.floats(0, 1), st.booleans(), st.integers(1, 300))
def test_what_is_cut_off_gives_the_events_before_it(read, events, share, packed, chunk_bytes):
    data = json.dumps({"traceEvents": events}).encode()
    data = gzip.compress(data) if packed else data
    try:
        cut = read(data[: int(len(data) * share)], chunk_bytes)
    except UnreadableError as error:
        assert "\n" not in str(error)
        return
    complete = [event for event in events if event["ph"] == "X"]
    prefix = read(json.dumps({"traceEvents": complete[: len(cut)]}).encode())
    assert plain(cut) == plain(prefix)


@given(
    traces,
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8),
    st.booleans(),
    st.integers(1, 300),
)
def test_damaged_bytes_are_never_a_crash(read, events, damage, packed, chunk_bytes):
    data = bytearray(json.dumps({"traceEvents": events}).encode())
    data = bytearray(gzip.compress(bytes(data))) if packed else data
    for share, byte in damage:
        data[int(share * (len(data) - 1))] = byte
    try:
        timeline = read(bytes(data), chunk_bytes)
    except UnreadableError as error:
        assert "\n" not in str(error)
    else:
        assert len(timeline) and (timeline.end_ns >= timeline.start_ns).all()


@given(st.binary(max_size=200), st.sampled_from([b"", b"[", b'{"traceEvents": [', b'[{"ph": "X", ']))
def test_anything_at_all_is_never_a_crash(read, data, before):
    try:
        read(before + data, 16)
    except UnreadableError as error:
        assert "\n" not in str(error)

"""Broken traces, each as a bug report had it: what is whole is read, the rest is counted, and nothing crashes."""

from __future__ import annotations

import gzip
import json

import pytest

from longpole.errors import UnreadableError
from longpole.timeline.columns import Kind

MENDED = "holds text that is not JSON (escapes, quotes, encoding or numbers); it was mended"
GEMM = '"name": "void gemm<{lambda()#1}>(int)"'
LAYOUTS = pytest.mark.parametrize("indent", [None, 2])


def renamed(text: str, name: str, count: int = 1) -> str:
    """The text with the kernel's name spelled as it is, unescaped, in the file."""
    assert GEMM in text
    return text.replace(GEMM, f'"name": "{name}"', count)


@LAYOUTS
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"torch\cuda\__init__.py(219): _", "torch\\cuda\\__init__.py(219): _"),  # kineto#336, #617, #750
        ("torch/_inductor/config.py(0): \x01\x1f", "torch/_inductor/config.py(0):   "),  # pytorch#136180
        ("tab\tand\nline", "tab and line"),  # kineto PR#1459
        ('{"device": "cpu"}(12): run', '{"device": "cpu"}(12): run'),  # pytorch#146900
        ('an "odd quote', 'an "odd quote'),
        ('_ = lib("_inductor", "IMPL")\n(1): <module>', '_ = lib("_inductor", "IMPL") (1): <module>'),  # pytorch#113001
        ("caf\udce9", "caf\ufffd"),  # a byte that is not UTF-8
        (r"half a pair \ud83d", "half a pair \ufffd"),
        ("brackets }], \\\"ph\\\": {[", 'brackets }], "ph": {['),  # valid, and not to be taken for an end
    ],
)  # fmt: skip
def test_names_that_break_the_text(small, read_text, whole, rows_of, written, read, count, indent):
    timeline = read_text(renamed(small.text(indent), written, count))
    assert timeline.set_aside == {}
    assert timeline.notes in ((), (MENDED,))
    assert sum(timeline.names[name] == read for name in timeline.name) == count
    assert [row[:5] for row in rows_of(timeline)] == [row[:5] for row in whole]


@LAYOUTS
@pytest.mark.parametrize("number", ["inf", "-inf", "nan", "Infinity", "NaN", "-nan(ind)", "1.#INF"])
def test_numbers_that_are_none(small, read_text, whole, rows_of, number, indent):
    text = small.text(indent).replace(
        '"bytes": 4096', f'"memory bandwidth (GB/s)": {number}, "bytes": 4096', 1
    )  # kineto#105
    timeline = read_text(text)
    assert [row[:3] for row in rows_of(timeline)] == [row[:3] for row in whole]
    assert timeline.set_aside == {}


def test_integers_beyond_64_bits(small, read_text, whole, rows_of):
    small.events[3]["args"] |= {"Comms Id": 18446744073709563961, "External id": 10**30, "Ev Idx": 7}  # HTA PR#324
    assert rows_of(read_text(small.text())) == whole
    endless = small.text().replace('"correlation": 1,', f'"correlation": {"9" * 5000},', 1)
    assert len(read_text(endless)) == len(whole)


def test_null_events_are_counted(small, read_text, whole, rows_of):
    small.events[4:4] = [None]
    timeline = read_text(small.text())
    assert rows_of(timeline) == whole and timeline.set_aside == {"null events": 1}


def test_things_that_are_no_events_are_counted(small, read_text, whole, rows_of):
    small.events[4:4] = [17, "event", [1, 2], {"name": "no phase"}, {"ph": 5, "name": "odd phase"}]
    timeline = read_text(small.text())
    assert rows_of(timeline) == whole and sum(timeline.set_aside.values()) >= 1


def test_numbers_as_strings(small, read_text, whole, rows_of):
    for event in small.events:
        for key in ("ts", "dur"):
            if key in event:
                event[key] = str(event[key])
        for key, value in event.get("args", {}).items():
            event["args"][key] = str(value) if isinstance(value, int) else value
    small.tail["baseTimeNanoseconds"] = str(small.tail["baseTimeNanoseconds"])
    assert rows_of(read_text(small.text())) == whole


def test_one_event_a_line(small, read_text, whole, rows_of):
    base = small.tail["baseTimeNanoseconds"]
    expected = [(row[0] - base, row[1] - base, *row[2:]) for row in whole]
    lines = "\n".join(json.dumps(event) for event in small.events)
    assert rows_of(read_text(lines)) == expected
    opened = read_text("[\n" + lines)  # DFTracer's: with a bracket that is never closed
    assert rows_of(opened) == expected and opened.whole
    assert rows_of(read_text("[\n" + lines + "\n]\n")) == expected


def test_missing_fields(small, read_text, whole):
    kernel = next(event for event in small.events if event.get("cat") == "kernel")
    keys = ("ts", "dur", "args", "name", "cat", "pid", "tid")
    odd = [{key: value for key, value in kernel.items() if key != missing} for missing in keys]
    small.events += [*odd, kernel | {"args": None}, kernel | {"args": [1]}, kernel | {"name": ["a"], "pid": {"b": 1}}]
    timeline = read_text(small.text())
    assert timeline.set_aside == {"without a readable time": 1, "without a readable duration": 1}
    assert len(timeline) == len(whole) + 8
    assert "(no name)" in timeline.names


def test_negative_durations_are_set_aside_and_empty_ones_kept(small, read_text, whole):
    small.events += [small.interval("kernel", "k", 5_220_502_643_400, dur, pid=0, tid=7) for dur in (-1, -0.5, 0, 0.0)]
    timeline = read_text(small.text())
    assert timeline.set_aside == {"negative durations": 2} and len(timeline) == len(whole) + 2


def test_kernels_at_time_zero_are_set_aside(small, read_text, whole, rows_of):
    small.events += [small.interval("Kernel", "never filled in", 0, 0, pid=0, tid=7) for _ in range(5)]  # kineto#109
    timeline = read_text(small.text())
    assert rows_of(timeline) == whole
    assert timeline.set_aside == {"at time 0, where nothing else of the trace is": 5}


def test_a_trace_that_begins_at_zero_is_kept(small, read_text):
    timeline = read_text(json.dumps([small.interval("kernel", "k", at, 1) for at in range(0, 50, 10)]))
    assert len(timeline) == 5 and timeline.set_aside == {}


def stream_of_kernels(small, count=100, **first):
    """Kernels of 8 µs every 10 µs, the first of them changed; and a host that sees all of it."""
    kernels = [small.interval("kernel", f"k{i % 3}", 1000 + 10 * i, 8, pid=0, tid=7) for i in range(count)]
    kernels[0] |= first
    return [small.interval("cpu_op", "aten::mm", 990, 10 * count), *kernels]


def test_a_duration_that_overflows_is_clipped_at_the_next_start(small, read_text):
    timeline = read_text(json.dumps(stream_of_kernels(small, dur=1.6e6)))  # TraceLens#669
    lasted = (timeline.end_ns - timeline.start_ns)[timeline.rows(Kind.KERNEL)]
    assert lasted[0] == 10_000 and set(lasted[1:].tolist()) == {8000}
    assert list(timeline.set_aside.values()) == [1] and "clipped" in next(iter(timeline.set_aside))


def test_the_last_kernel_of_a_trace_cant_last_beyond_it(small, read_text):
    events = stream_of_kernels(small)
    events[-1]["dur"] = 80e6
    timeline = read_text(json.dumps(events))
    assert timeline.end_ns.max() == 1_990_000 and list(timeline.set_aside.values()) == [1]


@pytest.mark.parametrize("lasts", [15, 95, 400])
def test_kernels_that_overlap_are_left_alone(small, read_text, lasts):
    """Programmatic dependent launch (perfetto#4280) and the branches of a graph overlap on one stream."""
    assert read_text(json.dumps(stream_of_kernels(small, dur=lasts))).set_aside == {}


def test_a_kernel_that_hangs_while_the_host_waits_is_left_alone(small, read_text):
    events = stream_of_kernels(small)
    events[-1]["dur"] = 80e6
    events.append(small.interval("cuda_runtime", "cudaDeviceSynchronize", 1500, 81e6))
    timeline = read_text(json.dumps(events))
    assert timeline.set_aside == {} and timeline.end_ns.max() > 80e9


@LAYOUTS
def test_text_that_breaks_off(small, read_text, whole, rows_of, indent):
    del small.tail["baseTimeNanoseconds"]
    everything = rows_of(read_text(small.text(indent)))
    text = small.text(indent)
    timeline = read_text(text[: text.rindex('"Memcpy HtoD') + 20])  # chakra#192
    # The names of threads are written last, so only what comes before the lanes is the same.
    assert {row[:6] for row in rows_of(timeline)} < {row[:6] for row in everything}
    assert len(timeline) >= len(whole) - 4
    assert not timeline.whole and "breaks off" in timeline.notes[0] and timeline.set_aside == {}


def test_gzip_that_breaks_off_or_is_damaged(small, read_text):
    small.events *= 50
    packed = gzip.compress(small.text().encode())
    cut = read_text(packed[: len(packed) // 2])
    assert len(cut) and not cut.whole and "gzip data breaks off at byte" in cut.notes[0]
    hurt = bytearray(packed)
    hurt[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    damaged = read_text(bytes(hurt))
    assert 0 < len(damaged) < len(small.events) and not damaged.whole


def test_a_list_that_is_not_closed_is_read_and_said(small, read_text, whole):
    timeline = read_text(json.dumps(small.events)[:-1] + ",\n")
    assert len(timeline) == len(whole) and "not closed" in timeline.notes[0]


def test_what_is_packed_is_told_by_content(small, read_text, whole, rows_of):
    assert rows_of(read_text(small.text(), pack=True, name="a.json")) == whole
    assert rows_of(read_text(small.text(), name="a.json.gz")) == whole
    packed = gzip.compress(small.text().encode()[:1000]) + gzip.compress(small.text().encode()[1000:])
    assert rows_of(read_text(packed + bytes(512))) == whole


def test_nesting_without_end(small, read_text, whole):
    deep = '{"a":' * 50_000 + "1" + "}" * 50_000
    text = small.text().replace('"correlation": 1', f'"correlation": 1, "deep": {deep}', 1)
    assert len(read_text(text)) == len(whole)


def test_a_broken_event_costs_no_other(small, read_text, whole):
    text = small.text(2).replace('"name": "aten::mm"', '"name": @@@', 1)
    timeline = read_text(text)
    assert timeline.set_aside == {"broken events": 1} and len(timeline) == len(whole) - 1
    assert timeline.rank == 3 and timeline.start_ns[0] > 10**18


def test_a_broken_last_event_does_not_cost_the_tail(small, read_text, whole):
    small.events.append(small.interval("kernel", "LAST", 5_220_502_643_400, 1))
    timeline = read_text(small.text().replace('"LAST"', "@@@"))
    assert timeline.set_aside == {"broken events": 1} and len(timeline) == len(whole)
    assert timeline.start_ns[0] > 10**18


def test_objects_within_an_event_that_look_like_events(small, read_text, whole, rows_of):
    for event in small.events:
        if "args" in event:
            event["args"]["list"] = [{"ph": "X", "name": "no event"}, {"name": "nor this"}, {"ph": "X"}]
            event["args"]["object"] = {"ph": "X", "ts": 1}
    assert rows_of(read_text(small.text())) == whole


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "JSON"),
        ('{"traceEvents": []}', "no events"),
        ('{"schemaVersion": 1, "traceEvents": [\n], "traceName": "x"}', "no events"),
        ('[{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]', "no interval"),
        ('{"traceEvents": [{"ph": "X", "name": "x", "ts"', "breaks off"),
        ('{"traceEvents": {"ph": "X"}}', "no event"),
        ('{"displayTimeUnit": "ms"}', "without a list"),
        ('[{"ph": "X", "name": "x", "ts": 1, "dur": -1}]', "1 negative durations"),
    ],
)
def test_traces_that_hold_nothing_are_refused_in_one_line(read_text, text, says):
    with pytest.raises(UnreadableError, match=says) as refused:
        read_text(text)
    assert "\n" not in str(refused.value)

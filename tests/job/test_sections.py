"""Which code the serial sections are."""

import pytest
from tests.job.builder import MS, Trace, every, judged, told


def test_the_innermost_frame_around_a_section_names_it() -> None:
    trace = Trace()
    for at in every(20, 4):
        trace.launch(at, 1).python("train.py(1): main", at, 20).python("train.py(9): crop", at + 1.1, 18.5)
        trace.python("train.py(30): helper", at + 3, 2)
    (section,) = told(judged(trace), "serial_sections")
    assert section.where == "train.py(9): crop"
    assert section.status == "slow"
    assert section.measured == pytest.approx(4 * 19 * MS, rel=0.05)
    assert section.source == "trace.json, 4 stretches"


def test_a_long_operator_names_its_section() -> None:
    trace = Trace()
    for at in every(20, 4):
        trace.launch(at, 1).op("aten::sort", at + 1.1, 18.5)
    (section,) = told(judged(trace), "serial_sections")
    assert section.where == "aten::sort"


def test_without_a_frame_what_came_before_and_after_is_said() -> None:
    trace = Trace()
    for at in every(20, 4):
        trace.op("aten::relu", at, 0.1).launch(at + 0.05, 1).op("aten::mean", at + 0.5, 0.1)
    (section,) = told(judged(trace), "serial_sections")
    assert section.where == "between aten::mean and aten::relu"
    assert section.status == "unknown"


def test_three_sections_at_most_the_longest_first() -> None:
    trace, at = Trace(), 0.0
    for number, ms in enumerate((5, 20, 10, 15, 8)):
        trace.launch(at, 1).python(f"train.py({number}): f{number}", at + 1.1, ms)
        at += ms + 1.2
    trace.launch(at, 1)
    sections = told(judged(trace), "serial_sections")
    assert [section.where for section in sections] == ["train.py(1): f1", "train.py(3): f3", "train.py(2): f2"]


def test_waits_and_files_are_sections_too() -> None:
    trace = Trace()
    for at in every(40, 4):
        trace.launch(at, 1).python("<built-in method sleep>", at + 1.1, 18).op("aten::detach", at + 19.2, 0.1)
        trace.python("<built-in method read>", at + 19.4, 20).op("aten::detach", at + 39.5, 0.1)
    details = {section.where: section.detail or "" for section in told(judged(trace), "serial_sections")}
    assert details["<built-in method sleep>"].startswith("wait: ")
    assert details["<built-in method read>"].startswith("disk: ")


def test_a_little_serial_time_is_not_worth_a_line() -> None:
    trace = Trace().launch(0, 500).sync(1, 499.1)
    trace.launch(501, 1).launch(504, 500).sync(505, 499.1)
    assert not told(judged(trace), "serial_sections")


def test_frames_of_other_threads_do_not_name_a_section() -> None:
    trace = Trace()
    for at in every(20, 4):
        trace.launch(at, 1).op("aten::relu", at + 0.5, 0.1).python("watchdog.py(1): poll", at, 20, thread="watchdog")
    (section,) = told(judged(trace), "serial_sections")
    assert "watchdog" not in section.where

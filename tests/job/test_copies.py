"""How fast copies went, and what is said of it."""

import pytest
from tests.job.builder import Trace, charged, every, judged, told

from longpole import limits
from longpole.job.copies import Way, way_of

WAYS = {
    "Memcpy HtoD (Pageable -> Device)": ("pageable_copies", "HtoD", "host to device, pageable"),
    "Memcpy HtoD (Pinned -> Device)": ("pinned_copies", "HtoD", "host to device, pinned"),
    "Memcpy DtoH (Device -> Pageable)": ("pageable_copies", "DtoH", "device to host, pageable"),
    "Memcpy DtoH (Device -> Pinned)": ("pinned_copies", "DtoH", "device to host, pinned"),
    "Memcpy HtoD (Host -> Device)": ("pinned_copies", "HtoD", "host to device, host memory of unknown kind"),
    "Memcpy DtoD (Device -> Device)": ("device_copies", "DtoD", "within the device"),
    "Memcpy PtoP (Device -> Device)": ("peer_copies", "PtoP", "device to device"),
    "Memset (Device)": ("device_copies", "", "Memset (Device)"),
}
MB = 1_000_000


@pytest.mark.parametrize(("name", "way"), WAYS.items())
def test_a_name_says_which_way_a_copy_went(name: str, way: tuple[str, str, str]) -> None:
    assert way_of(name) == Way(*way)


def copying(memory: str, ms: float, size_bytes: int, *, device: str | None = "NVIDIA H200") -> Trace:
    trace = Trace(device=device)
    for at in every(ms + 2, 5):
        trace.launch(at, 1.4).copy("HtoD", memory, at + 1.5, ms, size_bytes)
    return trace


def test_exposed_pageable_copies_are_slow_against_the_link() -> None:
    v = judged(copying("Pageable", 20, 100 * MB))
    (fact,) = told(v, "pageable_copies")
    assert fact.measured == pytest.approx(5e9)
    part = limits.part("NVIDIA H200")
    assert part is not None and part.host_link_bytes_per_s is not None
    assert fact.limit == part.host_link_bytes_per_s.value
    assert (fact.status, fact.unit) == ("slow", "B/s")
    assert fact.detail is not None and fact.detail.startswith("500 MB in 100 ms, 100 ms of it exposed")
    pin = next(fix for fix in v.fixes if fix.do.startswith("pin the host memory"))
    assert fact.limit is not None
    saved = charged(v)["copy"] * (1 - 5e9 / fact.limit)
    whole = v.window.amount / 1e6
    assert pin.at_most == pytest.approx(whole / (whole - saved), rel=0.01)  # it still copies, at the link's rate


def test_pinned_copies_are_not_told_to_be_pinned() -> None:
    v = judged(copying("Pinned", 20, 1000 * MB))
    assert v.binding == "copy"
    assert told(v, "pinned_copies")[0].measured == pytest.approx(50e9)
    assert not any("pin the host memory" in fix.do for fix in v.fixes)


def test_copies_that_cost_nothing_and_run_at_the_links_rate_are_fine() -> None:
    trace = Trace().launch(0, 100).sync(50, 50.01)
    for at in every(10, 5, begin=1):
        trace.copy("HtoD", "Pinned", at, 5, 250 * MB, stream=9)
    (fact,) = told(judged(trace), "pinned_copies")
    assert fact.status == "ok"


def test_copies_that_cost_little_but_run_far_under_the_links_rate_are_slow() -> None:
    trace = Trace().launch(0, 1000).sync(1, 999.01).copy("HtoD", "Pageable", 1001, 10, 20 * MB).launch(1012, 1)
    assert told(judged(trace), "pageable_copies")[0].status == "slow"


def test_small_copies_are_not_measured_against_the_link() -> None:
    (fact,) = told(judged(copying("Pageable", 0.01, 4096)), "pageable_copies")
    assert fact.limit is None
    assert fact.status == "ok"
    assert fact.detail is not None and "too small to fill the link" in fact.detail


def test_a_part_that_is_not_known_has_no_limit() -> None:
    (fact,) = told(judged(copying("Pageable", 20, 100 * MB, device=None)), "pageable_copies")
    assert fact.limit is None
    (other,) = told(judged(copying("Pageable", 20, 100 * MB, device="Nobody's Card 9")), "pageable_copies")
    assert other.limit is None


def test_copies_without_bytes_have_no_rate() -> None:
    (fact,) = told(judged(copying("Pageable", 20, -1)), "pageable_copies")
    assert fact.measured is None


def test_copies_without_bytes_that_set_the_pace_are_not_ok() -> None:
    v = judged(copying("Pageable", 20, -1))
    assert v.binding == "copy"
    assert told(v, "pageable_copies")[0].status == "unknown"


def test_each_way_is_a_fact_of_its_own() -> None:
    trace = (
        Trace().launch(0, 1).copy("HtoD", "Pageable", 2, 5).copy("HtoD", "Pinned", 8, 5).copy("DtoH", "Pinned", 14, 5)
    )
    trace.transfer("DtoD", "Device", 20, 1, 100)
    v = judged(trace)
    assert len(told(v, "pageable_copies")) == 1
    assert {fact.where for fact in told(v, "pinned_copies")} == {"host to device, pinned", "device to host, pinned"}
    assert len(told(v, "device_copies")) == 1
    assert told(v, "device_copies")[0].limit is None


def test_many_small_copies_are_told_to_be_put_together() -> None:
    trace = Trace()
    for at in every(0.4, 100):
        trace.launch(at, 0.01).copy("HtoD", "Pageable", at + 0.1, 0.002, 4096, call_ms=0.2)
    v = judged(trace)
    assert v.binding == "launch"
    (fact,) = told(v, "small_copies")
    assert (fact.measured, fact.status) == (4096, "slow")
    assert any("put the many small copies to the device into one" in fix.do for fix in v.fixes)


def test_few_small_copies_are_not() -> None:
    trace = Trace()
    for at in every(0.4, 100):
        trace.launch(at, 0.01)
    trace.copy("HtoD", "Pageable", 40, 0.002, 4096)
    assert not told(judged(trace), "small_copies")

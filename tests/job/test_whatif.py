"""What would go is not what was charged."""

import pytest
from tests.job.builder import MS, Trace, charged, every, judged, removable

from longpole.job.attribution import attribute
from longpole.job.whatif import RECORD_NS, Gain, gains_of


def gain(trace: Trace, cause: str) -> Gain:
    attribution = attribute(trace.build())
    return gains_of(attribution, attribution.charged)[cause]


def test_kernels_that_hide_dispatch_give_nothing() -> None:
    """The host is never blocked: faster kernels leave it dispatching as long as before."""
    trace = Trace()
    for at in every(0.5, 40):
        trace.launch(at, 0.49)
    assert gain(trace, "gpu.compute").best < 0.5 * MS
    v = judged(trace)
    assert charged(v)["gpu.compute"] == pytest.approx(40 * 0.49)
    assert removable(v).get("gpu.compute", 0) < 0.5
    assert v.share("gpu.compute").high > 19 * MS  # the trace can't say how far ahead of the device the host would be


def test_kernels_the_host_waits_for_give_what_it_waits() -> None:
    trace = Trace()
    for at in every(20, 3):
        trace.launch(at, 18).sync(at + 4, 14.01)
    trace.launch(60, 0.1)
    assert gain(trace, "gpu.compute").best == pytest.approx(3 * 14 * MS, rel=0.01)


def test_a_host_that_computes_before_its_last_wait_was_not_waiting() -> None:
    trace = Trace().launch(0, 18).python("augment.py(3): crop", 0.02, 15.9).sync(16, 2.01)
    assert gain(trace, "gpu.compute").best == pytest.approx(2 * MS, rel=0.02)


def test_kernels_that_run_on_after_the_last_call_are_waited_for() -> None:
    trace = Trace().launch(0, 1).launch(0.1, 20, runs_at=1.01)
    assert gain(trace, "gpu.compute").best == pytest.approx(20.9 * MS, rel=0.01)


def test_kernels_above_communication_would_leave_the_communication() -> None:
    """The collective beneath the kernels stays when they go."""
    trace = Trace().launch(0, 10).collective(0, 10).sync(0.02, 9.99)
    assert gain(trace, "gpu.compute").best <= 0.01 * MS
    alone = Trace().launch(0, 10).collective(6, 4).sync(0.02, 9.99)
    assert gain(alone, "gpu.compute").best == pytest.approx(6 * MS, rel=0.01)


def test_waiting_counts_for_what_ran_in_the_same_stretch_of_device_work() -> None:
    """The host dispatches ahead of the kernels, and later waits for a collective: the wait is not for the kernels."""
    trace = Trace()
    for at in every(0.5, 20):
        trace.launch(at, 0.49)
    trace.collective(15, 10).sync(15, 10)
    assert gain(trace, "network").best == 10 * MS
    assert gain(trace, "gpu.compute").best <= 0.49 * MS  # the last kernel at most


def test_communication_above_a_copy_would_leave_the_copy() -> None:
    trace = Trace().launch(0, 0.1).collective(1, 10).transfer("HtoD", "Pinned", 1, 8).sync(0.5, 10.5)
    assert gain(trace, "network").best == pytest.approx(2 * MS, rel=0.01)


def test_what_the_host_was_charged_with_goes_whole() -> None:
    trace = Trace()
    for at in every(20, 3):
        trace.launch(at, 0.9).python("augment.py(3): crop", at + 1, 18)
    g = gain(trace, "serial")
    assert g.best == g.low == g.high == pytest.approx((2 * 19.09 + 18.09) * MS)


def test_launch_gives_less_by_what_the_profilers_records_cost() -> None:
    trace = Trace()
    for at in every(0.1, 100):
        trace.launch(at, 0.01, runs_at=at + 0.02).op("aten::add_", at, 0.05)
    g = gain(trace, "launch")
    idle = attribute(trace.build()).spans("launch").total
    assert g.high == idle
    records = (idle - g.best) / RECORD_NS
    assert 100 <= records <= 200


def test_gains_keep_their_order() -> None:
    trace = Trace()
    for at in every(10, 4):
        trace.launch(at, 3).collective(at + 2, 3).copy("HtoD", "Pageable", at + 6, 2).sync(at + 1, 2)
    attribution = attribute(trace.build())
    for cause, g in gains_of(attribution, attribution.charged).items():
        assert 0 <= g.low <= g.best <= g.high <= attribution.spans(cause).total

"""From shares to an answer: ties, what was not seen, and the time of a step without the profiler."""

import pytest
from tests.job.builder import MS, Trace, charged, every, judged, removable, told

from longpole.errors import UnreadableError, UsageError
from longpole.job import why


def copying_and_waiting(copy_ms: float, wait_ms: float) -> Trace:
    trace = Trace()
    for number, at in enumerate(every(50, 5)):
        trace.step(number, at, 50).launch(at, 1).copy("HtoD", "Pageable", at + 1.5, copy_ms)
        trace.python("<built-in method sleep>", at + 1.5 + copy_ms + 0.1, wait_ms).op("aten::detach", at + 49.9, 0.1)
    return trace


def test_two_within_the_noise_bind_together_and_both_are_named() -> None:
    v = judged(copying_and_waiting(20.0, 20.2))
    assert v.tied
    assert v.binding is None
    assert v.ceiling is None
    assert {v.ranked[0].cause, v.runner_up} == {"copy", "wait"}
    assert v.exit_code == 0  # a tie is an answer
    assert {fix.cause for fix in v.fixes} >= {"copy", "wait"}


def test_two_beyond_the_noise_do_not_tie() -> None:
    v = judged(copying_and_waiting(20.0, 17.0))
    assert not v.tied
    assert (v.binding, v.runner_up) == ("copy", "wait")
    assert v.ceiling == pytest.approx(250 / (250 - 5 * 20), rel=0.01)


def test_less_than_what_was_not_seen_is_no_answer() -> None:
    trace = Trace()
    for at in every(40, 3):
        trace.launch(at, 1).copy("HtoD", "Pageable", at + 2, 10).sync(at + 13, 25)
    v = judged(trace)
    assert charged(v)["unknown"] > removable(v)["copy"]
    assert (v.binding, v.exit_code) == (None, 3)
    assert v.leader is not None and v.leader.cause == "copy"


def test_nothing_to_judge_says_so() -> None:
    with pytest.raises(UnreadableError, match="no events"):
        why([Trace().build()])
    with pytest.raises(UnreadableError, match="no events"):
        why([])


def slowed(records_ms: float = 6.0) -> Trace:
    """Steps of 20 ms: 5 ms of kernels the host waits for, 15 ms of dispatching."""
    trace = Trace()
    for number, at in enumerate(every(20, 5)):
        trace.step(number, at, 20)
        for launch_at in every(0.5, 29, begin=at):
            trace.launch(launch_at, 0.01)
        trace.launch(at + 14.5, 5).sync(at + 14.6, 4.91)
    return trace


def test_a_bare_step_moves_the_profilers_slow_down_out_of_launch() -> None:
    plain, corrected = judged(slowed()), judged(slowed(), bare_step_ms=12)
    assert plain.binding == corrected.binding == "launch"
    moved = 5 * (20 - 12)
    assert charged(corrected)["profiler"] == pytest.approx(moved, abs=0.1)
    assert charged(corrected)["launch"] == pytest.approx(charged(plain)["launch"] - moved, abs=0.1)
    assert corrected.work == pytest.approx(60 * MS, rel=0.01)
    assert corrected.window == plain.window
    assert plain.ceiling is not None and corrected.ceiling is not None
    assert corrected.ceiling < plain.ceiling


def test_a_bare_step_can_change_what_binds() -> None:
    v = judged(slowed(), bare_step_ms=7)
    assert v.binding == "gpu.compute"
    assert charged(v)["launch"] == pytest.approx(charged(judged(slowed()))["launch"] - 5 * 13, abs=0.1)


def test_a_bare_step_that_is_no_shorter_changes_nothing_and_a_longer_one_is_refused() -> None:
    assert judged(slowed(), bare_step_ms=20).shares == judged(slowed()).shares
    with pytest.raises(UsageError, match="longer than a step of this trace"):
        judged(slowed(), bare_step_ms=25)


def test_a_bare_step_may_take_all_the_dispatching_there_is() -> None:
    v = judged(slowed(), bare_step_ms=4.5)
    assert "launch" not in charged(v)
    assert v.binding == "gpu.compute"


def test_a_bare_step_that_dispatching_cannot_account_for_is_refused() -> None:
    with pytest.raises(UsageError, match="does not stand for a bare run"):
        judged(slowed(), bare_step_ms=1)


def test_a_measured_slow_down_takes_the_place_of_the_estimated_one() -> None:
    launch = judged(slowed(), bare_step_ms=12).share("launch")
    assert launch.low == launch.removable == launch.high


def test_a_device_that_works_nearly_all_the_time_ties_with_a_host_that_has_no_lead() -> None:
    """Kernels back to back, handed over just in time: neither gives much without the other."""
    trace = Trace()
    for at in every(1, 50):
        trace.launch(at, 0.9)
    v = judged(trace)
    assert charged(v)["gpu.compute"] > 0.75 * v.window.amount / MS
    assert v.binding is None and v.tied and v.exit_code == 0
    assert {v.ranked[0].cause, v.runner_up} == {"launch", "gpu.compute"}


def test_a_bare_step_needs_steps() -> None:
    with pytest.raises(UsageError, match="needs steps"):
        judged(Trace().launch(0, 5).launch(6, 5), bare_step_ms=1)


def test_a_bare_step_counts_for_every_rank() -> None:
    ranks = []
    for rank in range(2):
        trace = slowed()
        trace.rank, trace.world = rank, 2
        ranks.append(trace)
    v = judged(*ranks, bare_step_ms=12)
    assert charged(v)["profiler"] == pytest.approx(2 * 5 * 8, abs=0.2)
    assert all(charged(part)["profiler"] == pytest.approx(5 * 8, abs=0.1) for part in v.parts)


def test_the_profilers_own_events_count_towards_the_bare_step() -> None:
    trace = slowed()
    trace.profiler("Activity Buffer Request", 19.6, 0.3)
    v = judged(trace, bare_step_ms=12)
    assert charged(v)["profiler"] == pytest.approx(40, abs=0.1)


def test_what_was_set_aside_is_said() -> None:
    trace = Trace().launch(0, 5)
    trace.set_aside, trace.notes = {"events without a time": 7}, ("the file breaks off",)
    v = judged(trace)
    (aside,) = told(v, "set_aside")
    assert (aside.where, aside.measured, aside.status) == ("events without a time", 7, "unknown")
    assert "the file breaks off" in v.notes


def test_evidence_travels_with_its_source() -> None:
    trace = Trace(source="somewhere/rank0.json.gz").launch(0, 5).copy("HtoD", "Pageable", 6, 3).sync(9.1, 1)
    for fact in judged(trace).evidence:
        assert fact.source.startswith("rank0.json.gz")


def test_a_device_that_idles_a_tenth_of_the_time_is_waiting_for_something() -> None:
    busy, idle = Trace().launch(0, 95).launch(99, 1), Trace().launch(0, 80).launch(99, 1)
    assert [told(judged(trace), "kernels")[0].status for trace in (busy, idle)] == ["ok", "slow"]


def test_the_table_of_kernels_is_by_total_time() -> None:
    trace = Trace().launch(0, 1, name="small").launch(2, 1, name="small").launch(4, 9, name="large")
    table = judged(trace).tables["kernels"]
    assert table.rows[0] == ("large", 1, 9 * MS, 9 * MS)
    assert table.rows[1] == ("small", 2, 2 * MS, 1 * MS)


def test_a_device_that_is_never_waited_for_and_never_idle_is_not_bound_by_launch() -> None:
    """Kernels without a gap, handed over just in time, to the last: faster dispatching alone gives a hundredth."""
    trace = Trace()
    for at in every(0.5, 100):
        trace.launch(at, 0.5, runs_at=at + 0.01)
    v = judged(trace.op("aten::add_", 49.9, 0.5))
    assert charged(v)["gpu.compute"] == 50
    assert v.binding != "launch"

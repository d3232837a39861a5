"""Where steps begin and end, and what the window is."""

import numpy as np
import pytest
from tests.job.builder import MS, Trace, charged, every, judged, told

from longpole.job.attribution import attribute, window_of
from longpole.job.evidence import warm_up
from longpole.job.steps import steps_of


def window_ms(trace: Trace) -> tuple[float, float]:
    start, end = window_of(trace.build())
    return (start - trace.zero_ns) / MS, (end - trace.zero_ns) / MS


def test_marked_steps_set_the_window() -> None:
    trace = Trace().launch(0, 1).op("aten::setup", 2, 40)
    for number, at in enumerate(every(10, 3, begin=50)):
        trace.step(number, at, 10).launch(at, 9)
    trace.op("aten::teardown", 90, 30)
    assert window_ms(trace) == (50, 80)
    assert len(steps_of(trace.build())) == 3


def test_work_that_the_last_step_left_queued_belongs_to_the_window() -> None:
    trace = Trace().step(1, 0, 5).step(2, 5, 5).launch(1, 25)
    assert window_ms(trace) == (0, 26.01)


def test_without_marks_the_window_is_all_that_was_seen() -> None:
    trace = Trace().op("aten::mm", 3, 1).kernel(5, 2).python("train.py(1): main", 1, 12)
    assert window_ms(trace) == (1, 13)


def test_the_recorders_own_span_is_not_the_window() -> None:
    trace = Trace().span(0, 100).launch(20, 5).launch(26, 4)
    assert window_ms(trace) == pytest.approx((20, 30.01))
    (coverage,) = told(judged(trace), "trace_coverage")
    assert coverage.measured == pytest.approx(0.1001)
    assert coverage.status == "unknown"


def test_a_trace_of_nothing_but_the_recorders_span_is_unknown_for_as_long() -> None:
    v = judged(Trace().span(0, 100))
    assert v.window.amount == 100 * MS
    assert v.share("unknown").amount == 100 * MS
    assert v.exit_code == 3


def test_one_mark_around_everything_is_no_step() -> None:
    trace = Trace().step(1, 0, 100)
    for at in every(20, 5):
        trace.launch(at, 5).range("Optimizer.step#AdamW.step", at + 15, 5)
    steps = steps_of(trace.build())
    assert len(steps) == 5
    assert steps.told_by == "Optimizer.step#AdamW.step"


def test_a_worker_that_repeats_the_marks_is_not_counted_again() -> None:
    trace = Trace()
    for number, at in enumerate(every(10, 4)):
        trace.step(number, at, 10).launch(at, 5)
        if number < 3:
            trace.step(number, at + 1, 8, thread="autograd")
    assert len(steps_of(trace.build())) == 4


def test_the_optimizer_ends_a_step_where_nothing_is_marked() -> None:
    trace = Trace()
    for at in every(10, 4):
        trace.launch(at, 5).range("Optimizer.step#SGD.step", at + 7, 3)
    steps = steps_of(trace.build())
    assert len(steps) == 4
    assert ((steps.end_ns - steps.start_ns) == 10 * MS).all()


def test_a_loader_ends_a_step_where_there_is_no_optimizer() -> None:
    trace = Trace()
    for at in every(10, 4):
        trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 2).launch(at + 2, 7)
    assert len(steps_of(trace.build())) == 4


def test_a_job_that_repeats_nothing_has_no_steps() -> None:
    v = judged(Trace().launch(0, 5).launch(6, 5))
    assert not told(v, "steps")
    assert "steps" not in v.tables


def test_the_first_steps_are_warm_up_while_they_stand_out() -> None:
    assert warm_up(np.array([90, 40, 10, 10, 10, 10, 10, 10, 10, 10])) == 2
    assert warm_up(np.array([10, 10, 10, 90, 10, 10, 10, 10, 10, 10])) == 0
    assert warm_up(np.array([90, 90, 90, 90, 90, 90, 10, 10, 10, 10])) <= 3
    assert warm_up(np.array([90, 10])) == 0


def test_warm_up_that_costs_no_more_than_what_comes_later_is_none() -> None:
    assert warm_up(np.array([20, 10, 10, 10, 10, 10, 10, 10, 10, 300])) == 0


def test_warm_up_is_kept_out_of_the_step_times_and_said() -> None:
    trace, at = Trace(), 0.0
    for number in range(10):
        mine = 100.0 if number == 0 else 10.0
        trace.step(number, at, mine).launch(at, mine - 0.5)
        at += mine
    v = judged(trace)
    (warm,) = told(v, "warm_up")
    assert warm.where == "first step"
    assert (warm.measured, warm.limit) == (100 * MS, 10 * MS)
    (steps,) = told(v, "steps")
    assert steps.measured == 10 * MS
    assert steps.detail is not None and "median 10.0 ms" in steps.detail
    assert v.window.amount == 190 * MS


def test_the_worst_step_is_named_with_its_cause() -> None:
    trace, at = Trace(), 0.0
    for number in range(10):
        mine = 60.0 if number == 7 else 10.0
        trace.step(number, at, mine).launch(at, 9).python("eval.py(1): evaluate", at + 9.5, mine - 9.6)
        at += mine
    (worst,) = told(judged(trace), "worst_step")
    assert worst.where == "step 7"
    assert (worst.measured, worst.limit) == (60 * MS, 10 * MS)
    assert worst.detail is not None and "serial" in worst.detail


def test_steps_of_one_length_have_no_worst() -> None:
    trace = Trace()
    for number, at in enumerate(every(10, 10)):
        trace.step(number, at, 10).launch(at, 9)
    assert not told(judged(trace), "worst_step")


def test_a_step_is_over_when_the_device_has_done_what_it_launched() -> None:
    """The host runs ahead: it marks five short steps, then the queue is full and it waits in the sixth."""
    trace = Trace()
    for number in range(5):
        trace.step(number, number, 1).launch(number + 0.1, 10, runs_at=0.2 + 10 * number)
    trace.step(5, 5, 55).launch(5.1, 10, runs_at=50.2)
    steps = attribute(trace.build()).steps
    length = (steps.end_ns - steps.start_ns) / MS
    assert length[:5] == pytest.approx([10.2, 10, 10, 10, 10])
    assert steps.end_ns[-1] == trace.zero_ns + round(60.2 * MS)


def test_work_that_outlasts_many_steps_tells_none_of_them_apart() -> None:
    trace = Trace()
    for number, at in enumerate(every(1, 20)):
        trace.step(number, at, 1)
    steps = attribute(trace.launch(0.5, 50).build()).steps
    assert (steps.end_ns - steps.start_ns == MS).all()


def test_steps_paced_by_the_device_share_nothing_and_leave_no_gap() -> None:
    trace = Trace()
    for number in range(6):
        trace.step(number, 2 * number, 2).launch(2 * number + 0.5, 7, runs_at=1 + 7 * number)
    steps = attribute(trace.build()).steps
    assert (steps.start_ns[1:] == steps.end_ns[:-1]).all()


def test_the_table_of_steps_adds_up() -> None:
    trace = Trace()
    for number, at in enumerate(every(10, 4)):
        trace.step(number, at, 10).launch(at, 6).copy("HtoD", "Pageable", at + 6.5, 3)
    v = judged(trace)
    table = v.tables["steps"]
    names = [column.name for column in table.columns]
    assert names[:3] == ["step", "start", "duration"]
    for row in table.rows:
        assert sum(int(cell or 0) for cell in row[3:]) == pytest.approx(int(row[2] or 0), rel=0.01)
    for cause in ("gpu.compute", "copy"):
        at_ = names.index(cause)
        assert sum(int(row[at_] or 0) for row in table.rows) == v.share(cause).amount


def test_a_job_of_very_many_steps_keeps_the_longest_and_an_even_choice() -> None:
    trace = Trace()
    for number, at in enumerate(every(1, 1500)):
        trace.step(number, at, 1 if number != 777 else 1.4)
    trace.op("aten::mm", 0, 1500)
    table = judged(trace).tables["steps"]
    assert len(table.rows) <= 1000
    assert 777 in [row[0] for row in table.rows]


def test_charges_outside_the_marked_steps_are_left_out() -> None:
    trace = Trace().copy("HtoD", "Pageable", 0, 50)
    for number, at in enumerate(every(10, 3, begin=60)):
        trace.step(number, at, 10).launch(at, 9.9)
    assert "copy" not in charged(judged(trace))


def test_an_empty_window_is_one_nanosecond() -> None:
    attribution = attribute(Trace().op("aten::detach", 0, 0).build())
    assert attribution.window_ns == 1


def test_times_before_zero_are_as_good_as_others() -> None:
    def at(zero_ms: float) -> Trace:
        trace = Trace()
        for number in range(10):
            trace.step(number, zero_ms + number, 0.999).launch(zero_ms + number + 0.01, 0.4)
        trace.rows = [
            r._replace(start_ns=r.start_ns - trace.zero_ns, end_ns=r.end_ns - trace.zero_ns) for r in trace.rows
        ]
        return trace

    before, after = judged(at(-1000)), judged(at(1000))
    assert before.window == after.window
    assert before.shares == after.shares


def test_steps_that_mostly_take_no_time_have_no_worst() -> None:
    trace = Trace()
    for number in range(6):
        trace.step(number, 1, 0)
    v = judged(trace.step(7, 1, 0.9).launch(1, 0.4))
    assert not told(v, "worst_step")


def test_a_recorder_that_spans_nothing_covers_nothing() -> None:
    assert not told(judged(Trace().span(1, 0)), "trace_coverage")

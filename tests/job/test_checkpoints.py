"""A checkpoint in a trace that shows neither writes nor fsync."""

import pytest
from tests.job.builder import Trace, charged, every, judged, told

from longpole.job.attribution import attribute
from longpole.job.checkpoints import Saves

MB = 1_000_000


def train(trace: Trace, at: float, *, kernels: int = 20) -> Trace:
    """Ten milliseconds of training without a gap worth speaking of."""
    for begin in every(10 / kernels, kernels, begin=at):
        trace.launch(begin, 10 / kernels - 0.05)
    return trace


def copies_out(trace: Trace, at: float, *, count: int = 10, ms: float = 1.0, each_bytes: int = 8 * MB) -> Trace:
    """A state that is copied to the host, tensor by tensor, with pickling between."""
    for begin in every(2 * ms, count, begin=at):
        trace.copy("DtoH", "Pageable", begin, ms, each_bytes)
    return trace


def saves(trace: Trace) -> Saves:
    return attribute(trace.build()).saves


def job(*, save_after: set[int], steps: int = 10, before: float = 0, pause: float = 30) -> Trace:
    """Steps of 10 ms; after some of them 20 ms of copies out and a `pause` in which the file is written."""
    trace, at = Trace(), 0.0
    for number in range(steps):
        mine = 10.0
        train(trace, at)
        if number in save_after:
            copies_out(trace, at + 10 + before)
            mine += before + 20 + pause
        trace.step(number, at, mine)
        at += mine
    return trace.launch(at, 0.1)


def test_copies_out_between_two_steps_with_silence_after_them_are_a_save() -> None:
    trace = job(save_after={4})
    found = saves(trace)
    assert (found.count, found.inferred, found.recurring) == (1, 1, 0)
    assert found.size_bytes == 80 * MB
    v = judged(trace)
    assert charged(v)["checkpoint"] == pytest.approx(50, rel=0.01)
    assert "copy" not in charged(v)
    assert any("inferred" in note for note in v.notes)
    (fact,) = told(v, "checkpoint_saves")
    assert fact.where == "1 saves"


def test_silence_before_the_first_copy_belongs_to_the_save_if_it_is_unusual() -> None:
    v = judged(job(save_after={4}, before=40))
    assert charged(v)["checkpoint"] == pytest.approx(90, rel=0.02)
    assert "serial" not in charged(v)


def test_silence_before_that_is_usual_in_the_job_does_not() -> None:
    trace, at = Trace(), 0.0
    for number in range(10):
        train(trace, at)
        at += 10 + 15  # every step ends in 15 ms of Python
        if number == 4:
            copies_out(trace, at)
            at += 20 + 30
    train(trace, at)
    v = judged(trace)
    assert charged(v)["checkpoint"] == pytest.approx(50, rel=0.02)
    assert charged(v)["serial"] == pytest.approx(10 * 15, rel=0.05)


def test_a_save_of_every_fifth_step_shows_in_the_mean_not_in_the_median() -> None:
    v = judged(job(save_after={4, 9, 14}, steps=15))
    (steps,) = told(v, "steps")
    assert steps.measured == pytest.approx(20_000_000, rel=0.01)
    assert steps.detail is not None and "median 10.0 ms" in steps.detail
    (worst,) = told(v, "worst_step")
    assert worst.limit == pytest.approx(10_000_000)
    assert worst.detail is not None and "checkpoint" in worst.detail
    assert told(v, "checkpoint_saves")[0].where == "3 saves"


def test_saves_that_stop_the_job_bind_it() -> None:
    v = judged(job(save_after={2, 5, 8}, pause=150))
    assert v.binding == "checkpoint"
    assert any("save" in fix.do for fix in v.fixes)


def test_offloading_brings_the_bytes_back_and_is_no_save() -> None:
    trace = train(Trace(), 0)
    copies_out(trace, 10)
    for begin in every(2, 10, begin=40):
        trace.copy("HtoD", "Pageable", begin, 1, 8 * MB)
    train(trace, 70)
    assert saves(trace).count == 0
    assert "checkpoint" not in charged(judged(trace))


def test_read_backs_in_every_step_are_no_save_but_are_said() -> None:
    trace = job(save_after=set(range(10)), pause=10)
    found = saves(trace)
    assert (found.count, found.recurring) == (0, 10)
    v = judged(trace)
    assert "checkpoint" not in charged(v)
    (fact,) = told(v, "checkpoint_saves")
    assert fact.status == "unknown"


def test_a_few_small_results_are_no_save() -> None:
    trace = train(Trace(), 0)
    copies_out(trace, 10, count=6, each_bytes=4)
    train(trace, 60)
    assert saves(trace).count == 0


def test_one_large_result_is_no_save() -> None:
    trace = train(Trace(), 0)
    copies_out(trace, 10, count=1, ms=20, each_bytes=800 * MB)
    train(trace, 60)
    assert saves(trace).count == 0


def test_copies_without_host_time_between_or_after_are_reading_back() -> None:
    trace = train(Trace(), 0)
    for begin in every(1, 20, begin=10):
        trace.copy("DtoH", "Pageable", begin, 0.98, 8 * MB)
    train(trace, 30)
    assert saves(trace).count == 0
    assert charged(judged(trace))["copy"] > 19


def test_a_kernel_between_the_copies_makes_them_something_else() -> None:
    trace = train(Trace(), 0)
    for begin in every(4, 10, begin=10):
        trace.copy("DtoH", "Pageable", begin, 1, 8 * MB).launch(begin + 2, 0.1)
    train(trace, 60)
    assert saves(trace).count == 0


NAMES = (
    "torch/serialization.py(900): save",
    "torch/distributed/checkpoint/state_dict_saver.py(100): save",
    "<built-in method fsync of module>",
    "transformers/modeling_utils.py(2500): save_pretrained",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_save_that_a_frame_names_needs_no_copies(name: str) -> None:
    trace = train(train(Trace(), 0).python(name, 10.5, 40), 51)
    found = saves(trace)
    assert (found.count, found.inferred) == (1, 0)
    v = judged(trace)
    assert charged(v)["checkpoint"] == pytest.approx(40, rel=0.01)
    assert not any("inferred" in note for note in v.notes)


def test_copies_within_a_named_save_are_part_of_it() -> None:
    trace = copies_out(train(Trace(), 0).range("save_checkpoint", 10, 40), 12)
    v = judged(train(trace, 50))
    assert charged(v)["checkpoint"] == pytest.approx(40, rel=0.02)
    assert "copy" not in charged(v)


def test_a_named_save_with_copies_is_not_said_to_be_inferred() -> None:
    trace = copies_out(train(Trace(), 0).range("save_checkpoint", 10, 40), 12)
    v = judged(train(trace, 51))
    assert charged(v)["checkpoint"] == pytest.approx(40, rel=0.02)
    assert not any("inferred" in note for note in v.notes)


def test_a_save_beneath_kernels_costs_nothing() -> None:
    trace = Trace().launch(0, 100).sync(60, 40.01)
    copies_out(trace.range("save_checkpoint", 10, 45), 12)
    assert charged(judged(trace)).get("checkpoint", 0) <= 0.01

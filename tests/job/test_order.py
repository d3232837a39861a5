"""The order of the layers is the rule: where two of them cover the same ten milliseconds, the stronger is charged."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from tests.job.builder import MS, Trace, every

from longpole.job.attribution import attribute
from longpole.timeline.intervals import clip

State = Callable[[Trace], object]


def _dispatching(trace: Trace) -> None:
    for at in every(0.5, 20, begin=10):
        trace.op("aten::view", at, 0.4).call("cudaMalloc", at + 0.4, 0)
    trace.op("aten::view", 19.9, 0.1)


#: What may go on from 10 to 20 ms, the strongest first, and what it is charged to.
STATES: tuple[tuple[str, str, State], ...] = (
    ("a kernel", "gpu.compute", lambda t: t.kernel(10, 10)),
    ("a collective", "network", lambda t: t.collective(10, 10)),
    ("a copy", "copy", lambda t: t.transfer("HtoD", "Pinned", 10, 10)),
    ("the profiler", "profiler", lambda t: t.profiler("Buffer Flush", 10, 10)),
    ("a graph unseen", "unknown", lambda t: t.call("cudaGraphLaunch", 10, 0.05, causes=999)),
    ("the loader", "input", lambda t: t.range("enumerate(DataLoader)#_Iter.__next__", 10, 10)),
    ("a save", "checkpoint", lambda t: t.range("save_checkpoint", 10, 10)),
    ("gloo", "network", lambda t: t.range("gloo:all_reduce", 10, 10)),
    ("code being loaded", "startup", lambda t: t.profiler("Lazy Function Loading", 10, 10)),
    ("a free", "alloc", lambda t: t.call("cudaFree", 10, 10)),
    ("a compiler", "compile", lambda t: t.op("_compile.compile_inner (dynamo_timed)", 10, 10)),
    ("a stuck wait", "unknown", lambda t: t.sync(10, 10)),
    ("dispatching", "launch", _dispatching),
    ("a sleep", "wait", lambda t: t.python("<built-in method sleep>", 10, 10)),
    ("a read", "disk", lambda t: t.python("<built-in method read>", 10, 10)),
    ("a look at files", "metadata", lambda t: t.python("<built-in function stat>", 10, 10)),
    ("a socket", "network.io", lambda t: t.python("<built-in method recv>", 10, 10)),
    ("Python", "serial", lambda t: t.python("train.py(3): crop", 10, 10)),
)
CPU_STATES: tuple[tuple[str, str, State], ...] = (
    *(state for state in STATES if state[0] in ("the profiler", "the loader", "a save", "a compiler")),
    ("an operator", "cpu", lambda t: t.op("aten::mm", 10, 10)),
    *(state for state in STATES if state[0] in ("gloo", "a sleep", "a read", "a look at files", "a socket", "Python")),
)


def pairs(states: tuple[tuple[str, str, State], ...]) -> list[object]:
    return [
        pytest.param(strong, weak, id=f"{strong[0]} before {weak[0]}")
        for strong, weak in itertools.combinations(states, 2)
    ]


def charged_ms(trace: Trace, cause: str) -> float:
    spans = attribute(trace.build()).spans(cause)
    return clip(spans, trace.zero_ns + 10 * MS, trace.zero_ns + 20 * MS).total / MS


@pytest.mark.parametrize(("strong", "weak"), pairs(STATES))
def test_the_stronger_is_charged(strong: tuple[str, str, State], weak: tuple[str, str, State]) -> None:
    trace = Trace().launch(0, 1).launch(9.9, 0.09).launch(20, 1)
    weak[2](trace)
    strong[2](trace)
    assert charged_ms(trace, strong[1]) == pytest.approx(10, abs=0.11)


@pytest.mark.parametrize(("strong", "weak"), pairs(CPU_STATES))
def test_the_stronger_is_charged_on_a_cpu_job(strong: tuple[str, str, State], weak: tuple[str, str, State]) -> None:
    trace = Trace(device=None).op("aten::mm", 0, 10).op("aten::mm", 20, 1)
    weak[2](trace)
    strong[2](trace)
    assert charged_ms(trace, strong[1]) == pytest.approx(10, abs=0.11)


def test_a_short_wait_is_a_round_trip_even_if_it_is_a_copy_that_stages() -> None:
    trace = Trace().launch(0, 1).launch(9.9, 0.09).copy("HtoD", "Pageable", 10, 0.1, call_ms=0.18).launch(10.2, 1)
    assert charged_ms(trace, "launch") == pytest.approx(0.08 + 0.03, abs=0.02)


def test_a_compilers_own_short_waits_for_the_device_are_compiling() -> None:
    trace = Trace().launch(0, 1).launch(9.9, 0.09).op("CachingAutotuner.benchmark_all_configs", 10, 10).launch(20, 1)
    assert charged_ms(trace.sync(12, 0.5), "compile") == pytest.approx(10, abs=0.11)


def test_gloo_between_the_operators_of_a_cpu_job_is_network_and_beneath_them_is_not() -> None:
    trace = (
        Trace(device=None).op("aten::mm", 0, 10).range("gloo:all_reduce", 10, 10, thread="gloo").op("aten::mm", 20, 1)
    )
    for at in every(0.5, 20, begin=10):
        trace.op("aten::view", at, 0.1)
    assert charged_ms(trace, "network") == pytest.approx(20 * 0.4)


def test_copies_of_a_save_are_weaker_than_collectives_and_stronger_than_other_copies() -> None:
    trace = Trace().launch(0, 1).launch(9.9, 0.09).range("save_checkpoint", 10, 10).launch(20, 1)
    trace.transfer("DtoH", "Pageable", 10.1, 9, 80_000_000)
    assert charged_ms(trace, "checkpoint") == pytest.approx(10, abs=0.11)
    assert charged_ms(trace.collective(10, 10), "network") == pytest.approx(10)

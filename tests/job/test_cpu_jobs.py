"""Jobs in whose trace no device appears: what their threads compute is the work."""

import pytest
from tests.job.builder import Trace, charged, every, judged, told


def test_operators_are_the_work_of_a_cpu_job() -> None:
    trace = Trace(device=None)
    for at in every(10, 5):
        trace.op("aten::addmm", at, 9.9)
    v = judged(trace)
    assert v.binding == "cpu"
    assert charged(v)["cpu"] == pytest.approx(49.9)
    assert any("judged as a CPU job" in note for note in v.notes)


def test_operators_of_several_threads_count_once() -> None:
    trace = Trace(device=None)
    for at in every(10, 5):
        trace.op("aten::mm", at, 9).op("aten::mm", at + 4, 6, thread="autograd")
    v = judged(trace)
    assert charged(v) == pytest.approx({"cpu": 50})


def test_a_gpu_that_is_named_and_was_not_recorded_is_unknown() -> None:
    trace = Trace(device="NVIDIA H200")
    for at in every(10, 5):
        trace.op("aten::addmm", at, 9.9)
    v = judged(trace)
    assert charged(v) == pytest.approx({"unknown": 49.9})
    assert v.exit_code == 3
    assert any("profile with CUDA activities" in note for note in v.notes)


def test_a_collective_of_gpus_names_them_too() -> None:
    v = judged(Trace(device=None).op("aten::addmm", 0, 10).range("nccl:all_reduce", 4, 2))
    assert charged(v) == {"unknown": 10}


def test_silence_of_a_cpu_job_is_serial() -> None:
    trace = Trace(device=None)
    for at in every(20, 5):
        trace.op("aten::mm", at, 4)
    v = judged(trace)
    assert v.binding == "serial"
    assert charged(v)["serial"] == pytest.approx(4 * 16)


def test_a_cpu_job_waits_for_its_loader() -> None:
    trace = Trace(device=None)
    for at in every(20, 5):
        trace.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 14).op("aten::mm", at + 14, 6)
    v = judged(trace)
    assert v.binding == "input"
    assert charged(v) == pytest.approx({"input": 70, "cpu": 30})


@pytest.mark.parametrize("within", ["__next__", "worker's own"])
def test_operators_that_make_the_batch_are_input_not_work(within: str) -> None:
    trace = Trace(device=None)
    for at in every(20, 5):
        trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 14)
        trace.op("aten::stack", at + 2, 10, thread="main" if within == "__next__" else "worker")
        trace.op("aten::mm", at + 14, 6)
    assert charged(judged(trace))["input"] == pytest.approx(70)


def test_gloo_beneath_computing_costs_nothing() -> None:
    trace = Trace(device=None, rank=0, world=2)
    for at in every(10, 5):
        trace.op("aten::mm", at, 10).range("gloo:all_reduce", at + 1, 8, thread="gloo")
    assert "network" not in charged(judged(trace))


def test_gloo_that_the_main_thread_waits_for_is_network() -> None:
    trace = Trace(device=None, rank=0, world=2)
    for at in every(10, 5):
        trace.op("aten::mm", at, 3).range("gloo:all_reduce", at + 3.1, 6.8, thread="gloo")
    v = judged(trace)
    assert v.binding == "network"
    assert charged(v)["network"] == pytest.approx(5 * 6.8)
    assert told(v, "exposed_collectives")[0].where == "host"


def test_frames_say_what_the_silence_of_a_cpu_job_was() -> None:
    trace = Trace(device=None)
    for at in every(20, 5):
        trace.op("aten::mm", at, 4).python("<built-in method sleep>", at + 4, 16)
    assert charged(judged(trace)) == pytest.approx({"cpu": 20, "wait": 80})


def test_a_job_that_only_loads_no_kernels_but_calls_the_device_is_no_cpu_job() -> None:
    trace = Trace()
    for at in every(20, 5):
        trace.op("aten::mm", at, 4).call("cudaLaunchKernel", at + 5, 0.01, causes=int(at))
    v = judged(trace)
    assert "cpu" not in charged(v)
    assert v.exit_code == 3


def test_the_own_time_of_an_operator_that_calls_another_is_work() -> None:
    trace = Trace(device=None)
    for at in every(10, 5):
        trace.op("aten::mm", at, 9.9).op("aten::resolve_conj", at + 0.01, 0.01)
    assert charged(judged(trace))["cpu"] == pytest.approx(49.9, rel=0.01)

"""Which threads feed the device, and what of their time counts."""

import numpy as np
import pytest
from tests.job.builder import Trace, charged, every, judged, removable

from longpole.job import host
from longpole.job.activities import Call, calls_of, collective_rows
from longpole.job.attribution import attribute
from longpole.timeline.columns import Kind

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

CALLS = {
    "cudaLaunchKernel": Call.LAUNCH,
    "cudaLaunchKernelExC": Call.LAUNCH,
    "cuLaunchKernelEx": Call.LAUNCH,
    "hipExtModuleLaunchKernel": Call.LAUNCH,
    "hipHccModuleLaunchKernel": Call.LAUNCH,
    "cudaGraphLaunch": Call.GRAPH,
    "hipGraphLaunch": Call.GRAPH,
    "cudaDeviceSynchronize": Call.SYNC,
    "cudaStreamSynchronize": Call.SYNC,
    "hipEventSynchronize": Call.SYNC,
    "cudaStreamWaitEvent": Call.OTHER,
    "cudaEventQuery": Call.OTHER,
    "cudaEventRecord": Call.OTHER,
    "cudaMemcpyAsync": Call.COPY,
    "hipMemcpyWithStream": Call.COPY,
    "cudaMemsetAsync": Call.OTHER,
    "cudaMalloc": Call.ALLOC,
    "cudaFree": Call.ALLOC,
    "cudaHostAlloc": Call.ALLOC,
    "hipHostMalloc": Call.ALLOC,
    "cuMemCreate": Call.ALLOC,
    "cuModuleLoadDataEx": Call.LOAD,
    "cuLibraryLoadData": Call.LOAD,
    "nvrtcCompileProgram": Call.LOAD,
    "cudaGetDevice": Call.OTHER,
}


@pytest.mark.parametrize(("name", "kind"), CALLS.items())
def test_a_call_is_what_its_name_says(name: str, kind: Call) -> None:
    calls = calls_of(Trace().call(name, 0, 1).build())
    assert Call(int(calls.kind[0])) is kind


TALKERS = (
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)",
    "void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)",
    "void sglang::allreduce_fusion_kernel_oneshot_lamport<4>()",
    "mscclKernel_Sum_float_LL",
    "void deep_ep::intranode::dispatch<8, 768>(int4*)",
    "one_shot_all_reduce_kernel",
)
WORKERS = (
    "ampere_sgemm_128x64_tn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>()",
    "void at::native::_scatter_gather_elementwise_kernel<128>()",
    "triton_red_fused_sum_0",
    "cudnn::ops::nchwToNhwcKernel",
)


@pytest.mark.parametrize("name", TALKERS)
def test_kernels_that_talk_are_collectives(name: str) -> None:
    timeline = Trace().kernel(0, 1, name).build()
    assert len(collective_rows(timeline, timeline.rows(Kind.KERNEL))) == 1


@pytest.mark.parametrize("name", WORKERS)
def test_kernels_that_compute_are_not(name: str) -> None:
    timeline = Trace().kernel(0, 1, name).build()
    assert len(collective_rows(timeline, timeline.rows(Kind.KERNEL))) == 0


def feeding(trace: Trace) -> set[str]:
    timeline = trace.build()
    flags = host.feeding_lanes(timeline, calls_of(timeline))
    return {lane.label for lane, fed in zip(timeline.lanes, flags.tolist(), strict=True) if fed}


def test_the_main_thread_and_autograds_feed_a_watchdog_does_not() -> None:
    trace = Trace()
    for at in every(1, 200):
        trace.launch(at, 0.1).launch(at + 0.5, 0.1, thread="autograd").op("aten::collate", at, 1, thread="worker")
    trace.launch(3, 0.1, thread="watchdog")
    assert feeding(trace) == {"main", "autograd"}


def test_a_thread_with_marked_steps_feeds_even_if_it_launches_nothing() -> None:
    trace = Trace().step(1, 0, 5)
    for at in every(1, 200):
        trace.launch(at, 0.1, thread="autograd")
    assert feeding(trace) == {"main", "autograd"}


def test_without_calls_the_operators_tell_and_without_them_anything() -> None:
    assert feeding(Trace().op("aten::mm", 0, 1).range("x", 0, 1, thread="other")) == {"main"}
    assert feeding(Trace().range("x", 0, 1, thread="other")) == {"other"}
    assert feeding(Trace().kernel(0, 1)) == set()


def test_a_pin_memory_thread_that_waits_for_workers_is_not_blamed() -> None:
    trace = Trace()
    for at in every(10, 5):
        trace.launch(at, 0.3).launch(at + 0.5, 0.3).range(LOADER, at, 9.9, thread="pin memory")
    v = judged(trace)
    assert "input" not in charged(v)


def test_a_loader_wait_beside_another_feeding_threads_work_would_not_go() -> None:
    trace = Trace()
    for at in every(10, 5):
        trace.range(LOADER, at, 8).launch(at + 8.5, 0.1)
        for other in every(0.5, 16, begin=at):
            trace.launch(other, 0.01, thread="second model")
    v = judged(trace)
    assert charged(v)["input"] == pytest.approx(5 * 8 - 5 * 16 * 0.01, rel=0.01)
    assert removable(v)["input"] < 0.15 * charged(v)["input"]


def test_a_blocked_host_is_what_makes_kernels_removable() -> None:
    waits = attribute(Trace().launch(0, 10).sync(1, 9.01).build()).host.blocked
    assert waits.total == pytest.approx(9_010_000)


def test_one_threads_wait_beside_anothers_work_blocks_nobody() -> None:
    trace = Trace().launch(0, 10).sync(1, 9.01)
    for at in every(0.5, 22):
        trace.launch(at, 0.001, thread="autograd")
    assert attribute(trace.build()).host.blocked.total == 1_000  # the last kernel, when both have done all they do


def test_a_launch_into_a_full_queue_waits_for_the_device() -> None:
    trace = Trace().launch(0, 20).launch(0.1, 5, ms=15, runs_at=20.01)
    assert attribute(trace.build()).host.blocked.total == pytest.approx(15_000_000 + 9_910_000, rel=0.01)


def test_a_copy_call_stages_if_it_takes_as_long_as_its_copy_and_waits_if_it_takes_longer() -> None:
    trace = Trace().launch(0, 0.1).copy("HtoD", "Pageable", 1, 10).copy("HtoD", "Pageable", 12, 1, 4096, call_ms=5)
    staging = attribute(trace.build()).host.staging
    assert staging.total == 10_000_000


def test_a_copy_whose_pages_are_faulted_in_stages_however_long_it_takes() -> None:
    trace = Trace().launch(0, 0.1).copy("HtoD", "Pageable", 1, 2, 100_000_000, call_ms=150)
    assert attribute(trace.build()).host.staging.total == 150_000_000


def test_the_tail_of_a_copy_that_the_device_does_not_show_is_copy_not_launch() -> None:
    """The host stages pageable memory before the first byte moves: the call begins before its copy."""
    trace = Trace().launch(0, 0.1)
    for at in every(30, 4, begin=1):
        trace.joined += 1
        trace.call("cudaMemcpyAsync", at, 20, causes=trace.joined)
        trace.transfer("HtoD", "Pageable", at + 8, 12, 100_000_000, cause=trace.joined).launch(at + 20.1, 9)
    v = judged(trace)
    assert v.binding == "copy"
    assert charged(v)["copy"] == pytest.approx(4 * 20)


def test_dispatch_is_the_union_over_all_feeding_threads() -> None:
    trace = Trace()
    for at in every(4, 5):
        for mine in every(0.5, 4, begin=at):
            trace.launch(mine, 0.01)
        for theirs in every(0.5, 4, begin=at + 2):
            trace.launch(theirs, 0.01, thread="autograd")
    v = judged(trace)
    assert "serial" not in charged(v)
    assert v.binding == "launch"


def test_a_traced_graph_launch_is_the_profilers_cost() -> None:
    """The profiler records each kernel of a graph as it is launched: 5 ms that a bare run does not have."""
    trace = Trace().launch(0, 1)
    for at in every(10, 4, begin=2):
        trace.call("cudaGraphLaunch", at, 5, causes=900 + int(at)).kernel(at + 5, 4.5, cause=900 + int(at))
    assert charged(judged(trace))["profiler"] == pytest.approx(4 * 5)


def test_operators_compute_but_for_the_collectives_which_only_wait() -> None:
    trace = Trace(device=None).op("aten::linear", 0, 10).op("aten::addmm", 1, 8).op("c10d::allreduce_", 11, 4)
    assert attribute(trace.build()).host.computing.total == 10_000_000
    assert attribute(trace.launch(20, 1).build()).host.computing.total == 0  # a job with a device


def test_no_thread_at_all_is_no_error() -> None:
    seen = attribute(Trace().kernel(0, 1).build()).host
    assert not seen.feeding.any()
    assert all(not len(spans.start) for spans in (seen.dispatch, seen.alive, seen.blocked, seen.input))
    assert np.array_equal(seen.calls.row, [])

"""Each nanosecond goes to the first cause that covers it: device work, then the measuring, then the feeding threads."""

import pytest
from tests.job.builder import Trace, charged, every, judged, removable, told

from longpole.job.attribution import CPU_LAYERS, LAYERS
from longpole.job.causes import CAUSES


def test_every_layer_has_a_cause_that_is_explained() -> None:
    assert {layer.cause for layer in (*LAYERS, *CPU_LAYERS)} <= {cause.word for cause in CAUSES}


def test_hidden_communication_costs_nothing() -> None:
    trace = Trace().launch(0, 10).collective(2, 6).sync(0.5, 9.51)
    v = judged(trace)
    assert "network" not in charged(v)
    assert v.binding == "gpu.compute"
    (hidden,) = told(v, "hidden_collectives")
    assert hidden.measured == 6_000_000
    assert told(v, "exposed_collectives")[0].measured == 0


def test_exposed_communication_is_charged_for_what_no_kernel_hides() -> None:
    v = judged(Trace().launch(0, 10).collective(6, 12).sync(0.5, 17.5))
    assert charged(v)["network"] == pytest.approx(18 - 10.01)
    assert charged(v)["gpu.compute"] == 10
    assert v.binding == "network"  # faster kernels would leave the four milliseconds of it that they hide now
    assert any("can't be split" in note for note in v.notes)


def test_a_collective_is_known_by_its_name_alone() -> None:
    v = judged(Trace().launch(0, 2).collective(3, 12, told=False).sync(0.5, 14.5))
    assert charged(v)["network"] == 12
    assert v.binding == "network"


def test_a_copy_beneath_a_kernel_or_a_collective_costs_nothing() -> None:
    trace = Trace().launch(0, 5).collective(5.01, 5).transfer("HtoD", "Pinned", 1, 8).sync(0.5, 9.51)
    assert charged(judged(trace)).keys() == {"gpu.compute", "network", "launch"}


def test_an_exposed_copy_is_charged() -> None:
    v = judged(Trace().launch(0, 1).copy("HtoD", "Pageable", 2, 20).launch(22.5, 1))
    assert charged(v)["copy"] == 20
    assert v.binding == "copy"


def test_a_fill_of_device_memory_counts_as_a_copy() -> None:
    trace = Trace().launch(0, 1)
    for at in every(1, 5, begin=2):
        trace.transfer("DtoD", "Device", at, 1)
    assert charged(judged(trace))["copy"] == 5


def test_the_stronger_cause_gets_its_whole_union() -> None:
    trace = (
        Trace()
        .kernel(0, 4, stream=7)
        .kernel(2, 4, stream=8)
        .kernel(10, 1)
        .collective(5, 2)
        .transfer("HtoD", "Pinned", 0, 11)
    )
    v = judged(trace)
    assert charged(v) == {"gpu.compute": 7, "network": 1, "copy": 3}


def test_a_wait_for_a_busy_device_is_not_blamed() -> None:
    v = judged(Trace().launch(0, 50).sync(0.02, 49.99).launch(50.02, 1))
    (cost,) = told(v, "synchronisation")
    assert cost.measured == 0
    assert cost.status == "ok"
    assert charged(v).get("launch", 0) < 0.05
    assert v.binding == "gpu.compute"


def test_a_wait_that_outlasts_the_device_is_charged_to_launch() -> None:
    trace = Trace()
    for at in every(1, 20):
        trace.launch(at, 0.2).sync(at + 0.02, 0.7)
    v = judged(trace)
    (cost,) = told(v, "synchronisation")
    assert cost.measured == pytest.approx(20 * 510_000)
    assert cost.status == "slow"
    assert v.binding == "launch"


def test_a_long_wait_with_nothing_recorded_is_unknown_and_exits_3() -> None:
    trace = Trace()
    for at in every(30, 4):
        trace.launch(at, 0.1).sync(at + 0.2, 28)
    v = judged(trace)
    assert charged(v)["unknown"] == pytest.approx(4 * 28)
    assert (v.binding, v.exit_code) == (None, 3)
    assert any("nothing that was recorded runs on it" in note for note in v.notes)
    assert any(fix.cause == "unknown" for fix in v.fixes)


def test_kernels_of_a_graph_that_were_not_recorded_are_unknown() -> None:
    trace = Trace().launch(0, 1)
    for at in every(10, 5, begin=2):
        trace.call("cudaGraphLaunch", at, 0.05, causes=1000 + int(at)).sync(at + 0.05, 9)
    v = judged(trace)
    assert charged(v)["unknown"] == pytest.approx(5 * 9.05)
    assert (v.binding, v.exit_code) == (None, 3)
    (fact,) = told(v, "graph_launches")
    assert fact.status == "unknown"
    assert any("kernels the trace does not show" in note for note in v.notes)


def test_a_graph_whose_kernels_were_recorded_is_like_any_launch() -> None:
    trace = Trace().launch(0, 1)
    for at in every(10, 5, begin=2):
        trace.call("cudaGraphLaunch", at, 0.05, causes=1000 + int(at)).sync(at + 0.05, 9)
        for kernel_at in every(2.25, 4, begin=at + 0.05):
            trace.kernel(kernel_at, 2.25, cause=1000 + int(at))
    v = judged(trace)
    assert "unknown" not in charged(v)
    assert charged(v)["gpu.compute"] == pytest.approx(46)
    assert (v.binding, v.exit_code) == ("gpu.compute", 0)
    assert not told(v, "graph_launches")


def test_what_a_graph_hides_is_over_with_the_next_sign_of_the_device() -> None:
    trace = Trace().launch(0, 1).call("cudaGraphLaunch", 2, 0.05, causes=1000).launch(6, 1).launch(8, 1)
    v = judged(trace)
    assert charged(v)["unknown"] == pytest.approx(6.01 - 2)


def test_a_kernel_queued_before_the_graph_is_no_sign_that_the_graph_is_over() -> None:
    trace = Trace().launch(0, 2).launch(0.1, 2, runs_at=2.01).call("cudaGraphLaunch", 0.2, 0.05, causes=1000)
    for op_at in every(0.5, 17, begin=4.5):
        trace.op("aten::view", op_at, 0.1)
    v = judged(trace.launch(13, 1))
    assert charged(v)["unknown"] == pytest.approx(13.01 - 4.01, abs=0.1)


def test_launches_without_any_recorded_kernel_are_unknown() -> None:
    trace = Trace()
    for at in every(0.5, 40):
        trace.call("cudaLaunchKernel", at, 0.01, causes=100 + int(2 * at))
    v = judged(trace)
    assert charged(v)["unknown"] == pytest.approx(19.51)
    assert (v.binding, v.exit_code) == (None, 3)


def test_work_whose_launch_is_not_known_is_a_sign_from_when_it_begins() -> None:
    trace = Trace().launch(0, 1).call("cudaEventRecord", 0.5, 0.01).call("cudaGraphLaunch", 2, 0.05, causes=1000)
    v = judged(trace.kernel(6, 1).launch(8, 1))
    assert charged(v)["unknown"] == pytest.approx(6 - 2)


def test_kernels_that_are_missing_beside_others_that_were_recorded_are_unknown_too() -> None:
    trace = Trace()
    for at in every(2, 20):
        trace.launch(at, 0.9).call("cudaLaunchKernel", at + 1, 0.01, causes=1000 + int(at))
    v = judged(trace)
    assert charged(v)["unknown"] == pytest.approx(19 * 1.01 + 0.01, abs=0.1)


def test_one_launch_at_the_edge_without_its_kernel_says_nothing() -> None:
    trace = Trace()
    for at in every(0.5, 40):
        trace.launch(at, 0.4)
    trace.call("cudaLaunchKernel", 20, 0.01, causes=9999)
    assert "unknown" not in charged(judged(trace))


def test_a_file_that_breaks_off_makes_the_device_unknown() -> None:
    trace = Trace().op("aten::mm", 0, 5).op("aten::mm", 5, 5).breaks_off()
    v = judged(trace)
    assert charged(v) == {"unknown": 10}
    assert v.exit_code == 3


def test_the_profiler_comes_before_what_the_threads_were_in() -> None:
    trace = Trace().launch(0, 1).profiler("Activity Buffer Request", 2, 3).launch(5.5, 1)
    v = judged(trace)
    assert charged(v)["profiler"] == 3
    assert v.work == v.window.amount - 3_000_000
    assert v.binding != "profiler"


def test_loading_code_is_the_programs_own_and_no_overhead_of_the_profiler() -> None:
    v = judged(Trace().launch(0, 1).profiler("Lazy Function Loading", 2, 30).launch(33, 1))
    assert charged(v)["startup"] == pytest.approx(30)
    assert "profiler" not in charged(v)


def test_waiting_for_a_batch_is_charged_while_the_device_idles() -> None:
    trace = Trace()
    for at in every(20, 5):
        trace.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, 15).launch(at + 15.1, 4)
    v = judged(trace)
    assert v.binding == "input"
    assert charged(v)["input"] == pytest.approx(5 * 15)
    assert removable(v)["input"] == pytest.approx(5 * 15)
    (wait,) = told(v, "loader_wait")
    assert wait.status == "slow"


def test_waiting_for_a_batch_beneath_kernels_costs_nothing() -> None:
    trace = Trace()
    for at in every(20, 5):
        trace.launch(at, 18).range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 1, 5)
        trace.sync(at + 6.5, 11.51)
    v = judged(trace)
    assert "input" not in charged(v)
    assert told(v, "loader_wait")[0].status == "ok"
    assert v.binding == "gpu.compute"


def test_compiling_is_charged_by_the_names_of_compilers() -> None:
    trace = Trace().launch(0, 1).op("_compile.compile_inner (dynamo_timed)", 2, 40).launch(43, 1)
    trace.op("Torch-Compiled Region: 0/0", 44, 5).launch(50, 1)
    v = judged(trace)
    assert v.binding == "compile"
    assert charged(v)["compile"] == pytest.approx(40)


def test_loading_a_module_in_the_middle_is_compiling() -> None:
    v = judged(Trace().launch(0, 1).call("cuModuleLoadData", 2, 0.9).launch(3, 1))
    assert charged(v)["compile"] == pytest.approx(0.9)


def test_a_slow_free_in_every_step_is_allocation() -> None:
    trace = Trace()
    for at in every(10, 6):
        trace.launch(at, 1).call("hipFree", at + 2, 6).call("hipMalloc", at + 8, 1.5)
    v = judged(trace)
    assert v.binding == "alloc"
    assert charged(v)["alloc"] == pytest.approx(6 * 7.5)
    (fact,) = told(v, "allocation")
    assert fact.where == "hipFree"
    assert fact.status == "slow"


def test_a_first_free_that_makes_the_context_is_start_up() -> None:
    v = judged(Trace().call("cudaFree", 0, 80).launch(81, 10).sync(81.1, 10))
    assert charged(v)["startup"] >= 80
    assert "alloc" not in charged(v)
    assert v.binding == "startup"
    assert told(v, "start_up")[0].where == "cudaFree"


def test_a_launch_that_loads_code_is_start_up() -> None:
    trace = Trace()
    for at in every(1, 10):
        trace.launch(at, 0.9)
    trace.launch(10, 0.9, ms=25)
    v = judged(trace)
    assert charged(v)["startup"] == pytest.approx(25, abs=0.1)


def test_silence_before_a_one_off_call_belongs_to_starting_up() -> None:
    trace = Trace().launch(0, 0.5).op("aten::conv2d", 0.6, 0.1).launch(21, 0.5, ms=5)
    v = judged(trace)
    assert charged(v)["startup"] == pytest.approx(25.3, abs=0.1)
    assert "serial" not in charged(v)


def test_a_long_call_of_the_driver_that_is_no_work_of_its_own_is_start_up() -> None:
    v = judged(Trace().launch(0, 0.5).call("cudaGetDeviceProperties_v2", 1, 5).launch(6.1, 0.5))
    assert charged(v)["startup"] == pytest.approx(5, abs=0.1)


def test_a_long_call_of_a_runtime_that_serves_requests_is_none() -> None:
    v = judged(Trace().launch(0, 0.5).call("waitForRequest", 1, 5).launch(6.1, 0.5))
    assert "startup" not in charged(v)


def test_a_short_gap_between_operators_is_dispatch() -> None:
    trace = Trace()
    for at in every(0.9, 30):
        trace.launch(at, 0.1)
    v = judged(trace)
    assert v.binding == "launch"
    assert "serial" not in charged(v)


def test_a_gap_of_more_than_a_millisecond_is_serial() -> None:
    trace = Trace()
    for at in every(5, 6):
        trace.launch(at, 0.1).launch(at + 0.2, 0.1)
    v = judged(trace)
    assert v.binding == "serial"
    assert charged(v)["serial"] == pytest.approx(5 * (5 - 0.31), abs=0.1)
    assert any("read from silence" in note for note in v.notes)


def test_a_long_operator_on_the_host_is_serial() -> None:
    trace = Trace()
    for at in every(20, 5):
        trace.op("aten::sort", at, 17).launch(at + 17.5, 2.4)
    v = judged(trace)
    assert v.binding == "serial"
    assert charged(v)["serial"] == pytest.approx(5 * 17, rel=0.05)


def test_operators_that_hand_nothing_to_the_device_for_long_compute_on_the_host() -> None:
    trace = Trace()
    for at in every(20, 5):
        trace.launch(at, 1)
        for op_at in every(0.5, 34, begin=at + 1.1):
            trace.op("aten::select", op_at, 0.4)
        trace.launch(at + 18.1, 1.8)
    v = judged(trace)
    assert v.binding == "serial"
    assert charged(v)["serial"] == pytest.approx(
        5 * (17.1 - 1.01), abs=1
    )  # a millisecond beside each launch is dispatch


def test_operators_between_launches_are_dispatch_however_many() -> None:
    trace = Trace()
    for at in every(4, 25):
        trace.launch(at, 0.5)
        for op_at in every(0.5, 6, begin=at + 0.6):
            trace.op("aten::view", op_at, 0.4)
    v = judged(trace.launch(100, 0.5))
    assert v.binding == "launch"
    assert "serial" not in charged(v)


FRAMES = {
    "<built-in method sleep of module object at 0x7f>": "wait",
    "threading.py(310): wait": "wait",
    "queue.py(154): get": "wait",
    "subprocess.py(1180): wait": "wait",
    "<built-in method read of _io.BufferedReader object at 0x7f>": "disk",
    "<built-in method write of _io.FileIO object at 0x7f>": "disk",
    "<built-in function stat>": "metadata",
    "<built-in function open>": "metadata",
    "glob.py(10): glob": "metadata",
    "<built-in method recv of _socket.socket object at 0x7f>": "network.io",
    "requests/sessions.py(500): request": "network.io",
    "train.py(12): augment": "serial",
}


@pytest.mark.parametrize(("frame", "cause"), FRAMES.items())
def test_a_python_frame_says_what_the_silence_was(frame: str, cause: str) -> None:
    trace = Trace()
    for at in every(12, 5):
        trace.launch(at, 1).python("train.py(3): main", at, 12).python(frame, at + 1.5, 10)
    v = judged(trace)
    assert v.binding == cause
    assert charged(v)[cause] == pytest.approx(50, rel=0.15)


def test_a_frame_that_waits_counts_only_on_the_thread_that_feeds() -> None:
    trace = Trace()
    for at in every(12, 5):
        trace.launch(at, 1).python("threading.py(310): wait", at, 11.5, thread="watchdog")
    assert "wait" not in charged(judged(trace))


def test_time_before_and_after_the_feeding_threads_is_unknown() -> None:
    trace = Trace().kernel(0, 1).launch(5, 1).launch(6.2, 1).kernel(12, 1)
    assert charged(judged(trace))["unknown"] == pytest.approx((5 - 1) + (12 - 7.21), abs=0.02)


def test_a_trace_of_the_device_alone_explains_no_gap() -> None:
    trace = Trace()
    for at in every(2, 10):
        trace.kernel(at, 1.9)
    v = judged(trace)
    assert charged(v) == pytest.approx({"gpu.compute": 19, "unknown": 0.9})
    assert any("no host events" in note for note in v.notes)


def test_a_trace_of_the_device_alone_that_idles_most_is_not_answered() -> None:
    trace = Trace()
    for at in every(2, 10):
        trace.kernel(at, 0.2)
    v = judged(trace)
    assert (v.binding, v.exit_code) == (None, 3)


def test_the_profilers_own_frames_are_the_measuring() -> None:
    trace = Trace().launch(0, 1).python("torch/profiler/profiler.py(812): step", 10, 30).launch(41, 1)
    v = judged(trace)
    assert charged(v)["profiler"] == pytest.approx(30)

"""What Kineto's events become: kinds, lanes, copies, collectives, and what the file says of the run."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from longpole.timeline.columns import Kind, Lane


def test_the_small_trace_is_read_whole(small, read_text):
    timeline = read_text(small.text(indent=2))
    assert Counter(Kind(kind).name for kind in timeline.kind.tolist()) == {
        "STEP": 3, "RANGE": 3, "PYTHON": 3, "OPERATOR": 3, "CALL": 6, "KERNEL": 3, "COPY": 3, "OVERHEAD": 3, "SPAN": 1,
    }  # fmt: skip
    assert (timeline.rank, timeline.world_size, timeline.devices) == (3, 8, ("NVIDIA H100",))
    assert timeline.set_aside == {} and timeline.notes == () and timeline.whole
    assert set(timeline.lanes) == {
        Lane("thread", "thread 101 (python)", pid=100, tid=101),
        Lane("stream", "GPU 0 stream 7", device=0, stream=7),
        Lane("other", "profiler", pid=-1, tid=0),
        Lane("other", "Spans PyTorch Profiler"),
    }
    copies = timeline.rows(Kind.COPY)
    assert timeline.size_bytes[copies].tolist() == [4096] * 3
    assert timeline.correlation[copies].tolist() == [2, 4, 6]
    assert timeline.correlation[timeline.rows(Kind.OPERATOR)].tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("kernel", Kind.KERNEL), ("Kernel", Kind.KERNEL), ("gpu_memcpy", Kind.COPY), ("Memcpy", Kind.COPY),
        ("gpu_memset", Kind.FILL), ("Memset", Kind.FILL), ("gpu_user_annotation", Kind.DEVICE_RANGE),
        ("cuda_sync", Kind.DEVICE_SYNC), ("cuda_runtime", Kind.CALL), ("cuda_driver", Kind.CALL),
        ("Runtime", Kind.CALL), ("xpu_runtime", Kind.CALL), ("mtia_runtime", Kind.CALL), ("hpu_op", Kind.CALL),
        ("privateuse1_driver", Kind.CALL),
        ("cpu_op", Kind.OPERATOR), ("Operator", Kind.OPERATOR), ("user_annotation", Kind.RANGE), ("User", Kind.RANGE),
        ("collective_comm", Kind.RANGE), ("python_function", Kind.PYTHON), ("overhead", Kind.OVERHEAD),
        ("Trace", Kind.SPAN), ("mtia_ccp_events", Kind.KERNEL),
    ],
)  # fmt: skip
def test_categories_of_every_age(small, read_text, category, kind):
    timeline = read_text(json.dumps([small.interval(category, "x", 1, 1)]))
    assert [Kind(each) for each in timeline.kind.tolist()] == [kind]


def test_names_tell_steps_and_ranges_from_operators(small, read_text):
    names = ["ProfilerStep#5", "enumerate(DataLoader)#_It.__next__", "Optimizer.step#SGD.step", "aten::mm"]
    timeline = read_text(json.dumps([small.interval("Operator", name, at, 1) for at, name in enumerate(names)]))
    assert timeline.kind.tolist() == [Kind.STEP, Kind.RANGE, Kind.RANGE, Kind.OPERATOR]


def test_a_step_projected_on_the_device_stays_a_device_range(small, read_text):
    timeline = read_text(json.dumps([small.interval("gpu_user_annotation", "ProfilerStep#5", 1, 1, pid=0, tid=7)]))
    assert timeline.kind.tolist() == [Kind.DEVICE_RANGE]
    assert timeline.lanes == (Lane("stream", "GPU 0 stream 7", device=0, stream=7),)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pinned)"),
        ("CopyHostToDevice", "Memcpy HtoD (Host -> Device)"),
        ("CopyDeviceToHost", "Memcpy DtoH (Device -> Host)"),
        ("CopyDeviceToDevice", "Memcpy DtoD (Device -> Device)"),
        ("Memcpy M2D (Memory -> Device)", "Memcpy HtoD (Host -> Device)"),
        ("Memcpy (nobody knows)", "Memcpy (nobody knows)"),
    ],
)
def test_copies_have_canonical_names(small, read_text, name, canonical):
    timeline = read_text(json.dumps([small.interval("gpu_memcpy", name, 1, 1)]))
    assert timeline.names[timeline.name[0]] == canonical


def test_copies_and_fills_among_the_kernels(small, read_text):
    names = ["CopyHostToDevice", "FillBuffer", "Memset (Device)", "Memcpy HtoD (Host -> Device)", "memcpy_kernel"]
    timeline = read_text(json.dumps([small.interval("kernel", name, at, 1) for at, name in enumerate(names)]))
    assert timeline.kind.tolist() == [Kind.COPY, Kind.FILL, Kind.FILL, Kind.COPY, Kind.KERNEL]


def test_a_copy_without_bytes_has_those_of_its_call(small, read_text):
    events = [
        small.interval("cuda_runtime", "hipMemcpyAsync", 1, 1, correlation=5, size="2560", kind=1),
        small.interval("cuda_runtime", "hipMalloc", 2, 1, correlation=6, size=99),
        small.interval(
            "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 3, 1, pid=2, tid=0, correlation=5, device=2, stream=0
        ),
    ]
    assert read_text(json.dumps(events)).size_bytes.tolist() == [-1, -1, 2560]


def test_streams_by_args_by_tid_and_by_word_are_one(small, read_text):
    events = [
        small.interval("Kernel", "a", 1, 1, pid=0, tid="stream 7", device=0, stream=7),
        small.interval("Kernel", "b", 2, 1, pid=0, tid="stream 7"),
        small.interval("Kernel", "c", 3, 1, pid=0, tid=7),
        small.interval("Kernel", "d", 4, 1, pid="0", tid="7"),
    ]
    assert read_text(json.dumps(events)).lanes == (Lane("stream", "GPU 0 stream 7", device=0, stream=7),)


def test_a_synchronisation_of_the_context_is_on_no_stream(small, read_text):
    events = [
        small.interval("cuda_sync", "Context Sync", 1, 1, pid=0, tid=-1, device=0, stream=4294967295, correlation=3),
        small.interval("cuda_sync", "Stream Sync", 2, 1, pid=0, tid=7, device=0, stream=7, correlation=4),
    ]
    timeline = read_text(json.dumps(events))
    assert timeline.lanes == (Lane("other", "GPU 0", device=0), Lane("stream", "GPU 0 stream 7", device=0, stream=7))
    assert timeline.correlation.tolist() == [3, 4]


def test_threads_by_words(small, read_text):
    timeline = read_text(json.dumps([small.interval("Operator", "a", 1, 1, pid=25738, tid="25739")]))
    assert timeline.lanes == (Lane("thread", "thread 25739", pid=25738, tid=25739),)


def test_the_list_of_the_first_profiler_tells_by_process(read_text):
    said = {"ph": "X", "dur": 10.5, "args": {}}
    events = [
        {"name": "add", **said, "ts": 101.524, "tid": 1, "pid": "CPU functions"},
        {"name": "add", "ph": "s", "ts": 101.5, "tid": 1, "pid": "CPU functions", "id": 0, "cat": "cpu_to_cuda"},
        {"name": "add_kernel", **said, "ts": 102.95699890136719, "tid": 0, "pid": "CUDA functions"},
        {"name": "Memcpy HtoD (Pinned -> Device)", **said, "ts": 120, "tid": 0, "pid": "CUDA functions"},
    ]
    timeline = read_text(json.dumps(events))
    assert timeline.kind.tolist() == [Kind.OPERATOR, Kind.KERNEL, Kind.COPY]
    assert timeline.start_ns.tolist() == [101_524, 102_957, 120_000]
    assert timeline.lanes[1] == Lane("stream", "GPU 0", device=0)


def test_begin_and_end_make_an_interval(read_text):
    place = {"pid": 1, "tid": 2}
    events = [
        {"ph": "B", "name": "outer", "cat": "user_annotation", "ts": 1790857026123456.789, **place},
        {"ph": "B", "name": "inner", "cat": "user_annotation", "ts": "1790857026123457.001", **place},
        {"ph": "E", "ts": 1790857026123458, **place},
        {"ph": "E", "ts": 1790857026123460.5, **place},
        {"ph": "E", "ts": 1790857026123461, **place},
        {"ph": "B", "name": "left", "ts": 1790857026123470, **place},
    ]
    # The digits as written: json.dumps would print the float's.
    timeline = read_text(json.dumps(events).replace("1790857026123456.8", "1790857026123456.789"))
    assert [timeline.names[name] for name in timeline.name] == ["outer", "inner"]
    assert timeline.start_ns.tolist() == [1790857026123456789, 1790857026123457001]
    assert timeline.end_ns.tolist() == [1790857026123460500, 1790857026123458000]
    assert timeline.set_aside == {"ended but not begun in the file": 1, "begun and not ended in the file": 1}


COLLECTIVE = {
    "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 20, "Group size": 2, "dtype": "BFloat16",
    "Process Group Name": "0", "Process Group Ranks": "[0, 1]",
}  # fmt: skip


def test_collectives_of_kernels_and_of_the_operators_that_announce_them(small, read_text):
    events = [
        small.interval("kernel", "ncclDevKernel_AllReduce", 50, 1, pid=0, tid=20)
        | {"args": {**COLLECTIVE, "stream": 20}},
        small.interval("cpu_op", "record_param_comms", 1, 1)
        | {"args": {**COLLECTIVE, "External id": 77, "dtype": "Float"}},
        small.interval("kernel", "ncclDevKernel_AllReduce", 20, 1, pid=0, tid=20) | {"args": {"External id": 77}},
        small.interval("kernel", "gemm", 10, 1, pid=0, tid=7) | {"args": {"External id": 77}},
    ]
    timeline = read_text(json.dumps(events))
    found = timeline.collectives
    assert timeline.start_ns[found.row].tolist() == [20_000, 50_000]
    assert [timeline.names[each] for each in found.operation] == ["allreduce"] * 2
    assert [timeline.names[each] for each in found.group] == ["0", "0"]
    assert found.group_size.tolist() == [2, 2]
    assert found.in_bytes.tolist() == [40, 20] and found.out_bytes.tolist() == [80, 40]


def test_without_kernels_the_operators_are_the_collectives(small, read_text):
    events = [small.interval("cpu_op", "record_param_comms", 1, 1) | {"args": {**COLLECTIVE, "dtype": "unheard of"}}]
    found = read_text(json.dumps(events)).collectives
    assert found.row.tolist() == [0] and found.in_bytes.tolist() == [-1]


def test_mtia_puts_copies_and_events_among_its_kernels(small, read_text):
    place = {"pid": 17, "tid": 3672}
    events = [
        small.interval(
            "mtia_ccp_events", "dma_request", 1, 1, **place, stream=105, direction="DEVICE_TO_HOST", size=1024
        ),
        small.interval("mtia_ccp_events", "event_wait", 2, 1, **place, stream=105),
        small.interval("mtia_ccp_events", "pe_exe", 3, 1, **place, stream=105),
    ]
    timeline = read_text(json.dumps(events))
    assert timeline.kind.tolist() == [Kind.COPY, Kind.DEVICE_SYNC, Kind.KERNEL]
    assert timeline.names[timeline.name[0]] == "Memcpy DtoH (Device -> Host)" and timeline.size_bytes[0] == 1024


@pytest.mark.parametrize(
    ("name", "rank"),
    [("rank3.json", 3), ("rank-12.json", 12), ("job_r3of8.json", 3), ("frank3.json", None), ("trace.json", None)],
)
def test_the_rank_of_the_name_is_the_last_resort(small, read_text, name, rank):
    del small.head["distributedInfo"]
    timeline = read_text(small.text(), name=name)
    assert timeline.rank == rank
    assert len(timeline.notes) == (rank is not None)


def test_a_rank_in_quotes_and_a_host(small, read_text):
    small.head["distributedInfo"] = {"rank": "5", "world_size": "16"}
    small.tail["host_name"] = "node17"
    timeline = read_text(small.text(), name="rank9.json")
    assert (timeline.rank, timeline.world_size, timeline.host) == (5, 16, "node17")


def test_nothing_else_of_the_file_is_kept(small, read_text):
    small.head["environment"] = {"HF_TOKEN": "hf_secretsecret"}
    small.head["deviceProperties"][0]["note"] = "hf_secretsecret"
    small.events[0]["args"]["env"] = "hf_secretsecret"
    assert "secretsecret" not in repr(read_text(small.text()))


def test_unknown_categories_are_ranges_and_said(small, read_text):
    timeline = read_text(json.dumps([small.interval("POSIX", "read", 1, 1), small.interval("kernel", "k", 2, 1)]))
    assert timeline.kind.tolist() == [Kind.RANGE, Kind.KERNEL]
    assert any("POSIX" in note for note in timeline.notes)

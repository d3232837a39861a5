"""Verdicts made by hand, so that what is shown can be tested without reading or judging anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from longpole.verdict import Column, Evidence, Fix, Share, Subject, Table, Verdict, Window

HOSTILE = "evil\x1b[31m</script>\u202e\x00\n名前 \ud800\x9b2J"


def fed_badly() -> Verdict:
    """One rank that waits for its loader."""
    return Verdict(
        subject=Subject("job", "python train.py"),
        window=Window(12_310_000_000, "ns"),
        shares=(
            Share(cause="startup", amount=310_000_000, removable=310_000_000),
            Share(cause="input.cpu", amount=7_510_000_000, removable=7_500_000_000),
            Share(cause="copy", amount=930_000_000, removable=700_000_000),
            Share(cause="launch", amount=520_000_000, removable=400_000_000),
            Share(cause="gpu.compute", amount=2_800_000_000, removable=2_690_000_000),
            Share(cause="profiler", amount=40_000_000, removable=0),
            Share(cause="unknown", amount=200_000_000, removable=0),
        ),
        evidence=(
            Evidence(
                what="steps",
                where="160 steps",
                measured=76_900_000,
                unit="ns",
                detail="median 23.3 ms",
                source="t.json",
            ),
            Evidence(what="worst_step", where="step 17", measured=301_000_000, unit="ns", detail="input.cpu 92 %"),
            Evidence(what="trace_coverage", where="window", measured=0.98, unit="fraction"),
            Evidence(
                what="pageable_copies",
                where="rank 0, stream 7",
                measured=9.1,
                limit=55.0,
                unit="GB/s",
                status="slow",
                source="trace.json.gz, 120 gpu_memcpy events",
            ),
            Evidence(
                what="loader_wait",
                where="main thread",
                measured=7_510_000_000,
                unit="ns",
                status="bad",
                detail="160 waits, 46.9 ms each, 290 ms at most",
                source="trace.json.gz, 160 enumerate(DataLoader) ranges",
            ),
            Evidence(what="kernels", where="GPU 0", measured=0.23, unit="fraction", detail="ampere_sgemm_128x64 41 %"),
            Evidence(what="dispatch", where="thread 1234", measured=5_200, unit="ns", detail="18,200 launches"),
            Evidence(what="missing_ranks", where="job", status="not applicable"),
        ),
        fixes=(
            Fix(cause="input.cpu", do="raise num_workers from 2 to 8", effort="minutes", at_most=2.56),
            Fix(cause="copy", do="pin_memory=True in the DataLoader", effort="seconds", at_most=1.05),
            Fix(cause="input.cpu", do="decode once and store the result", effort="days", at_most=8.0),
            Fix(cause="launch", do="torch.compile(model)", effort="hours"),
        ),
        notes=("2 events had a negative duration and were set aside",),
        noise=12_000_000,
        tables={"steps": Table((Column("step"), Column("time", "ns")), ((1, 23_300_000), (2, None)))},
    )


def healthy() -> Verdict:
    """A job whose kernels are what it costs."""
    return Verdict(
        subject=Subject("job", "compute.json.gz"),
        window=Window(1_000_000_000, "ns"),
        shares=(
            Share(cause="gpu.compute", amount=960_000_000, removable=730_000_000, removable_low=600_000_000),
            Share(cause="launch", amount=40_000_000, removable=40_000_000),
        ),
    )


def tied() -> Verdict:
    """Two links within the noise of each other."""
    return Verdict(
        subject=Subject("job", "tied.json"),
        window=Window(1_000, "ns"),
        shares=(
            Share(cause="input", amount=310, removable=310),
            Share(cause="copy", amount=300, removable=300),
            Share(cause="gpu.compute", amount=390, removable=200),
        ),
        noise=20,
    )


def blind() -> Verdict:
    """A trace in which most of the time was not seen."""
    return Verdict(
        subject=Subject("job", "decode.json.gz"),
        window=Window(50_000_000, "ns"),
        shares=(
            Share(cause="gpu.compute", amount=1_000_000, removable=500_000),
            Share(cause="unknown", amount=49_000_000, removable=0),
        ),
        evidence=(
            Evidence(
                what="graph_launches",
                where="32 hipGraphLaunch calls",
                status="unknown",
                detail="the kernels inside were not recorded",
            ),
        ),
    )


def ranks(count: int = 2) -> Verdict:
    """Several ranks, one of them late."""
    rank_ns = 1_000_000_000
    waiting = tuple(
        Verdict(
            subject=Subject("rank", f"rank {i}"),
            window=Window(rank_ns, "ns"),
            shares=(
                Share(cause="network.imbalance", amount=710_000_000, removable=700_000_000),
                Share(cause="gpu.compute", amount=290_000_000, removable=100_000_000),
            ),
        )
        for i in range(count - 1)
    )
    late = Verdict(
        subject=Subject("rank", f"rank {count - 1}"),
        window=Window(rank_ns, "ns"),
        shares=(
            Share(cause="serial", amount=690_000_000, removable=690_000_000),
            Share(cause="gpu.compute", amount=310_000_000, removable=100_000_000),
        ),
    )
    shares = (
        Share(cause="network.imbalance", amount=710_000_000 * (count - 1), removable=700_000_000 * (count - 1)),
        Share(cause="serial", amount=690_000_000, removable=0),
        Share(cause="gpu.compute", amount=290_000_000 * (count - 1) + 310_000_000, removable=100_000_000 * count),
    )
    straggler = Evidence(
        what="straggler",
        where=f"rank {count - 1}",
        measured=14_200_000,
        unit="ns",
        status="bad",
        detail="serial, in train.py(88): tokenise",
        source="20 of 20 all-reduces",
    )
    return Verdict(
        subject=Subject("job", "torchrun train.py"),
        window=Window(rank_ns * count, "ns"),
        shares=shares,
        evidence=(straggler,),
        fixes=(Fix(cause="network.imbalance", do="move tokenise out of the step", effort="hours", at_most=3.3),),
        parts=(*waiting, late),
    )


def hostile() -> Verdict:
    """Every text comes from an enemy."""
    return Verdict(
        subject=Subject("job", HOSTILE),
        window=Window(100, "ns"),
        shares=(Share(cause="gpu.compute", amount=60, removable=60), Share(cause="unknown", amount=40, removable=0)),
        evidence=(
            Evidence(
                what="kernels",
                where=HOSTILE,
                measured=float("nan"),
                unit=HOSTILE,
                status="bad",
                source=HOSTILE,
                detail=HOSTILE,
            ),
        ),
        fixes=(Fix(cause=HOSTILE, do=HOSTILE, effort="weeks", at_most=float("inf")),),
        notes=(HOSTILE,),
        tables={HOSTILE: Table((Column(HOSTILE, HOSTILE),), ((HOSTILE,), (float("inf"),)))},
    )


def unicode_names() -> Verdict:
    """Names in scripts whose letters are two columns wide."""
    return Verdict(
        subject=Subject("job", "训练/学習.py"),
        window=Window(1_000_000, "ns"),
        shares=(
            Share(cause="链路.瓶颈", amount=900_000, removable=900_000),
            Share(cause="copy", amount=100_000, removable=0),
        ),
        evidence=(Evidence(what="serial_sections", where="数据处理.py(7): 解码" * 6, measured=3_000_000, unit="ns"),),
    )


def empty() -> Verdict:
    """Nothing was charged."""
    return Verdict(subject=Subject("job", ""), window=Window(0, "ns"), shares=())


VERDICTS: dict[str, Callable[[], Verdict]] = {
    "fed_badly": fed_badly,
    "healthy": healthy,
    "tied": tied,
    "blind": blind,
    "ranks": ranks,
    "ranks_40": lambda: ranks(40),
    "hostile": hostile,
    "unicode_names": unicode_names,
    "empty": empty,
}


@pytest.fixture
def verdicts() -> dict[str, Verdict]:
    """Every verdict made by hand, by name."""
    return {name: make() for name, make in VERDICTS.items()}


@pytest.fixture(params=sorted(VERDICTS))
def verdict(request: pytest.FixtureRequest) -> Verdict:
    """Each of them in turn."""
    return VERDICTS[request.param]()

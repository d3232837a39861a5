"""The facts behind one rank's shares, each measured from the trace and with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from longpole import units
from longpole.job import activities
from longpole.job.activities import Call
from longpole.job.attribution import Attribution
from longpole.job.copies import LARGE_BYTES, copy_facts, link_rate
from longpole.job.ranks import Waits
from longpole.job.sections import section_facts
from longpole.job.wires import wire_facts
from longpole.timeline.columns import I64, Kind
from longpole.timeline.intervals import Spans, holds, intersect, join, overlap, subtract
from longpole.verdict import Evidence

#: A device that runs kernels for less than this part of the window is waiting for something.
BUSY = 0.9
#: So many small copies for each launch are worth putting together.
MANY_COPIES = 0.2
#: The first steps are warm-up while they take this many times the median of the rest; at most this part of all steps.
WARM_TIMES = 1.5
WARM_SHARE = 0.3


def facts_of(attribution: Attribution, charged: Mapping[str, Spans], waits: Waits) -> list[Evidence]:
    """All there is to say of one rank, in the order of the chain."""
    return [
        *_coverage(attribution),
        *_steps(attribution),
        *_kernels(attribution),
        *_collectives(attribution, charged),
        *wire_facts(attribution, waits),
        *copy_facts(attribution),
        *_small_copies(attribution),
        *_loader(attribution),
        *_saves(attribution),
        *_dispatch(attribution),
        *_synchronisation(attribution),
        *_named_calls(attribution, "allocation", "alloc", attribution.host.calls.of(Call.ALLOC)),
        *_named_calls(attribution, "start_up", "startup", attribution.host.calls.row),
        *_compilation(attribution),
        *section_facts(attribution),
        *_hidden(attribution),
        *_profiler(attribution),
        *_aside(attribution),
    ]


def _fact(attribution: Attribution, what: str, where: str, source: str, **rest: object) -> Evidence:
    fields = {"what": what, "where": where, "source": f"{attribution.timeline.file}, {source}"} | rest
    return Evidence(**fields)  # type: ignore[arg-type]


def _coverage(attribution: Attribution) -> Iterator[Evidence]:
    timeline = attribution.timeline
    recorder = timeline.rows(Kind.SPAN)
    if not len(recorder):
        return
    spanned = int(timeline.end_ns[recorder].max() - timeline.start_ns[recorder].min())
    if (
        2 * spanned < attribution.window_ns or spanned <= 0
    ):  # a step that was marked as ended long after the recorder stopped
        return
    share = min(attribution.window_ns / spanned, 1.0)
    yield _fact(
        attribution,
        "trace_coverage",
        "of the recorder's span",
        "the recorder's own span",
        measured=share,
        unit="fraction",
        status="ok" if share > 0.8 else "unknown",
        detail=f"judged {units.duration(attribution.window_ns)} of {units.duration(spanned)} recorded; "
        "the job before and after is not in the trace",
    )


def _steps(attribution: Attribution) -> Iterator[Evidence]:
    steps = attribution.steps
    if not len(steps):
        return
    length = steps.end_ns - steps.start_ns
    source = f"{len(steps)} steps by {steps.told_by}"
    warm = warm_up(length)
    rest = length[warm:]
    median = int(np.median(rest))
    low, high = (int(x) for x in np.percentile(rest, (10, 90)))
    yield _fact(
        attribution,
        "steps",
        "mean",
        source,
        measured=int(rest.mean()),
        unit="ns",
        detail=f"{len(rest)} steps; median {units.duration(median)}, 10th to 90th percentile "
        f"{units.duration(low)} to {units.duration(high)}; the whole window is "
        f"{units.duration(attribution.window_ns // len(steps))} a step",
    )
    worst = int(np.argmax(rest))
    if rest[worst] > WARM_TIMES * median > 0:
        yield _fact(
            attribution,
            "worst_step",
            f"step {warm + worst}",
            source,
            measured=int(rest[worst]),
            limit=median,
            unit="ns",
            status="slow",
            detail=f"{rest[worst] / median:.1f} times the median; {_worst_causes(attribution, warm + worst)}",
        )
    if warm:
        yield _fact(
            attribution,
            "warm_up",
            f"first {warm} steps" if warm > 1 else "first step",
            source,
            measured=int(length[:warm].mean()),
            limit=int(rest.mean()),
            unit="ns",
            detail="the mean of the first steps against that of the rest; the shares cover both",
        )


def warm_up(length: I64) -> int:
    """How many of the first steps (ns) stand out as warm-up: slower than usual, and than the rest on average."""
    most = int(WARM_SHARE * len(length))
    if most == 0:
        return 0
    cold = length[:most] > WARM_TIMES * float(np.median(length[most:]))
    warm = int(np.argmin(cold)) if not cold.all() else most
    return warm if warm and length[:warm].mean() > length[warm:].mean() else 0


def _worst_causes(attribution: Attribution, step: int) -> str:
    start, end = attribution.steps.start_ns[step : step + 1], attribution.steps.end_ns[step : step + 1]
    found = sorted(((int(overlap(s, start, end)[0]), c) for c, s in attribution.charged.items()), reverse=True)
    return ", ".join(f"{cause} {units.duration(ns)}" for ns, cause in found[:2] if ns)


def _kernels(attribution: Attribution) -> Iterator[Evidence]:
    device = attribution.device
    rows = attribution.timeline.rows(Kind.KERNEL)
    if not len(rows):
        return
    busy = device.kernels.total / attribution.window_ns
    device_names = sorted({name for name in attribution.timeline.devices if name})
    yield _fact(
        attribution,
        "kernels",
        device_names[0] if device_names else "device",
        f"{len(rows):,} kernels",
        measured=busy,
        unit="fraction",
        status="ok" if busy >= BUSY else "slow",
        detail=f"kernels ran for {units.duration(device.kernels.total)} of {units.duration(attribution.window_ns)}",
    )


def _collectives(attribution: Attribution, charged: Mapping[str, Spans]) -> Iterator[Evidence]:
    talk = attribution.device.talk
    if not len(talk):
        return
    exposed = sum(
        spans.total for cause, spans in charged.items() if cause.startswith("network") and cause != "network.io"
    )
    whole = attribution.device.collectives.total
    source = f"{len(talk):,} collectives"
    yield _fact(
        attribution,
        "exposed_collectives",
        "device" if whole else "host",
        source,
        measured=exposed,
        unit="ns",
        status="slow" if exposed > 0.1 * attribution.window_ns else "ok",
    )
    if whole:
        hidden = whole - intersect(attribution.device.collectives, join(_network(charged))).total
        yield _fact(attribution, "hidden_collectives", "under kernels", source, measured=hidden, unit="ns")


def _network(charged: Mapping[str, Spans]) -> list[Spans]:
    return [spans for cause, spans in charged.items() if cause.split(".")[0] == "network" and cause != "network.io"]


def alone_facts(attribution: Attribution) -> Iterator[Evidence]:
    """That a rank of several was recorded alone, where it matters."""
    timeline = attribution.timeline
    if attribution.spans("network").total and (timeline.world_size or 0) > 1:
        yield _fact(
            attribution,
            "missing_ranks",
            "job",
            "distributedInfo",
            measured=1,
            limit=timeline.world_size,
            status="unknown",
        )


def _loader(attribution: Attribution) -> Iterator[Evidence]:
    waits = attribution.host.input
    if not len(waits.start):
        return
    felt = attribution.spans("input").total
    yield _fact(
        attribution,
        "loader_wait",
        "feeding thread",
        f"{len(waits.start):,} waits for a batch",
        measured=felt,
        unit="ns",
        status="slow" if felt > 0.1 * attribution.window_ns else "ok",
        detail=f"{units.duration(waits.total)} in the loader, {units.duration(felt)} of it with nothing else at work"
        + _inside(attribution, waits),
    )


def _inside(attribution: Attribution, waits: Spans) -> str:
    """Which function of the job's own the loader spent most of its time in, where it runs on the main thread."""
    timeline = attribution.timeline
    rows = timeline.rows(Kind.PYTHON)
    rows = rows[attribution.host.feeding[timeline.lane[rows]]]
    rows = rows[holds(waits, timeline.start_ns[rows]) & holds(waits, timeline.end_ns[rows] - 1)]
    total = timeline.by_name(rows, timeline.end_ns[rows] - timeline.start_ns[rows])
    for i in np.flatnonzero(total).tolist():
        if re.search(r"^<|^nn\.Module|(torch|site-packages|python3?\.\d+)/", timeline.names[i]):
            total[i] = 0
    most = int(np.argmax(total)) if len(total) else 0
    return f"; most of it in {timeline.names[most]}" if len(total) and total[most] * 2 > waits.total else ""


def _saves(attribution: Attribution) -> Iterator[Evidence]:
    saves = attribution.saves
    if saves.recurring:
        yield _fact(
            attribution,
            "checkpoint_saves",
            "every step",
            "runs of copies to the host",
            status="unknown",
            detail="each step copies several tensors to the host and pauses: an evaluation on the CPU, or a save",
        )
    if not saves.count:
        return
    rate = link_rate(attribution)
    told = (
        f"{saves.inferred} of {saves.count} told by their copies alone"
        if saves.inferred
        else "named by a stack or a range"
    )
    yield _fact(
        attribution,
        "checkpoint_saves",
        f"{saves.count} saves",
        told,
        measured=attribution.spans("checkpoint").total,
        limit=int(saves.size_bytes / rate * 1e9) if rate and saves.size_bytes else None,
        unit="ns",
        status="slow",
        detail=(f"{units.size(saves.size_bytes)} copied out, " if saves.size_bytes else "")
        + f"{units.duration(saves.spans.total // saves.count)} each",
    )


def _dispatch(attribution: Attribution) -> Iterator[Evidence]:
    timeline = attribution.timeline
    launches, copies = attribution.host.calls.of(Call.LAUNCH, Call.GRAPH), attribution.host.calls.of(Call.COPY)
    charged = attribution.spans("launch").total
    if not len(launches):
        return
    kernels = timeline.rows(Kind.KERNEL)
    short = int(np.median(timeline.end_ns[kernels] - timeline.start_ns[kernels])) if len(kernels) else None
    yield _fact(
        attribution,
        "dispatch",
        "device idle a launch or copy",
        f"{len(launches):,} launches and {len(copies):,} copy calls",
        measured=charged // (len(launches) + len(copies)),
        limit=short,
        unit="ns",
        status="slow" if charged > 0.1 * attribution.window_ns else "ok",
        detail=None if short is None else f"the median kernel runs {units.duration(short)}",
    )


def _small_copies(attribution: Attribution) -> Iterator[Evidence]:
    timeline = attribution.timeline
    rows = timeline.rows(Kind.COPY)
    launches = len(attribution.host.calls.of(Call.LAUNCH, Call.GRAPH))
    for direction, where in (("HtoD", "host to device"), ("DtoH", "device to host")):
        ours = activities.named(timeline, rows, direction)
        small = ours[(timeline.size_bytes[ours] >= 0) & (timeline.size_bytes[ours] < LARGE_BYTES)]
        if not len(small) or len(small) < MANY_COPIES * launches or len(small) <= len(attribution.steps):
            continue
        yield _fact(
            attribution,
            "small_copies",
            where,
            f"{len(small):,} copies under {units.size(LARGE_BYTES)}",
            measured=int(timeline.size_bytes[small].mean()),
            unit="bytes",
            status="slow" if attribution.spans("launch").total > 0.1 * attribution.window_ns else "ok",
            detail=f"{len(small):,} copies to {launches:,} launches; each costs a call, and a wait if pageable",
        )


def _synchronisation(attribution: Attribution) -> Iterator[Evidence]:
    count = len(attribution.host.calls.of(Call.SYNC))
    waits = attribution.host.syncing
    if not count:
        return
    cost = intersect(subtract(waits, attribution.device.busy), attribution.spans("launch")).total
    yield _fact(
        attribution,
        "synchronisation",
        "device idle in a wait for it",
        f"{count:,} waits",
        measured=cost,
        unit="ns",
        status="slow" if cost > 0.05 * attribution.window_ns else "ok",
        detail=f"{units.duration(waits.total)} waited, {units.duration(cost)} of it with the device idle: the cost",
    )


def _named_calls(attribution: Attribution, what: str, cause: str, rows: I64) -> Iterator[Evidence]:
    """What a cause's time was spent in: the three calls, ranges or frames of `rows` that cover most of it."""
    spans, timeline = attribution.spans(cause), attribution.timeline
    if not spans.total:
        return
    inside = overlap(spans, timeline.start_ns[rows], timeline.end_ns[rows])
    total = timeline.by_name(rows, inside)
    top = [i for i in np.argsort(-total, kind="stable")[:3].tolist() if total[i]]
    yield _fact(
        attribution,
        what,
        timeline.names[top[0]] if top else "host",
        f"{int((inside > 0).sum()):,} calls",
        measured=spans.total,
        unit="ns",
        status="slow" if spans.total > 0.05 * attribution.window_ns else "ok",
        detail=", ".join(f"{timeline.names[i]} {units.duration(int(total[i]))}" for i in top) or None,
    )


def _compilation(attribution: Attribution) -> Iterator[Evidence]:
    timeline = attribution.timeline
    told = activities.named(timeline, timeline.rows(Kind.RANGE, Kind.OPERATOR, Kind.PYTHON), activities.COMPILER)
    rows = np.concatenate((told, attribution.host.calls.of(Call.LOAD)))
    yield from _named_calls(attribution, "compilation", "compile", rows)


def _hidden(attribution: Attribution) -> Iterator[Evidence]:
    unseen = intersect(attribution.device.hidden, attribution.spans("unknown")).total
    if not unseen:
        return
    where, detail = "launches without recorded kernels", "profile with CUDA activities and graph-level kernels to see"
    if not attribution.timeline.whole:
        where, detail = (
            "the file breaks off",
            "a profiler writes the device's events last, and they may be what is missing",
        )
    yield _fact(
        attribution,
        "graph_launches",
        where,
        "launch calls without a kernel of their correlation",
        measured=unseen,
        unit="ns",
        status="unknown",
        detail=f"the device may have been busy; {detail}",
    )


def _profiler(attribution: Attribution) -> Iterator[Evidence]:
    cost = attribution.spans("profiler").total
    if cost:
        yield _fact(
            attribution,
            "profiler_overhead",
            "device idle",
            "the recorder's own events",
            measured=cost,
            unit="ns",
            status="slow" if cost > 0.1 * attribution.window_ns else "ok",
        )


def _aside(attribution: Attribution) -> Iterator[Evidence]:
    for reason, count in attribution.timeline.set_aside.items():
        yield _fact(attribution, "set_aside", reason, "reading", measured=count, unit="", status="unknown")

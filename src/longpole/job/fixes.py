"""What to do about each cause, the cheapest first, and the most each can give by the part's limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from longpole.verdict import Effort, Fix, Share, Verdict

#: A cause that gives less than this part of the work is not worth a line, nor a fix that gives less than this factor.
WORTH = 0.1
LEAST_FACTOR = 1.03


class Remedy(NamedTuple):
    """One thing to do. `applies` looks at the evidence; `leaves` is the part of the removable time the limit leaves
    (0: all of it can go; None: not known, so no number is promised)."""

    cause: str
    do: str
    effort: Effort
    applies: Callable[[Verdict], bool] = lambda v: True
    leaves: Callable[[Verdict], float | None] = lambda v: 0.0


def _has(word: str) -> Callable[[Verdict], bool]:
    return lambda verdict: any(e.what == word and e.status != "ok" for e in verdict.evidence)


def _copies_at_limit(verdict: Verdict) -> float | None:
    """The part of the copying that is left at the link's rate: the measured rate over the limit, of the worst way."""
    rows = [e for e in verdict.evidence if e.what == "pageable_copies" and e.measured and e.limit]
    return max((float(e.measured or 0) / float(e.limit or 1) for e in rows), default=None)


def _wires_at_limit(verdict: Verdict) -> float | None:
    """What of the time on the wire is left at the rate that the links promise."""
    rows = [e for e in verdict.evidence if e.what == "collective_rate" and e.measured and e.limit]
    return max((float(e.measured or 0) / float(e.limit or 1) for e in rows), default=None)


def _saves_at_limit(verdict: Verdict) -> float | None:
    """What of the saving is left if only the copy out stays, at the link's rate."""
    rows = [e for e in verdict.evidence if e.what == "checkpoint_saves" and e.measured and e.limit]
    return max((float(e.limit or 0) / float(e.measured or 1) for e in rows), default=None)


def _unhidden(verdict: Verdict, cause: str) -> float | None:
    """What of a cause is left if it is hidden under the kernels, as far as they last."""
    moved = verdict.share(cause).amount
    kernels = verdict.share("gpu.compute").amount + verdict.share("gpu.memory").amount
    return max(0.0, 1 - kernels / moved) if moved else None


def _unknown(verdict: Verdict) -> float | None:
    return None


def _at(word: str, where: str) -> Callable[[Verdict], bool]:
    return lambda verdict: any(e.what == word and where in e.where and e.status != "ok" for e in verdict.evidence)


def _named_section(verdict: Verdict) -> str | None:
    """The code that the largest serial section lies in, if a stack or a range names it."""
    told = [e for e in verdict.evidence if e.what == "serial_sections"]
    return told[0].where if told and told[0].status == "slow" else None


def _in_float32(verdict: Verdict) -> bool:
    """Whether kernels that take a good part of the device's time say that they multiply float32."""
    table = verdict.tables.get("kernels")
    rows = table.rows if table else ()
    whole = sum(int(row[2] or 0) for row in rows)
    return any(re.search(_FLOAT32, str(row[0])) and int(row[2] or 0) * 5 > whole for row in rows)


_FLOAT32 = (
    r"(?i)sgemm|f32f32_f32|simt_s|ffma|_fp32|scudnn|implicit_convolve_s|wgrad_alg0_engine<float|dgrad_engine<float"
)
_HALF = "half precision where the numbers allow it: torch.autocast, or TF32 with set_float32_matmul_precision('high')"

REMEDIES: tuple[Remedy, ...] = (
    Remedy(
        "input", "raise num_workers of the DataLoader, with persistent_workers=True and prefetch_factor=4", "minutes"
    ),
    Remedy("input", "move decoding and augmentation to the GPU, or store the data decoded", "days"),
    Remedy("checkpoint", "save less often: the time goes in proportion", "seconds", leaves=_unknown),
    Remedy(
        "checkpoint",
        "save in the background: torch.distributed.checkpoint.async_save copies to pinned memory and writes meanwhile",
        "hours",
        leaves=_saves_at_limit,
    ),
    Remedy(
        "copy",
        "pin the host memory (pin_memory=True) and copy with non_blocking=True",
        "minutes",
        _at("pageable_copies", "host to device"),
        _copies_at_limit,
    ),
    Remedy(
        "copy",
        "copy out into a pinned buffer that is kept (empty_like(pin_memory=True).copy_(x, non_blocking=True))",
        "minutes",
        _at("pageable_copies", "device to host"),
        _copies_at_limit,
    ),
    Remedy(
        "copy",
        "copy on a side stream while the next batch computes",
        "hours",
        leaves=lambda v: _unhidden(v, "copy"),
    ),
    Remedy(
        "copy",
        "copy less: smaller types on the wire, results reduced on the device before they are read back",
        "hours",
        leaves=_unknown,
    ),
    Remedy(
        "launch",
        "put the many small copies to the device into one: gather them in pinned memory, copy once",
        "minutes",
        _at("small_copies", "host to device"),
        _unknown,
    ),
    Remedy(
        "launch",
        "read results back less often (.item(), .cpu(), printing a tensor): each waits until the queue is empty",
        "minutes",
        lambda v: _at("small_copies", "device to host")(v) or _has("synchronisation")(v),
        _unknown,
    ),
    Remedy(
        "launch",
        "fuse small kernels: torch.compile, fused optimizers (fused=True), foreach",
        "minutes",
        leaves=_unknown,
    ),
    Remedy("launch", "give the device more work a step: a larger batch", "minutes", leaves=_unknown),
    Remedy("launch", "capture the step in a CUDA graph, or torch.compile(mode='reduce-overhead')", "hours"),
    Remedy(
        "serial",
        "record with with_stack=True, or with py-spy, to see which function it is",
        "minutes",
        lambda v: _named_section(v) is None,
        _unknown,
    ),
    Remedy("serial", "move the work to another thread, a worker process, or the GPU itself", "hours"),
    Remedy("alloc", "keep the caching allocator's memory: no torch.cuda.empty_cache() in the step", "minutes"),
    Remedy(
        "alloc",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation and retries",
        "seconds",
        leaves=_unknown,
    ),
    Remedy(
        "compile",
        "compile once: mark_dynamic or padding against recompilation, and a cache that stays (TORCHINDUCTOR_CACHE_DIR)",
        "hours",
    ),
    Remedy(
        "startup", "trace after a few warm-up steps if the steady state is the question", "seconds", leaves=_unknown
    ),
    Remedy("startup", "keep the process alive over jobs, so that contexts and code are loaded once", "hours"),
    Remedy(
        "network.imbalance", "even out the ranks' work: find out why the late rank is late and mend it there", "hours"
    ),
    Remedy(
        "network.collective",
        "overlap it: larger gradient buckets started earlier, FSDP prefetch, a separate stream",
        "hours",
        leaves=lambda v: _unhidden(v, "network.collective"),
    ),
    Remedy(
        "network.collective",
        "the links promise more than they carry: check the topology (nvidia-smi topo -m) and NCCL_DEBUG=INFO",
        "hours",
        _has("collective_rate"),
        _wires_at_limit,
    ),
    Remedy(
        "network.collective",
        "send less: bf16 gradients, gradient accumulation, sharding that fits the links",
        "hours",
        leaves=_unknown,
    ),
    Remedy(
        "network",
        "record every rank: one trace can't tell the wire from waiting for a late rank",
        "minutes",
        _has("missing_ranks"),
        _unknown,
    ),
    Remedy("gpu.compute", _HALF, "minutes", _in_float32, _unknown),
    Remedy("gpu.compute", "fuse: torch.compile, scaled_dot_product_attention", "hours", leaves=_unknown),
    Remedy("cpu", "more cores, or this work on a GPU", "days", leaves=_unknown),
    Remedy("disk", "read and write in another thread, or nearer: local disk, page cache", "hours"),
    Remedy("metadata", "pack the small files: tar shards, Parquet, WebDataset", "days"),
    Remedy("network.io", "fetch ahead in another thread, or keep a local copy", "hours"),
    Remedy("wait", "see what is waited for: the Python frames in the evidence name it", "hours", leaves=_unknown),
    Remedy(
        "unknown",
        "record what ran: CUDA activities with the kernels of graphs, and all threads with with_stack=True",
        "minutes",
        leaves=_unknown,
    ),
)


def fixes_of(verdict: Verdict, culprit: Culprit | None = None) -> tuple[Fix, ...]:
    """The remedies for every cause that is worth it: the largest cause first, within one the cheapest first.

    Where a late rank is known, the remedy for waiting for it is whatever helps that rank.
    """
    if not verdict.answered:
        return tuple(_for(verdict, verdict.share("unknown")))
    found: list[Fix] = []
    for share in verdict.ranked:
        if share.removable < WORTH * verdict.work:
            continue
        if share.cause == "network.imbalance" and culprit is not None:
            theirs = Share(cause=culprit.cause, amount=share.amount, removable=share.removable)
            for fix in _for(verdict, theirs):
                do = f"on {culprit.rank}, which is late: {fix.do}"
                found.append(Fix(cause=share.cause, do=do, effort=fix.effort, at_most=fix.at_most))
        found.extend(_for(verdict, share))
    return tuple(found)


class Culprit(NamedTuple):
    """The rank that most of the waiting is for, and what it was doing meanwhile."""

    rank: str
    cause: str


_ORDER = {"seconds": 0, "minutes": 1, "hours": 2, "days": 3, "weeks": 4}


def _for(verdict: Verdict, share: Share) -> Iterator[Fix]:
    family = share.cause.split(".")[0] if share.cause.startswith("input") else share.cause
    section = _named_section(verdict) if family == "serial" else None
    if section is not None:
        yield Fix(cause=share.cause, do=f"look at what {section} does or waits for there", effort="minutes")
    for remedy in sorted((r for r in REMEDIES if r.cause == family), key=lambda r: _ORDER[r.effort]):
        if not remedy.applies(verdict):
            continue
        left = remedy.leaves(verdict)
        rest = None if left is None else verdict.work - share.high * (1 - min(left, 1.0))
        at_most = verdict.work / rest if rest and rest > 0 else None
        if at_most is None or at_most >= LEAST_FACTOR:
            yield Fix(cause=share.cause, do=remedy.do, effort=remedy.effort, at_most=at_most)

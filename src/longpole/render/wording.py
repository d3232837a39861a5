"""The sentences of a verdict: what binds, what it would give, why nothing binds. Shared by every renderer.

It chooses words for numbers that the verdict holds; it measures and judges nothing. Names in a verdict come from
traces and are hostile until they have gone through `plain`.
"""

from __future__ import annotations

import math
import unicodedata
from typing import NamedTuple

from longpole import units
from longpole.units import FACTOR_SAID_EXACTLY
from longpole.verdict import HEALTHY, LEAST_WORK, Evidence, Fix, Share, Verdict


class Phrase(NamedTuple):
    """How a cause is spoken of: "61 % of the wall-clock <charged>", "<removing> gives 2.6x"."""

    charged: str
    removing: str


#: In the order of the chain; the rows of a page follow it.
PHRASES: dict[str, Phrase] = {
    "queue": Phrase("is spent in the scheduler's queue", "starting at once"),
    "startup": Phrase("goes into starting up", "an instant start"),
    "compile": Phrase("goes into compiling kernels", "compiling nothing"),
    "input": Phrase("waits for the next batch", "feeding the GPU"),
    "input.cpu": Phrase("waits for the next batch, which its workers compute", "feeding the GPU"),
    "input.disk": Phrase("waits for the next batch, which is read from a disk", "feeding the GPU"),
    "input.metadata": Phrase("waits for the next batch while files are opened and looked up", "feeding the GPU"),
    "input.network": Phrase("waits for the next batch, which comes over a socket", "feeding the GPU"),
    "checkpoint": Phrase("goes into saving checkpoints", "saving for free"),
    "disk": Phrase("is blocked in reads and writes of files", "instant file reads and writes"),
    "metadata": Phrase("is blocked in opening and looking up files", "instant file look-ups"),
    "network.io": Phrase("waits on a socket", "an instant network service"),
    "network": Phrase("is communication that nothing hides", "hiding the communication"),
    "network.collective": Phrase("is communication on the wire that nothing hides", "hiding the communication"),
    "network.imbalance": Phrase("waits for a late rank", "bringing the late rank up to the others"),
    "copy": Phrase("is copying that nothing hides", "hiding the copies"),
    "launch": Phrase("has the GPU wait for the host to dispatch kernels", "instant dispatch"),
    "serial": Phrase("waits for one host thread", "taking the serial section away"),
    "alloc": Phrase("is blocked in device memory allocation", "allocating nothing"),
    "gpu.compute": Phrase("is kernels at work", "infinitely fast kernels"),
    "gpu.memory": Phrase("is kernels at work, bound by device memory", "infinitely fast device memory"),
    "cpu": Phrase("is CPU code at work", "infinitely fast CPU code"),
    "memory": Phrase("is CPU code that waits on memory", "infinitely fast memory"),
    "wait": Phrase("waits for a lock, a sleep or another process", "not waiting"),
    "profiler": Phrase("is the profiler itself", "not measuring"),
    "unknown": Phrase("was not seen", "seeing more"),
}
#: The efforts of fixes, the cheapest first.
EFFORTS = ("seconds", "minutes", "hours", "days", "weeks")
#: What makes people buy a faster GPU; the answer says what it would give where something else binds.
_KERNELS = ("gpu.compute", "gpu.memory")
#: A job is called healthy where no other link can give more than this part of the work.
_LITTLE = 0.1
_LAST = {"profiler": 1, "unknown": 2}
_SETTLES = {
    "job": "record CPU and CUDA activities together, with Python functions (with_stack=True), and give every rank.",
    "rank": "record CPU and CUDA activities together, with Python functions (with_stack=True), and give every rank.",
}


def phrase(cause: str) -> Phrase:
    """The words for a cause; plain ones for a cause that has none of its own."""
    return PHRASES.get(cause, Phrase(f"is charged to {plain(cause)}", f"removing {plain(cause)}"))


def _said(verdict: Verdict, share: Share) -> Phrase:
    """The words for a cause of this verdict; a job without a GPU is not told of one."""
    words = phrase(share.cause)
    if any(s.cause in (*_KERNELS, "launch") and s.amount for s in verdict.shares) or not verdict.share("cpu").amount:
        return words
    return Phrase(*(text.replace("the GPU", "the job") for text in words))


def chain(verdict: Verdict) -> tuple[Share, ...]:
    """What was charged at all, in the order of the chain; causes of no known place before `profiler` and `unknown`."""
    place = {word: i for i, word in enumerate(PHRASES)}
    charged = [share for share in verdict.shares if share.amount > 0]
    return tuple(sorted(charged, key=lambda s: (_LAST.get(s.cause, 0), place.get(s.cause, len(place)))))


def fraction(verdict: Verdict, share: Share) -> float:
    """The share as a fraction of the window, 0 where the window is empty."""
    return share.amount / verdict.window.amount if verdict.window.amount else 0.0


def percent(verdict: Verdict, share: Share) -> str:
    """The share of the window as people read it: "61 %"."""
    return units.percent(fraction(verdict, share))


def amount(value: int, unit: str) -> str:
    """An amount of the window in its unit: "7.51 s", "8.60 GB", "1,200 tokens"."""
    if unit == "ns":
        return units.duration(value)
    if unit in ("bytes", "B"):
        return units.size(value)
    return f"{value:,} {plain(unit)}".rstrip()


def ceiling(verdict: Verdict, share: Share) -> str:
    """The speed-up without this link: "1.28x", a range where the trace carries no better, "more than 5x"."""
    bounds = [math.inf if times is None else times for times in verdict.ceiling_range(share)]
    low, high = (units.factor(times) for times in bounds)
    if low == high:
        return units.factor(bounds[0] if bounds[0] > FACTOR_SAID_EXACTLY else verdict.ceiling_of(share))
    over = verdict.ceiling_range(share)[1]
    if over is None or over > FACTOR_SAID_EXACTLY:
        return f"{low} - over {FACTOR_SAID_EXACTLY:g}x"
    return f"{low} - {high}"


def cap(verdict: Verdict, share: Share) -> str:
    """The most that speeding up everything else can give: "1.64x", "20x"; it is a plain ratio of what was charged."""
    times = verdict.caps_at(share)
    if times is None or times >= 100:
        return "over 100x"
    if times <= FACTOR_SAID_EXACTLY:
        return units.factor(times)
    return f"{times:.0f}x" if times >= 9.95 else f"{times:.1f}x"


def gain(fix: Fix) -> str:
    """What a fix can give by the part's limit; empty where that is not known."""
    if fix.at_most is None:
        return ""
    return f"{'' if fix.at_most > FACTOR_SAID_EXACTLY else 'at most '}{units.factor(fix.at_most)}"


def answer(verdict: Verdict) -> str:
    """The first sentence: what binds, or why nothing does."""
    leader, unseen = verdict.leader, verdict.share("unknown")
    if leader is None or not verdict.answered:
        measuring = verdict.share("profiler")
        if measuring.amount > unseen.amount and verdict.work < LEAST_WORK * verdict.window.amount:
            return f"Not enough was seen: {percent(verdict, measuring)} of {_whole(verdict)} is the profiler itself."
        seen = "" if leader is None else f"; the largest link that was seen, {plain(leader.cause)}, is smaller"
        if unseen.amount == 0:
            return "Nothing binds: no link of the chain has time to give back."
        return f"Not enough was seen: {percent(verdict, unseen)} of {_whole(verdict)} is unknown{seen}."
    if verdict.tied:
        first, second = verdict.ranked[:2]
        return f"No single link binds: {_named(verdict, first)} and {_named(verdict, second)} are too close to call."
    charged = _said(verdict, leader).charged
    unsure = "; whether it computes, waits or saves, the trace does not show" if _silent(verdict, leader) else ""
    return f"{plain(leader.cause)} binds: {percent(verdict, leader)} of {_whole(verdict)} {charged}{unsure}."


def consequence(verdict: Verdict) -> str:
    """The second sentence: what removing the link gives, and what the rest gives; or what would settle the question."""
    leader = verdict.leader
    if leader is None or not verdict.answered:
        return _settle(verdict) if verdict.share("unknown").amount else ""
    if verdict.tied:
        first, second = verdict.ranked[:2]
        return _sentence(f"{_gives(verdict, first)}, {_gives(verdict, second)}; fix the cheaper one, then look again.")
    if leader.cause in HEALTHY and _alone(verdict, leader):
        return _healthy(verdict, leader)
    other = _rival(verdict, leader)
    if other is None:
        return _sentence(f"{_gives(verdict, leader)}.")
    return _sentence(f"{_gives(verdict, leader)}; even {_would(verdict, other)}.")


def _silent(verdict: Verdict, leader: Share) -> bool:
    """Whether a serial section is mostly silence: no stack or range says what the thread did."""
    told = [e for e in verdict.evidence if e.what == "serial_sections" and e.measured is not None]
    unsure = sum(float(e.measured or 0) for e in told if e.status == "unknown")
    return leader.cause == "serial" and unsure * 2 >= sum(float(e.measured or 0) for e in told)


def straggler(verdict: Verdict) -> str | None:
    """Who is late and what it was doing, where several ranks were seen."""
    late = [e for e in verdict.evidence if e.what == "straggler" and e.status != "not applicable"]
    if not late or verdict.share("network.imbalance").removable * 10 < verdict.work:
        return None
    who, doing = plain(late[0].where), plain(late[0].detail or "")
    if len(late) > 1 and float(late[1].measured or 0) * 2 > float(late[0].measured or 0):
        return _sentence(f"{who} and {plain(late[1].where)} take turns being late.")
    return _sentence(f"{who} is late: {doing}" if doing else f"{who} is late").rstrip(".") + "."


def measured(item: Evidence) -> str:
    """An evidence's number and its limit: "9.1 of 55 GB/s", "26.1 ms", "not measured"."""
    if item.measured is None or not math.isfinite(item.measured):
        return "" if item.status in ("ok", "not applicable") else "not measured"
    if item.limit is None or not math.isfinite(item.limit):
        return _quantity(item.measured, item.unit)
    shown, limit = _quantity(item.measured, item.unit), _quantity(item.limit, item.unit)
    if item.unit == "ns":  # a limit of time is a floor, not a whole that the measured is part of
        return f"{shown} against {limit}"
    number, _, unit = shown.rpartition(" ")
    if number and limit.endswith(f" {unit}"):
        return f"{number} of {limit}"
    return f"{shown} of {limit}"


def about(item: Evidence) -> str:
    """An evidence in a line: where, how much, what else is known."""
    head = ": ".join(part for part in (plain(item.where), measured(item)) if part)
    return "; ".join(part for part in (head, plain(item.detail or "")) if part)


def plain(text: str) -> str:
    """Text that can be shown: control characters, direction overrides and broken Unicode as visible escapes."""
    if text.isprintable():
        return text
    return "".join(c if c == " " or c.isprintable() else _escape(c) for c in text)


def _escape(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _quantity(value: float | int, unit: str) -> str:
    if unit == "ns":
        return units.duration(round(value))
    if unit in ("bytes", "B"):
        return units.size(round(value))
    if unit in ("bytes/s", "B/s"):
        return units.rate(value)
    if unit == "x":
        return units.factor(value)
    if unit == "fraction":
        return units.percent(value)
    if unit == "%":
        return units.percent(value / 100)
    number = f"{value:,}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.3g}"
    return f"{number} {plain(unit)}".rstrip()


def _whole(verdict: Verdict) -> str:
    if verdict.window.unit != "ns":
        return f"the {plain(verdict.window.unit)}"
    return "the ranks' time" if len(verdict.parts) > 1 else "the wall-clock"


def _named(verdict: Verdict, share: Share) -> str:
    return f"{plain(share.cause)} ({percent(verdict, share)})"


def _gives(verdict: Verdict, share: Share) -> str:
    text = ceiling(verdict, share)
    exact = not text.startswith("more than") and " - " not in text
    removing = _said(verdict, share).removing
    gives = "give" if removing.startswith(("infinitely fast kernels", "instant file")) else "gives"
    return f"{removing} {gives} {'up to ' if exact else ''}{text}"


def _would(verdict: Verdict, share: Share) -> str:
    text = ceiling(verdict, share)
    return f"{_said(verdict, share).removing} would give {'nothing' if text == units.factor(1.0) else text}"


def _rival(verdict: Verdict, leader: Share) -> Share | None:
    """What to compare with: faster kernels, because that is what can be bought; otherwise the runner-up."""
    kernels = [s for s in verdict.ranked if s.cause in _KERNELS and s.amount and s.cause != leader.cause]
    if kernels:
        return kernels[0]
    return None if verdict.runner_up is None else verdict.share(verdict.runner_up)


def _alone(verdict: Verdict, leader: Share) -> bool:
    """Whether no other link could give much, and little was not seen: only then is a job healthy."""
    others = [s for s in verdict.ranked if s.cause not in HEALTHY]
    most = max((s.high for s in others), default=0)
    return most <= _LITTLE * verdict.work and verdict.share("unknown").amount <= _LITTLE / 2 * verdict.window.amount


def _healthy(verdict: Verdict, leader: Share) -> str:
    part = "CPU" if leader.cause == "cpu" else "GPU"
    says = f"the job is healthy: it runs at the pace of the {part}"
    others = [s for s in verdict.ranked if s.cause not in HEALTHY and s.removable > 0]
    near = [e for e in verdict.evidence if e.what == "kernels" and e.limit is not None and e.measured is not None]
    how_near = f", at {measured(near[0])}" if near else ""
    text = _sentence(f"{says}{how_near}. ") + _sentence(_would(verdict, leader))
    return f"{text}; {_would(verdict, others[0])}." if others else f"{text}."


def _settle(verdict: Verdict) -> str:
    told = [plain(fix.do) for fix in verdict.fixes if fix.cause == "unknown"]
    blind = [f"{plain(e.what)} ({plain(e.detail)})" for e in verdict.evidence if e.status == "unknown" and e.detail]
    settles = f"{told[0].rstrip('.')}." if told else _SETTLES.get(verdict.subject.kind, "")
    lines = [f"Not measured: {', '.join(blind[:3])}."] if blind else []
    return " ".join(lines + ([f"To settle it: {settles}"] if settles else []))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

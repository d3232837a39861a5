"""The words every wing ends in: shares, evidence, fixes, and the verdict they add up to.

This is the ground floor: it imports nothing of longpole. It does not measure, judge the world or draw;
it only keeps the arithmetic of Amdahl in one place. Derived values (the binding cause, ceilings, the
exit status) are computed from the stored ones, so that they can never disagree with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

import msgspec

SCHEMA = "longpole.verdict/1"

Status = Literal["ok", "slow", "bad", "unknown", "not applicable"]
Effort = Literal["seconds", "minutes", "hours", "days", "weeks"]
Cell = str | int | float | None

#: Causes that can be charged but never bind: nobody can fix what was not seen, or the measuring itself.
UNBINDABLE = frozenset({"unknown", "profiler"})
#: Less of the window than this beside the profiler's own share says nothing of the job.
LEAST_WORK = 0.05
#: Causes under which the job is healthy: it runs at the rate of the part that was paid for.
HEALTHY = frozenset({"gpu.compute", "gpu.memory", "cpu"})


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A link of the chain, as `longpole explain` tells it."""

    word: str
    title: str
    charged_when: str
    measured: str
    fixed: str


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How much of the window one cause was charged with, and how much would go with it.

    `amount`, `removable` and its bounds are integers in the window's unit (ns, tokens, bytes);
    0 <= removable_low <= removable <= removable_high <= amount.
    """

    cause: str
    amount: int
    removable: int
    removable_low: int | None = None
    removable_high: int | None = None

    @property
    def low(self) -> int:
        """The least that removing the cause gives, in the window's unit."""
        return self.removable if self.removable_low is None else self.removable_low

    @property
    def high(self) -> int:
        """The most that removing the cause gives, in the window's unit."""
        return self.removable if self.removable_high is None else self.removable_high


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One measured fact. `measured` and `limit` are in `unit`; None is "not known", never 0."""

    what: str
    where: str
    measured: float | int | None = None
    limit: float | int | None = None
    unit: str = ""
    status: Status = "ok"
    source: str = ""
    detail: str | None = None


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """What to do about a cause; `at_most` is the speed-up it can give by the part's limit, None if unknown."""

    cause: str
    do: str
    effort: Effort
    at_most: float | None = None


class Column(msgspec.Struct, frozen=True):
    """A column of a table: its name and the unit of its cells ('' for words and counts)."""

    name: str
    unit: str = ""


class Table(msgspec.Struct, frozen=True):
    """Rows of cells under named columns (steps, a copy matrix, the choices of a plan)."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Subject(msgspec.Struct, frozen=True):
    """What the verdict is about: its kind (`job`, `rank`, `host`, ...) and its name."""

    kind: str
    name: str


class Window(msgspec.Struct, frozen=True):
    """What the shares add up to, exactly."""

    amount: int
    unit: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: shares that add up to the window, evidence, fixes, and the parts it was made from.

    `noise` is the measurement's own uncertainty of a difference between two removable amounts, in the
    window's unit. Units of money are decimal strings.
    """

    subject: Subject
    window: Window
    shares: tuple[Share, ...]
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    noise: int = 0
    tables: dict[str, Table] = {}
    parts: tuple[Verdict, ...] = ()

    #: Set by the package's front door, so that a notebook can show a verdict without this floor knowing a renderer.
    notebook: ClassVar[Callable[[Verdict], str] | None] = None

    def share(self, cause: str) -> Share:
        """The share of one cause; an empty one if it was not charged."""
        for share in self.shares:
            if share.cause == cause:
                return share
        return Share(cause=cause, amount=0, removable=0)

    @property
    def work(self) -> int:
        """The window less what the measuring itself cost: what a run without the profiler would take."""
        return self.window.amount - self.share("profiler").amount

    @property
    def ranked(self) -> tuple[Share, ...]:
        """The shares that can bind, by what removing them gives, the largest first."""
        able = [s for s in self.shares if s.cause not in UNBINDABLE]
        return tuple(sorted(able, key=lambda s: (-s.removable, -s.amount, s.cause)))

    @property
    def leader(self) -> Share | None:
        """The share with the most to give, whether or not the evidence suffices to call it binding."""
        return self.ranked[0] if self.ranked and self.ranked[0].removable > 0 else None

    @property
    def answered(self) -> bool:
        """Whether enough was seen: more than the measuring itself, and not more unseen than the first link can give."""
        leader = self.leader
        seen = self.work >= LEAST_WORK * self.window.amount
        return leader is not None and seen and leader.removable > self.share("unknown").amount

    @property
    def tied(self) -> bool:
        """Whether the first two links lie within the measurement's own noise."""
        ranked = self.ranked
        if len(ranked) < 2 or ranked[1].removable == 0:
            return False
        return ranked[0].removable - ranked[1].removable <= self.noise

    @property
    def binding(self) -> str | None:
        """The cause that sets the pace; None where no single one does or too little was seen."""
        leader = self.leader
        if leader is None or not self.answered or self.tied:
            return None
        return leader.cause

    @property
    def runner_up(self) -> str | None:
        """The cause that would bind next; None if there is no other."""
        ranked = self.ranked
        return ranked[1].cause if len(ranked) > 1 and ranked[1].removable > 0 else None

    @property
    def ceiling(self) -> float | None:
        """The most that removing the binding cause can give, as a factor; None where nothing binds."""
        return None if self.binding is None else self.ceiling_of(self.share(self.binding))

    def ceiling_of(self, share: Share) -> float | None:
        """Work / (work - removable): the speed-up if the cause were infinitely fast; None for "without bound"."""
        return _factor(self.work, self.work - share.removable)

    def ceiling_range(self, share: Share) -> tuple[float | None, float | None]:
        """The speed-up by the least and the most that could be removed; None for "without bound"."""
        return _factor(self.work, self.work - share.low), _factor(self.work, self.work - share.high)

    def caps_at(self, share: Share) -> float | None:
        """Work / charged: the most that speeding up everything else can give; None if nothing was charged."""
        return _factor(self.work, share.amount)

    @property
    def exit_code(self) -> int:
        """0 answered, 3 where something that was needed was not measured (1 is a gate's, 2 an error's)."""
        return 0 if self.answered else 3

    def check(self) -> None:
        """Raise AssertionError if the shares break the rules of the house; tests call this on every verdict."""
        assert sum(s.amount for s in self.shares) == self.window.amount, "shares do not add up to the window"
        assert len({s.cause for s in self.shares}) == len(self.shares), "a cause was charged twice"
        for s in self.shares:
            assert 0 <= s.low <= s.removable <= s.high <= s.amount, f"{s.cause}: removable is out of bounds"
        for part in self.parts:
            part.check()

    def _repr_html_(self) -> str:
        draw = type(self).notebook
        return f"<pre>{self.binding}</pre>" if draw is None else draw(self)


def _factor(whole: int, rest: int) -> float | None:
    return whole / rest if rest > 0 else None

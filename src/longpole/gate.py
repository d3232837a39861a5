"""Gates for CI: a condition on a verdict that makes `--fail-if` end with status 1.

`input>20%` holds when the input causes together were charged with more than 20 % of the window, `copy>=5ms` when
copies were charged with at least 5 ms, `ceiling>2` when removing the binding cause gives more than 2x. A word covers
itself and everything below its dots: `input` covers `input.cpu`. A gate judges what was measured; that too little was
measured is the verdict's own exit status.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Callable, Collection
from fractions import Fraction
from typing import Literal

import msgspec

from longpole import units
from longpole.errors import UsageError
from longpole.verdict import Verdict

#: The word that gates the verdict's own ceiling rather than a cause.
CEILING = "ceiling"

Measure = Literal["fraction", "ns", "factor"]

_FORM = re.compile(r"\s*([\w.]+)\s*(>=|<=|>|<)\s*(\S.*?)\s*")
_NUMBER = re.compile(r"(\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})\s*(%|x?)")
_HOLDS: dict[str, Callable[[float | Fraction, Fraction], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
#: Causes that some sources can't tell from another one (or, None, don't show at all).
_TOLD_WITH = {
    "queue": None,
    "memory": None,
    "input.cpu": "input",
    "input.disk": "input",
    "input.metadata": "input",
    "input.network": "input",
    "network.collective": "network",
    "network.imbalance": "network",
    "gpu.memory": "gpu.compute",
}
_EXAMPLES = "such as 'input>20%', 'copy>=5ms' or 'ceiling>2'"


class Gate(msgspec.Struct, frozen=True):
    """One condition: `word` `sign` `limit`; the limit is a fraction of the window, ns, or a speed-up, by `measure`."""

    text: str
    word: str
    sign: str
    limit: Fraction
    measure: Measure


def parse_gate(text: str, words: Collection[str]) -> Gate:
    """Read a gate; `words` are the causes that exist. Raises UsageError where it could never hold or makes no sense."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise UsageError(f"--fail-if {text!r} is no gate: write a cause, a sign and a limit, {_EXAMPLES}")
    word, sign, limit = match.groups()
    if word != CEILING and not any(_covers(word, known) for known in words):
        near = difflib.get_close_matches(word, [*words, CEILING], n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "`longpole explain` lists the causes"
        raise UsageError(f"--fail-if {text!r}: {word!r} is no cause; {hint}")
    value, measure = _limit(text, word, limit)
    return Gate(text.strip(), word, sign, value, measure)


def failure(gate: Gate, verdict: Verdict) -> str | None:
    """What to say where the gate holds on the verdict, None where it does not. Raises UsageError on other units."""
    value, shown = _ceiling(verdict) if gate.measure == "factor" else _charged(gate, verdict)
    if value is None or not _HOLDS[gate.sign](value, gate.limit):
        return None
    return f"{gate.text} holds: {gate.word} is {shown}"


def unmeasured(gate: Gate, verdict: Verdict) -> str | None:
    """What to say where a gate that does not hold asks for what this verdict can't tell, None where it can."""
    for word, whole in _TOLD_WITH.items():
        if not _covers(gate.word, word) or verdict.share(word).amount:
            continue
        if whole is None:
            return f"{gate.text} was not measured: a trace does not show {word}"
        if not _covers(gate.word, whole) and verdict.share(whole).amount:
            return f"{gate.text} was not measured: {whole} was not told apart in this trace"
    return None


def _ceiling(verdict: Verdict) -> tuple[float | None, str]:
    """The verdict's ceiling; where it is without bound every number is below it, where nothing binds there is none."""
    if verdict.binding is None:
        return None, ""
    ceiling = verdict.ceiling
    return math.inf if ceiling is None else ceiling, units.factor(ceiling)


def _charged(gate: Gate, verdict: Verdict) -> tuple[Fraction, str]:
    charged = sum(share.amount for share in verdict.shares if _covers(gate.word, share.cause))
    if gate.measure == "fraction":
        fraction = Fraction(charged, verdict.window.amount or 1)
        return fraction, units.percent(float(fraction))
    if verdict.window.unit != "ns":
        raise UsageError(f"--fail-if {gate.text!r}: this verdict counts {verdict.window.unit}, not time; use a %")
    return Fraction(charged), units.duration(charged)


def _covers(word: str, cause: str) -> bool:
    return cause == word or cause.startswith(word + ".")


def _limit(text: str, word: str, limit: str) -> tuple[Fraction, Measure]:
    match = _NUMBER.fullmatch(limit)
    if word == CEILING:
        if match is None or match[2] == "%":
            raise UsageError(f"--fail-if {text!r}: a ceiling is a speed-up; write 'ceiling>2' or 'ceiling>2.5x'")
        return Fraction(match[1]), "factor"
    if match is None:
        try:
            return Fraction(units.parse_duration(limit)), "ns"
        except UsageError as error:
            raise UsageError(f"--fail-if {text!r}: {error}") from None
    if match[2] != "%":
        raise UsageError(f"--fail-if {text!r}: {limit!r} of what? Write a share or a time, {_EXAMPLES}")
    fraction = Fraction(match[1]) / 100
    if fraction > 1:
        raise UsageError(f"--fail-if {text!r}: a share is at most 100 %")
    return fraction, "fraction"

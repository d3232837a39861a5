"""The events of a Kineto or Chrome trace as structs: the few fields that matter, and what they mean as numbers.

The phase picks the struct, so that flow events, instants and counters cost no more than skipping their text.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from longpole.timeline.columns import I64

#: Above this many µs (102 days) a float64 no longer tells one nanosecond from the next.
_EXACT_US = 2.0**43
#: Times and durations beyond this (the year 2065) are none. The sum of a base, a start and a duration fits int64.
MOST_NS = 3 * 10**18
_MOST_US = MOST_NS // 1000
_DECIMAL = re.compile(rb"([-+]?)(\d{1,20})(?:\.(\d*))?")
_INTEGER = re.compile(r"[-+]?\d{1,20}|0[xX][0-9a-fA-F]{1,16}")


class Args(msgspec.Struct, gc=False, frozen=True):
    """What an event says of itself beyond when and where."""

    correlation: Any = -1
    device: Any = None
    stream: Any = None
    bytes: Any = -1
    size: Any = -1
    direction: Any = None
    external_id: Any = msgspec.field(default=None, name="External id")
    collective: Any = msgspec.field(default=None, name="Collective name")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=-1, name="Group size")
    in_elements: Any = msgspec.field(default=-1, name="In msg nelems")
    out_elements: Any = msgspec.field(default=-1, name="Out msg nelems")
    dtype: Any = None


NO_ARGS = Args()


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An interval. Its fields are whatever the file holds in their place; times are µs."""

    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: Args | None = NO_ARGS


class Begin(msgspec.Struct, gc=False, tag_field="ph", tag="B"):
    """The first half of an interval; `ts` is the text of a number, since these are rare and must be exact."""

    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw()
    args: Args | None = NO_ARGS


class End(msgspec.Struct, gc=False, tag_field="ph", tag="E"):
    """The second half of the interval that began last on this thread."""

    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw()


class Label(msgspec.Struct, gc=False):
    """The name of a process or thread."""

    name: Any = None


class Metadata(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """Names of processes and threads."""

    name: Any = None
    pid: Any = None
    tid: Any = None
    args: Label | None = None


class Stamps(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """The times of a `Complete` as they are written."""

    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()


def _without_fields(phases: str) -> list[Any]:
    return [
        msgspec.defstruct(f"Passed_{ord(phase)}", [], gc=False, tag_field="ph", tag=phase, module=__name__)
        for phase in phases
    ]


#: Flows, instants, counters, asynchronous, object and memory events: phases that hold no interval.
_PHASES: list[Any] = _without_fields("stfiIRCbenSTpFNODvVcPa(),=")
EVENT: Any = reduce(or_, _PHASES, Complete | Metadata | Begin | End)
_TIMES: Any = reduce(or_, [*_without_fields("MBE"), *_PHASES], Stamps)
_times = msgspec.json.Decoder(GenericAlias(list, (_TIMES | None,)))


def exact_ns(us: list[Any]) -> I64 | None:
    """Times in µs as int64 ns, exactly; None where one is not a number or needs more digits than a float has."""
    if not us:
        return np.empty(0, np.int64)
    try:
        numbers: NDArray[Any] = np.array(us)
    except (ValueError, OverflowError):  # lists among them, or digits without end
        return None
    if numbers.ndim > 1:
        return None
    if numbers.dtype.kind == "i":
        in_range = numbers.min() >= -_MOST_US and numbers.max() <= _MOST_US
        return numbers.astype(np.int64) * 1000 if in_range else None
    if numbers.dtype.kind != "f" or not (abs(numbers) < _EXACT_US).all():
        return None
    # The part below a microsecond is small, so scaling it by itself loses nothing.
    whole = np.floor(numbers)
    ns: I64 = whole.astype(np.int64) * 1000 + np.rint((numbers - whole) * 1000).astype(np.int64)
    return ns


def written_ns(text: bytes) -> int | None:
    """One time in µs, as it is written in the file (a number, or a number in quotes), as ns; None if it is none."""
    text = text.strip(b'" \t\r\n')
    if plain := _DECIMAL.fullmatch(text):
        sign, whole, fraction = plain[1], plain[2], (plain[3] or b"").ljust(4, b"0")
        ns = int(whole) * 1000 + int(fraction[:3]) + (fraction[3:4] >= b"5")
        ns = -ns if sign == b"-" else ns
    else:
        try:
            number = Decimal(text.decode("ascii", "replace"))
        except InvalidOperation:
            return None
        if not number.is_finite() or abs(number) > _MOST_US:
            return None
        ns = round(number * 1000)
    return ns if abs(ns) <= MOST_NS else None


def written_times(text: bytes) -> list[tuple[int | None, int | None]]:
    """Start and duration in ns of each `Complete` in the text of a list, from their digits."""
    events = _times.decode(b"[%b]" % text)
    return [(written_ns(bytes(e.ts)), written_ns(bytes(e.dur))) for e in events if type(e) is Stamps]


def integer(value: Any, default: int = -1) -> int:
    """A whole number that fits int64, however the file spells it; otherwise the default."""
    if isinstance(value, str):
        value = value.strip()
        if not _INTEGER.fullmatch(value):
            return default
        value = int(value, 0) if value[1:2] in ("x", "X") else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return default
    return int(value) if -(2**63) <= value < 2**63 else default


def integers(values: list[Any]) -> I64:
    """As `integer`, for many."""
    if not values:
        return np.empty(0, np.int64)
    try:
        numbers: NDArray[Any] = np.array(values)
    except (ValueError, OverflowError):
        numbers = np.empty(0, object)
    if numbers.dtype.kind == "i" and numbers.ndim == 1:
        return numbers.astype(np.int64, copy=False)
    return np.fromiter(map(integer, values), np.int64, len(values))

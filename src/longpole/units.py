"""Numbers with units, as people read and write them.

Formatting is for people: three figures, one unit. Parsing is exact: "0.1 ms" is 100000 ns, not a float near it.
It does not judge, and it knows no locale: a point is a decimal point.
"""

from __future__ import annotations

import re
from fractions import Fraction

from longpole.errors import UsageError

_DURATIONS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_NS_OF = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro sign
    "μs": 10**3,  # U+03BC, the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_BYTES = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_BYTES_OF = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "pb": 10**15,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
}
_QUANTITY = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})\s*([a-zA-Zµμ]+)\s*", re.ASCII)

#: Above this a ceiling is an extrapolation from a small remainder: its digits would be noise.
FACTOR_SAID_EXACTLY = 5.0


def duration(ns: int) -> str:
    """Nanoseconds for people: 850 -> "850 ns", 12_300_000 -> "12.3 ms", 90 s -> "1 min 30 s"."""
    if ns < 0:
        return "-" + duration(-ns)
    if ns < 1_000:
        return f"{ns} ns"
    seconds = (ns + 500_000_000) // 1_000_000_000
    if seconds >= 3600:
        minutes = (seconds + 30) // 60
        return f"{minutes // 60} h {minutes % 60} min"
    if ns >= 99_950_000_000:
        return f"{seconds // 60} min {seconds % 60} s"
    return _scaled(ns, _DURATIONS, "ns")


def size(size_bytes: int) -> str:
    """Bytes in decimal units: 8_600_000_000 -> "8.60 GB"; below a thousand exactly."""
    if size_bytes < 0:
        return "-" + size(-size_bytes)
    return f"{size_bytes} B" if size_bytes < 1_000 else _scaled(size_bytes, _BYTES, "B")


def rate(bytes_per_s: float) -> str:
    """Bytes a second in decimal units: 55.4e9 -> "55.4 GB/s"."""
    return _scaled(bytes_per_s, _BYTES, "B") + "/s"


def percent(fraction: float) -> str:
    """A fraction of 1 as "61 %"; small ones are not rounded away: 0.004 -> "0.4 %", anything above 0 -> "< 0.1 %"."""
    value = fraction * 100
    if value == 0 or abs(value) >= 9.95:
        return f"{value:.0f} %"
    return "< 0.1 %" if 0 < value < 0.05 else f"{value:.1f} %"


def factor(times: float | None) -> str:
    """A speed-up: "2.6x", "more than 5x" above five (its digits would be noise), "without bound" for None."""
    if times is None:
        return "without bound"
    if times > FACTOR_SAID_EXACTLY:
        return f"more than {FACTOR_SAID_EXACTLY:.0f}x"
    return f"{times:.2f}x" if times < 1.995 else f"{times:.1f}x"


def parse_duration(text: str) -> int:
    """ "26ms", "1.5 s", "250us" as ns, exactly. Raises UsageError if it is no duration or no whole number of ns."""
    return _parsed(text, _NS_OF, "a duration", "26ms, 1.5 s or 250us", "ns")


def parse_size(text: str) -> int:
    """ "512MiB", "8.6 GB" as bytes, exactly. Raises UsageError if it is no size or no whole number of bytes."""
    return _parsed(text.lower(), _BYTES_OF, "a size", "512MiB or 8.6 GB", "bytes")


def _parsed(text: str, units: dict[str, int], kind: str, examples: str, whole: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in units:
        raise UsageError(f"{text!r} is not {kind}: write a number and a unit, such as {examples}")
    exact = Fraction(match[1]) * units[match[2]]
    if exact.denominator != 1:
        raise UsageError(f"{text!r} is not a whole number of {whole}: round it")
    return exact.numerator


def _scaled(value: float, units: tuple[tuple[int, str], ...], smallest: str) -> str:
    """Three figures in the largest unit that the *rounded* number fills, so that 999.96 ms is "1.00 s"."""
    for scale, unit in units:
        if abs(value) >= scale * 0.9995:
            return f"{_three(value / scale)} {unit}"
    return f"{_three(value)} {smallest}"


def _three(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"

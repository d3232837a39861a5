"""What a Kineto file says of the run, around its events: rank, devices, host, base time. Nothing else of it is read.

Real files carry whole environments there, with tokens in them; what is not named here never leaves the text.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longpole.sources.json_mending import clean
from longpole.sources.kineto_events import MOST_NS, integer

_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*"?(\d{1,19})')
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*"?(\d{1,9})')
_WORLD = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"world_size"\s*:\s*"?(\d{1,9})')
_RANK_IN_NAME = re.compile(
    r"(?:^|[^a-zA-Z])rank[-_. ]?(\d{1,6})(?!\d)|(?:^|[^a-zA-Z0-9])r(\d{1,6})of\d+", re.IGNORECASE
)


class Envelope(msgspec.Struct):
    """The keys of a trace that are read; each may stand before or after the events, and be of any type."""

    distributed: Any = msgspec.field(default=None, name="distributedInfo")
    device_properties: Any = msgspec.field(default=None, name="deviceProperties")
    compute_properties: Any = msgspec.field(default=None, name="computeProperties")
    base: Any = msgspec.field(default=None, name="baseTimeNanoseconds")
    host_name: Any = None
    hostname: Any = None

    @property
    def rank(self) -> int | None:
        """The rank that the job gave its process."""
        return self._of_job("rank")

    @property
    def world_size(self) -> int | None:
        """How many ranks the job has."""
        return self._of_job("world_size")

    def _of_job(self, key: str) -> int | None:
        number = integer(self.distributed.get(key), -1) if isinstance(self.distributed, dict) else -1
        return number if number >= 0 else None

    @property
    def base_ns(self) -> int:
        """The Unix time that the events' times are counted from; 0 where they are not."""
        base = integer(self.base, 0)
        return base if 0 <= base <= MOST_NS else 0

    @property
    def host(self) -> str | None:
        """The name of the host, where the file gives it."""
        return next((name for name in (self.host_name, self.hostname) if isinstance(name, str) and name), None)

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices, in the file's order (which is that of their numbers)."""
        listed = self.device_properties or self.compute_properties
        if not isinstance(listed, list):
            return ()
        return tuple(
            name if isinstance(name := one.get("name"), str) else "" for one in listed if isinstance(one, dict)
        )


def envelope(texts: list[bytes]) -> Envelope:
    """What the texts before and after the list of events say, whole or broken off."""
    whole = Envelope()
    for text in texts:
        inside = text.strip().removeprefix(b"\xef\xbb\xbf").removeprefix(b"{").removesuffix(b"}").strip(b", \t\r\n")
        found = _decoded(inside) or _decoded(clean(inside)) or _searched(inside)
        for field in Envelope.__struct_fields__:
            if (value := getattr(found, field)) is not None:
                setattr(whole, field, value)
    return whole


def rank_in_name(name: str) -> int | None:
    """The rank that a file's name gives: rank0, rank-1, r3of8."""
    found = _RANK_IN_NAME.search(name)
    return int(found[1] or found[2]) if found else None


def _decoded(inside: bytes) -> Envelope | None:
    try:
        return msgspec.json.decode(b"{%b}" % inside, type=Envelope)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _searched(text: bytes) -> Envelope:
    """The numbers that matter, out of text that does not decode."""
    base, rank, world = _BASE.search(text), _RANK.search(text), _WORLD.search(text)
    job = {key: int(match[1]) for key, match in (("rank", rank), ("world_size", world)) if match}
    return Envelope(base=int(base[1]) if base else None, distributed=job or None)

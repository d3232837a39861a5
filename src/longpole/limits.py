"""The limits of GPUs and their links, looked up by the name a trace or a driver prints.

The numbers lie in limits.toml, each with its unit, kind, source and date; here they are only found, and brought to
bytes and operations a second. A part that is not known is None, never the nearest one; a slice of a GPU (MIG) is not
the part. The file is read on the first look-up.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import msgspec

#: What a number of the file is multiplied by, and the unit it then has.
SCALES = {
    "GB/s": (1e9, "B/s"),
    "TFLOP/s": (1e12, "FLOP/s"),
    "W": (1.0, "W"),
    "C": (1.0, "C"),
    "gen": (1.0, "gen"),
}
#: What makers promise, the first that is there; a part is judged against the same kind of number whoever made it.
_PROMISED = ("datasheet", "theoretical", "computed")
_DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One number that a part can't pass, or was seen to reach; `kind` says which (see limits.toml).

    `up_to` is the upper end where the source gives a range, in the same `unit` (B/s, FLOP/s, W, C or gen).
    """

    value: float
    unit: str
    source: str
    as_of: str
    kind: str
    confidence: str = "high"
    up_to: float | None = None
    note: str = ""


Rows = dict[str, tuple[Limit, ...]]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU as it is sold; `rows` are all its numbers by metric, the properties the ones that judge a job."""

    name: str
    names: tuple[str, ...]
    rows: Rows
    host_link: str
    host_link_rows: Rows
    device_link: str | None = None
    device_link_rows: Rows = {}
    pci_id: str | None = None

    @property
    def hbm_bytes_per_s(self) -> Limit | None:
        """What the part's memory promises, B/s."""
        return _first(self.rows, ("mem_bw",), _PROMISED)

    @property
    def flops(self) -> dict[str, Limit]:
        """What the part promises by number format ("bf16"), FLOP/s, dense."""
        found = {dtype: _first(self.rows, (f"{dtype}_dense",), _PROMISED) for dtype in _DTYPES}
        return {dtype: limit for dtype, limit in found.items() if limit is not None}

    @property
    def host_link_bytes_per_s(self) -> Limit | None:
        """What a pinned copy reaches in one direction, B/s: measured here, else on such a link, else computed."""
        return (
            _first(self.rows, ("h2d_pinned",), ("measured",))
            or _first(self.host_link_rows, ("h2d_ce", "h2d_pinned"), ("typical",))
            or _first(self.host_link_rows, ("bandwidth_unidir_mps256_ceiling",), ("computed_ceiling",))
        )

    @property
    def pageable_bytes_per_s(self) -> Limit | None:
        """What a pageable copy to the device was seen to reach, B/s; the host CPU's rate more than the part's."""
        return _first(self.rows, ("h2d_pageable",), ("measured",))

    @property
    def device_link_bytes_per_s(self) -> Limit | None:
        """What all links to other GPUs promise together, in one direction, B/s; None: no links, or not known."""
        return _first(self.device_link_rows, ("per_gpu_unidir",), _PROMISED)


def part(name: str) -> Part | None:
    """The part that a device name stands for ("NVIDIA H200", "AMD Instinct MI300X VF"); None if it is not known."""
    plain = _plain(name)
    return next((p for p in parts() if plain in map(_plain, p.names)), None)


@functools.cache
def parts() -> tuple[Part, ...]:
    """All parts of limits.toml."""
    document = _document()
    sources, as_of, links = document["sources"], document["as_of"], document["link"]

    def rows(table: dict[str, Any]) -> Rows:
        return {k: tuple(_limit(row, sources, as_of) for row in v) for k, v in table.items() if _is_rows(v)}

    link_rows = {name: rows(table) for name, table in links.items()}
    return tuple(
        Part(
            name=name,
            names=tuple(table["names"]),
            rows=rows(table),
            host_link=table["host_link"],
            host_link_rows=link_rows[table["host_link"]],
            device_link=table.get("device_link"),
            device_link_rows=link_rows[table["device_link"]] if "device_link" in table else {},
            pci_id=table.get("pci_id"),
        )
        for name, table in document["part"].items()
    )


def _plain(name: str) -> str:
    """Without the maker's name and without "VF": a virtual function of a whole GPU has the GPU's limits."""
    words = name.lower().split()
    if words[:1] in (["nvidia"], ["amd"]):
        words = words[1:]
    return " ".join(words[:-1] if words[-1:] == ["vf"] else words)


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _limit(row: dict[str, Any], sources: dict[str, str], as_of: str) -> Limit:
    scale, unit = SCALES[row["unit"]]
    changed: dict[str, Any] = {"value": row["value"] * scale, "unit": unit, "source": sources[row["source"]]}
    if "up_to" in row:
        changed["up_to"] = row["up_to"] * scale
    return Limit(**{"as_of": as_of, **row, **changed})


def _first(rows: Rows, metrics: tuple[str, ...], kinds: tuple[str, ...]) -> Limit | None:
    found = [limit for metric in metrics for limit in rows.get(metric, ())]
    return next((limit for kind in kinds for limit in found if limit.kind == kind), None)


def _document() -> dict[str, Any]:
    text = resources.files("longpole").joinpath("limits.toml").read_bytes()
    document: dict[str, Any] = msgspec.toml.decode(text)
    return document

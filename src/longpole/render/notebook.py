"""A verdict in a notebook: a small HTML fragment that stands on its own.

No script, no style sheet, no link: it survives export and sanitising. Every text is escaped, because names in traces
are other people's.
"""

from __future__ import annotations

import html

from longpole.render import wording
from longpole.verdict import Verdict

#: A fragment is a glance; the terminal page and the JSON document have everything.
FIXES = 3

_CELL = "padding:2px 10px 2px 0;text-align:right;white-space:nowrap"
_LEFT = "padding:2px 10px 2px 0;text-align:left;white-space:nowrap"


def render(verdict: Verdict) -> str:
    """The fragment: the answer, the chain as bars, the cheapest fixes."""
    name = verdict.subject.name or verdict.subject.kind
    window = wording.amount(verdict.window.amount, verdict.window.unit)
    told = [s for s in (wording.consequence(verdict), wording.straggler(verdict)) if s]
    return (
        '<div style="font-family:sans-serif;font-size:13px;line-height:1.4">'
        f'<div style="font-weight:bold">{_safe(wording.answer(verdict))}</div>'
        + "".join(f"<div>{_safe(sentence)}</div>" for sentence in told)
        + f'<div style="opacity:.65;margin:4px 0">{_safe(f"{name} · {window}")}</div>'
        + _chain(verdict)
        + _fixes(verdict)
        + "".join(f'<div style="opacity:.65">{_safe(note)}</div>' for note in verdict.notes)
        + "</div>"
    )


def _chain(verdict: Verdict) -> str:
    heads = "".join(f'<th style="{_CELL}">{head}</th>' for head in ("share", "time", "ceiling", "cap"))
    rows = []
    for share in wording.chain(verdict):
        binds = share.cause == verdict.binding
        shown = share in verdict.ranked
        cells = (
            wording.percent(verdict, share),
            wording.amount(share.amount, verdict.window.unit),
            wording.ceiling(verdict, share) if shown else "",
            wording.cap(verdict, share) if shown else "",
        )
        rows.append(
            f'<tr style="font-weight:{"bold" if binds else "normal"}"><td style="{_LEFT}">{_safe(share.cause)}</td>'
            f'<td style="{_LEFT}">{_bar(wording.fraction(verdict, share), binds)}</td>'
            + "".join(f'<td style="{_CELL}">{_safe(cell)}</td>' for cell in cells)
            + "</tr>"
        )
    head = f'<tr style="opacity:.65"><th style="{_LEFT}">link</th><th></th>{heads}</tr>'
    return f'<table style="border-collapse:collapse">{head}{"".join(rows)}</table>'


def _bar(fraction: float, binds: bool) -> str:
    colour = "#c0392b" if binds else "#7f9db9"
    return (
        '<div style="width:160px;height:10px;background:rgba(127,127,127,.2)">'
        f'<div style="width:{100 * min(fraction, 1):.1f}%;height:10px;background:{colour}"></div></div>'
    )


def _fixes(verdict: Verdict) -> str:
    fixes = sorted(verdict.fixes, key=lambda f: (wording.EFFORTS.index(f.effort), -(f.at_most or 0)))[:FIXES]
    items = []
    for fix in fixes:
        gain = wording.gain(fix)
        items.append(f"<li>{_safe(fix.do)} ({_safe(fix.effort)}{', ' + _safe(gain) if gain else ''})</li>")
    return f'<ul style="margin:4px 0;padding-left:18px">{"".join(items)}</ul>' if items else ""


def _safe(text: str) -> str:
    return html.escape(wording.plain(text), quote=True)

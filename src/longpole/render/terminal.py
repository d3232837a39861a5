"""The page in a terminal: the answer in words, a bar for every link of the chain, then what it rests on and the fixes.

The page is text of a given width, with or without ANSI styles; the caller prints it. Without colour it can be pasted
into an issue as it is. It shows of every list only what fits a page; the JSON document has it all.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from longpole.render import wording
from longpole.verdict import Evidence, Fix, Share, Verdict

#: Narrower than this nothing lines up; wider than this no one reads a line to its end.
NARROWEST, WIDEST = 40, 120
#: At most this many ranks, lines of evidence that is fine, fixes and notes; what is left out is counted.
RANKS, FINE, FIXES, NOTES = 16, 6, 6, 4

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_STATUS = {"ok": "ok", "slow": "slow", "bad": "bad", "unknown": "?", "not applicable": "n/a"}
_STATUS_STYLE = {"ok": "green", "slow": "yellow", "bad": "red", "unknown": "magenta", "not applicable": "dim"}
_WORST_FIRST = ("bad", "slow", "unknown", "ok", "not applicable")
_STEPS = ("steps", "worst_step", "warm_up", "trace_coverage")
_LEGEND = "ceiling: speed-up if the link took no time; cap: the most all else can give"


def render(verdict: Verdict, *, width: int = 100, colour: bool = False, ascii_only: bool = False) -> str:
    """The page, `width` columns wide (kept within 40 to 120); with `ascii_only` it holds no character beyond ASCII."""
    page = _Page(max(NARROWEST, min(width, WIDEST)), colour, ascii_only)
    _answer(page, verdict)
    _chain(page, verdict)
    _steps(page, verdict)
    _parts(page, verdict)
    _evidence(page, verdict)
    _fixes(page, verdict)
    _notes(page, verdict)
    text = page.text()
    return text.encode("ascii", "replace").decode() if ascii_only else text


class _Page:
    """Lines of styled text, wrapped to the width with hanging indents."""

    def __init__(self, width: int, colour: bool, ascii_only: bool) -> None:
        self.width = width
        self.ascii_only = ascii_only
        self._file = io.StringIO()
        self._console = Console(
            file=self._file,
            width=width,
            height=25,
            force_terminal=colour,
            color_system="standard" if colour else None,
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
            _environ={},
        )

    @property
    def narrow(self) -> bool:
        return self.width < 60

    def line(self, text: Text, indent: int = 0, first: Text | None = None) -> None:
        """Write text, wrapped; every line but the first is indented, and `first` stands in the first one's indent."""
        lines = text.wrap(self._console, max(self.width - indent, 10))
        for number, piece in enumerate(lines):
            piece.rstrip()
            lead = first if number == 0 and first is not None else Text(" " * indent)
            self._console.print(lead + piece, no_wrap=True, crop=False, overflow="ignore", soft_wrap=True)

    def heading(self, text: str) -> None:
        self._console.print()
        self.line(Text(text, style="bold"))

    def blank(self) -> None:
        self._console.print()

    def text(self) -> str:
        return self._file.getvalue()


def _answer(page: _Page, verdict: Verdict) -> None:
    page.line(Text(wording.answer(verdict), style="bold"))
    for sentence in (wording.consequence(verdict), wording.straggler(verdict)):
        if sentence:
            page.line(Text(sentence))
    page.blank()
    window = wording.amount(verdict.window.amount, verdict.window.unit)
    dot = "-" if page.ascii_only else "·"
    ranks = f" of rank-time, {len(verdict.parts)} ranks" if len(verdict.parts) > 1 else ""
    name = wording.plain(verdict.subject.name) or wording.plain(verdict.subject.kind)
    page.line(Text(f"{name} {dot} {window}{ranks}", style="dim"))


def _chain(page: _Page, verdict: Verdict) -> None:
    """The table of links: its columns give way to the bar where the page is narrow."""
    shares = wording.chain(verdict)
    if not shares:
        return
    rows = [_Row.of(verdict, share) for share in shares]
    columns = [("share", [r.percent for r in rows])]
    if page.width >= 60:
        columns.append(("time" if verdict.window.unit == "ns" else "amount", [r.amount for r in rows]))
    columns.append(("ceiling", [r.ceiling for r in rows]))
    if page.width >= 72:
        columns.append(("cap", [r.cap for r in rows]))
    widths = [max(cell_len(cell) for cell in (head, *cells)) for head, cells in columns]
    gap = 1 if page.narrow else 2
    word = min(max(cell_len(wording.plain(s.cause)) for s in shares), 24)
    bar = max(min(page.width - 2 - word - 1 - sum(gap + w for w in widths), 40), 4)
    page.blank()
    head = "".join(" " * gap + h.rjust(w) for (h, _), w in zip(columns, widths, strict=True))
    page.line(Text("  " + "link".ljust(word) + " " + " " * bar + head, style="dim"))
    level = {s.cause for s in verdict.ranked[:2]} if verdict.tied and verdict.answered else set()
    for number, (row, share) in enumerate(zip(rows, shares, strict=True)):
        cells = "".join(
            " " * gap + " " * (w - cell_len(c[number])) + c[number] for (_, c), w in zip(columns, widths, strict=True)
        )
        binds = share.cause == verdict.binding
        style = "bold red" if binds else "dim" if share.cause in ("unknown", "profiler") else ""
        text = Text("> " if binds else "= " if share.cause in level else "  ", style=style)
        text.append(set_cell_size(row.word, word) + " ", style=style)
        text.append(_bar(wording.fraction(verdict, share), bar, page.ascii_only), style=style or "cyan")
        page.line(text.append(cells, style=style))
    if not page.narrow:
        page.line(Text(_LEGEND, style="dim"), 2, Text("  "))


class _Row:
    """The cells of one link."""

    def __init__(self, word: str, percent: str, amount: str, ceiling: str, cap: str) -> None:
        self.word, self.percent, self.amount, self.ceiling, self.cap = word, percent, amount, ceiling, cap

    @classmethod
    def of(cls, verdict: Verdict, share: Share) -> _Row:
        bindable = share in verdict.ranked
        return cls(
            wording.plain(share.cause),
            wording.percent(verdict, share),
            wording.amount(share.amount, verdict.window.unit),
            wording.ceiling(verdict, share) if bindable else "",
            wording.cap(verdict, share) if bindable else "",
        )


def _bar(fraction: float, width: int, ascii_only: bool) -> str:
    """A bar of eighths of a column; whatever is there at all shows as something."""
    eighths = max(round(fraction * width * 8), 1 if fraction > 0 else 0)
    full, rest = divmod(min(eighths, width * 8), 8)
    if ascii_only:
        return ("#" * (full + (rest >= 4) or (1 if eighths else 0))).ljust(width)[:width]
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _steps(page: _Page, verdict: Verdict) -> None:
    order = {what: i for i, what in enumerate(_STEPS)}
    items = sorted((e for e in verdict.evidence if e.what in order), key=lambda e: order[e.what])
    if items:
        page.heading("Steps")
        _list_evidence(page, items)


def _parts(page: _Page, verdict: Verdict) -> None:
    """A line a rank; the rest of many is summed up by what binds it."""
    if len(verdict.parts) < 2:
        return
    page.heading("Ranks" if verdict.parts[0].subject.kind == "rank" else "Parts")
    late = {wording.plain(e.where) for e in verdict.evidence if e.what == "straggler"}
    shown, rest = _chosen(verdict.parts, late)
    names = [wording.plain(part.subject.name) for part in shown]
    word = min(max(cell_len(name) for name in names), 24)
    leaders = [part.leader for part in shown]
    gap = 1 if page.narrow else 2
    link = max((cell_len(wording.plain(s.cause)) for s in leaders if s), default=0)
    for part, name, leader in zip(shown, names, leaders, strict=True):
        text = Text(set_cell_size(name, word) + " " * gap)
        if leader is None:
            text.append("nothing to give back" if part.share("unknown").amount == 0 else "not enough was seen")
        else:
            text.append(wording.plain(leader.cause).ljust(link) + wording.percent(part, leader).rjust(6 + gap))
            text.append(" " * gap + wording.ceiling(part, leader))
        if name in late and not page.narrow:
            text.append("  late, the others wait", style="yellow")
        page.line(text, 4, Text("> " if name in late else "  ", style="yellow"))
    if rest:
        by_cause = Counter(part.leader.cause if part.leader else "nothing" for part in rest)
        told = ", ".join(f"{count} {wording.plain(cause)}" for cause, count in by_cause.most_common(4))
        page.line(Text(f"and {len(rest)} more: {told}", style="dim"), 4, Text("  "))


def _chosen(parts: Sequence[Verdict], late: set[str]) -> tuple[list[Verdict], list[Verdict]]:
    """The parts that get a line, in their order, and the rest; one that is late always gets one."""
    if len(parts) <= RANKS:
        return list(parts), []
    by_need = sorted(range(len(parts)), key=lambda i: (wording.plain(parts[i].subject.name) not in late, i))
    chosen = set(by_need[: RANKS - 1])
    return [p for i, p in enumerate(parts) if i in chosen], [p for i, p in enumerate(parts) if i not in chosen]


def _evidence(page: _Page, verdict: Verdict) -> None:
    items = [e for e in verdict.evidence if e.what not in _STEPS and e.status != "not applicable"]
    items.sort(key=lambda e: _WORST_FIRST.index(e.status))
    fine = [e for e in items if e.status == "ok"]
    shown = [e for e in items if e.status != "ok"] + fine[:FINE]
    if not shown:
        return
    page.heading("Evidence")
    _list_evidence(page, shown)
    if len(fine) > FINE:
        page.line(Text(f"and {len(fine) - FINE} more that are fine (--json has them all)", style="dim"), 4, Text("  "))


def _list_evidence(page: _Page, items: list[Evidence]) -> None:
    """One entry an evidence; what is not fine says where its number was read."""
    word = 0 if page.narrow else max(cell_len(wording.plain(e.what)) for e in items)
    for item in items:
        lead = Text("  ")
        lead.append(_STATUS[item.status].ljust(5), style=_STATUS_STYLE[item.status])
        body = Text(wording.about(item))
        if item.source and item.status != "ok":
            body.append(f" [{wording.plain(item.source)}]", style="dim")
        what = wording.plain(item.what)
        if word:
            page.line(body, 7 + word + 2, lead.append(what.ljust(word) + "  "))
        else:
            page.line(Text(f"{what}: ") + body, 7, lead)


def _fixes(page: _Page, verdict: Verdict) -> None:
    fixes = sorted(verdict.fixes, key=lambda f: (wording.EFFORTS.index(f.effort), -(f.at_most or 0)))
    if not fixes:
        return
    page.heading("Fixes, the cheapest first")
    for fix in fixes[:FIXES]:
        page.line(_fix(fix), 11, Text(f"  {fix.effort.ljust(7)}  "))
    if len(fixes) > FIXES:
        page.line(Text(f"and {len(fixes) - FIXES} more (--json has them all)", style="dim"), 4, Text("  "))


def _fix(fix: Fix) -> Text:
    told = ", ".join(part for part in (wording.plain(fix.cause), wording.gain(fix)) if part)
    return Text(wording.plain(fix.do)) + Text(f" ({told})", style="dim")


def _notes(page: _Page, verdict: Verdict) -> None:
    if not verdict.notes:
        return
    page.heading("Notes")
    for line in _limited(verdict.notes):
        page.line(Text(line), 4, Text("  - "))


def _limited(notes: tuple[str, ...]) -> Iterator[str]:
    yield from (wording.plain(note) for note in notes[:NOTES])
    if len(notes) > NOTES:
        yield f"and {len(notes) - NOTES} more (--json has them all)"

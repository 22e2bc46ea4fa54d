"""Bars as an SVG picture that is readable on light and on dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar: a share of a whole."""

    label: str
    """The words before it, e.g. `drop the text of a message`."""
    count: int
    """The counted part of the whole, which sets the length, e.g. `12`."""
    whole: int
    """The total of which `count` is a part, e.g. `921` templates."""
    good: bool = False
    """Whether a long bar is good news, which makes it blue, e.g. `True` for notations of calls."""


_WIDTH, _LABEL, _BAR, _ROW, _TOP = 900, 430, 290, 34, 44
_STYLE = """
    text { font: 15px system-ui, sans-serif; fill: #1b1f24; }
    .title { font-weight: 600; }
    .whole { fill: #e3e8ee; }
    .bad { fill: #c2553a; }
    .good { fill: #2f74c0; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .whole { fill: #2b3138; }
      .bad { fill: #e88a6f; }
      .good { fill: #5aa2ee; }
    }
"""


def bar_chart(title: str, bars: Sequence[ChartBar]) -> str:
    """Return an SVG picture with a bar in each row, its count and its share."""
    height = _TOP + _ROW * len(bars) + 6
    words = "; ".join(f"{bar.label}: {bar.count} of {bar.whole}" for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        ' aria-labelledby="t d">',
        f'  <title id="t">{escape(title)}</title>',
        f'  <desc id="d">{escape(words)}</desc>',
        f"  <style>{_STYLE}  </style>",
        f'  <text class="title" x="8" y="24">{escape(title)}</text>',
        *(line for at, bar in enumerate(bars) for line in _row(bar, _TOP + _ROW * at)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _row(bar: ChartBar, top: int) -> Iterator[str]:
    share = bar.count / bar.whole if bar.whole else 0
    kind = "good" if bar.good else "bad"
    yield (f'  <text x="{_LABEL - 12}" y="{top + 18}" text-anchor="end">{escape(bar.label)}</text>')
    yield f'  <rect class="whole" x="{_LABEL}" y="{top}" width="{_BAR}" height="24" rx="4"/>'
    if bar.count:
        # No bar is shorter than three pixels, so that a rare fault remains visible.
        width = max(round(_BAR * share, 1), 3)
        yield f'  <rect class="{kind}" x="{_LABEL}" y="{top}" width="{width}" height="24" rx="4"/>'
    place = _LABEL + _BAR + 12
    yield f'  <text x="{place}" y="{top + 18}">{share:.0%} ({bar.count} of {bar.whole})</text>'

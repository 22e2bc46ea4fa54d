"""Where a turn ends, by what stands before: content, or calls."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from autoparser.analysis.core.turn_format import StopText
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, Row, heading, joined, prose, rows, sentence
from .visible import quoted

__all__ = ["stops_section", "stops_told", "stops_words"]

INSIDE = "inside turns, too"
INSIDE_WORDS = (
    f"What stands {INSIDE}, ends an output only once content or a call is there: an engine that"
    " stops wherever it stands cuts turns. Renderer.find_stop knows where it ends one."
)


def stops_words(learnt: LearntFormat) -> Text:
    """Name what ends turns, by its place where calls end otherwise than content."""
    return _by_place(learnt, lambda stop: quoted(stop.text))


def stops_told(learnt: LearntFormat) -> Text:
    """Name what ends turns as `stops_words` does, and what an engine must know of each."""
    words = _by_place(learnt, _told)
    return sentence(words, f". {INSIDE_WORDS}") if _any_inside(learnt) else words


def _by_place(learnt: LearntFormat, words: Callable[[StopText], Text]) -> Text:
    texts = learnt.stop_texts
    content, calls = (
        joined([words(stop) for stop in stops], ", ") or Text("nothing")
        for stops in (texts.after_content, texts.after_calls)
    )
    if texts.after_calls and texts.after_calls != texts.after_content:
        return sentence(content, " after content, ", calls, " after calls")
    told = {stop.text: stop for stop in texts.after_content}
    named = [
        words(told[text]) if text in told else quoted(text)
        for text in learnt.formats.united.stop_strings
    ]
    return joined(named, ", ") or Text("none: nothing closes a turn")


def stops_section(learnt: LearntFormat) -> Blocks:
    """List what ends a turn after content and after calls."""
    texts = learnt.stop_texts
    pairs: list[Row] = [
        (f"after {part}", _told(stop))
        for part, stops in (("content", texts.after_content), ("calls", texts.after_calls))
        for stop in stops
    ]
    if not pairs:
        return []
    drawn = [*heading("Where a turn ends"), *rows(pairs)]
    return drawn + (prose(INSIDE_WORDS) if _any_inside(learnt) else [])


def _any_inside(learnt: LearntFormat) -> bool:
    texts = learnt.stop_texts
    return any(stop.inside for stop in (*texts.after_content, *texts.after_calls))


def _told(stop: StopText) -> Text:
    words = quoted(stop.text)
    if stop.last != stop.text:
        words = sentence(words, " (complete at ", quoted(stop.last), ")")
    return sentence(words, f" ({INSIDE})") if stop.inside else words

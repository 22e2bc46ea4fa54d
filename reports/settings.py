"""The formats of a template's settings: ends of prompts, gate results, stop strings.

For example, of a prompt that lacks the generation prompt, here of `autoparser demo`, `parse` warns:

    the prompt ends with `::user↵Hi↵::over↵`, but this template's prompts end with `::assistant↵`
    or `::assistant↵::why  ::/why↵`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.stop_texts import StopText
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.formats.learned_format import LearnedFormat

from .blocks import Blocks, Heading, Row, heading, join_texts, lead, prose, rows, sentence, table
from .verdict import check_score
from .visible import marker_text, quote_marker, setting_words


def settings_section(analysis: LearnedFormat) -> Blocks:
    """List the settings that change how a turn is written, or nothing if none does."""
    formats = analysis.formats
    if len(formats) == 1:
        return []
    cells = [
        (" or ".join(_telling(format_)), sentence(_writes(format_), "; ", check_score(check)))
        for format_, check in zip(formats, analysis.checks, strict=True)
    ]
    heads = ("chat_template_kwargs", "end of the prompt, and self-check")
    fullest = setting_words(formats.fullest.setting) or "nothing set"
    drawn: Blocks = [
        Heading(Text("Settings"), "settings", str(len(formats))),
        *lead(
            f"A turn has {len(formats)} formats, chosen by the chat_template_kwargs. Markers, turn"
            f" and phases in this report are from the format with {fullest}."
        ),
        *table("Settings", heads, cells),
    ]
    # Prompts that end alike do not show which format follows.
    for group in formats.alike:
        settings = [
            Text(_opening_words(begun.opening)) for begun in group if begun.opening is not None
        ]
        prompt = group[0].opening
        if prompt is not None:
            ends = quote_marker(prompt.text)
            same = sentence("Prompts that end with ", ends, " are alike with ")
            chosen = "the text before the end decides"
            if not all(begun.opening and begun.opening.signs for begun in group):
                chosen = "the parser assumes the first, unless you pass the setting"
            alike_words = sentence(same, join_texts(settings, " and "), f": {chosen}.")
            drawn += prose(alike_words)
    # Combinations grow exponentially, so that not all are tried.
    if formats.untried:
        drawn += prose(f"{formats.untried} more combinations of values were not tried.")
    return drawn


def _writes(format_: TurnFormat) -> Text:
    opening_words = sentence("the prompt ends with ", _ends(format_.openings))
    if format_.later_openings:
        opening_words = sentence(
            opening_words, ", after earlier turns also with ", _ends(format_.later_openings)
        )
    if TurnPart.REASONING in format_.elsewhere:
        opening_words.append("; reasoning is not rendered")
    return opening_words


def _ends(openings: Sequence[TurnOpening]) -> Text:
    # Several settings may end the prompt alike.
    texts = dict.fromkeys(opening.text for opening in openings)
    return join_texts([quote_marker(text) if text else Text("nothing") for text in texts], " or ")


def _telling(format_: TurnFormat) -> list[str]:
    """Name the settings of a format, omitting those that repeat another with more switches."""
    openings: list[TurnOpening] = []
    # Fewer switches first, so that each setting is compared with those that it repeats.
    for opening in sorted(format_.openings, key=lambda opening: len(opening.setting)):
        if not any(_covers(other, opening) for other in openings):
            openings.append(opening)
    return [_opening_words(opening) for opening in openings]


def _covers(one: TurnOpening, other: TurnOpening) -> bool:
    # By `repr`, since 1, 1.0 and True are equal in Python.
    same = all(repr(other.setting.get(name)) == repr(one.setting[name]) for name in one.setting)
    return same and one.tools is other.tools


def _opening_words(opening: TurnOpening | None) -> str:
    setting = "" if opening is None else setting_words(opening.setting)
    bare = "" if opening is None or opening.tools else " without tools"
    return f"{setting or 'nothing set'}{bare}"


INSIDE = "also inside turns"
INSIDE_WORDS = (
    f"A stop string that occurs {INSIDE} ends an output only after content or a call: an engine"
    " that stops at every occurrence truncates turns. Renderer.find_stop returns where to stop."
)


def stops_words(learned: LearnedFormat) -> Text:
    """Name the stop strings, separately for content and calls if they differ."""
    return _by_place(learned, lambda stop: quote_marker(stop.text))


def stop_notes(learned: LearnedFormat) -> Text:
    """Name the stop strings like `stops_words`, with notes for engines."""
    words = _by_place(learned, _stop_words)
    return sentence(words, f". {INSIDE_WORDS}") if _any_inside(learned) else words


def _by_place(learned: LearnedFormat, words: Callable[[StopText], Text]) -> Text:
    texts = learned.stop_texts
    content, calls = (
        join_texts([words(stop) for stop in stops], ", ") or Text("nothing")
        for stops in (texts.after_content, texts.after_calls)
    )
    # A model may end a turn with calls by another token, such as one that hands over to tools.
    if texts.after_calls and texts.after_calls != texts.after_content:
        also = [stop for stop in texts.after_calls if stop not in texts.after_content]
        if texts.after_content and set(texts.after_content) < set(texts.after_calls):
            return sentence(content, "; after calls also ", join_texts([*map(words, also)], ", "))
        return sentence(content, " after content, ", calls, " after calls")
    stops_by_text = {stop.text: stop for stop in texts.after_content}
    named = [
        words(stops_by_text[text]) if text in stops_by_text else quote_marker(text)
        for text in learned.formats.united.stop_strings
    ]
    return join_texts(named, ", ") or Text("none (turns have no end marker)")


def stops_section(learned: LearnedFormat) -> Blocks:
    """List the stop strings after content and after calls."""
    texts = learned.stop_texts
    pairs: list[Row] = [
        (f"after {part}", _stop_words(stop))
        for part, stops in (("content", texts.after_content), ("calls", texts.after_calls))
        for stop in stops
    ]
    if not pairs:
        return []
    drawn = [*heading("Where a turn ends"), *rows(pairs)]
    return drawn + (prose(INSIDE_WORDS) if _any_inside(learned) else [])


def _any_inside(learned: LearnedFormat) -> bool:
    texts = learned.stop_texts
    return any(stop.inside for stop in (*texts.after_content, *texts.after_calls))


def _stop_words(stop: StopText) -> Text:
    words = quote_marker(stop.text)
    # An engine that stops at one token stops at the last marker.
    if stop.last != stop.text:
        words = sentence(words, " (complete at ", quote_marker(stop.last), ")")
    return sentence(words, f" ({INSIDE})") if stop.inside else words


TAIL = 60
"""Characters of a prompt's end that a warning shows."""


def prompt_warning(formats: Formats, prompt: str) -> str | None:
    """Return a warning if a prompt lacks its expected end, or None.

    Whitespace at the end is ignored: a file often ends in a newline of its own.
    """
    format_ = formats.fullest
    expected = list(dict.fromkeys(opening.text for opening in formats.openings))
    # A template without a generation prompt expects nothing.
    cores = [text.rstrip() for text in expected if text.strip()]
    if not cores or formats.behind(prompt):
        return None
    reasoning = format_.reasoning
    if reasoning is not None and reasoning.opened_by(prompt) is not None:
        return None
    wanted = " or ".join(f"`{marker_text(text)}`" for text in expected if text.strip())
    ends = f"ends with `{marker_text(prompt[-TAIL:])}`" if prompt else "is empty"
    header = format_.header.strip()
    taken = ""
    behind = prompt.rpartition(header)[2] if header else ""
    # The prompt has begun a turn and not ended it: the parser reads the text after the header.
    if header and header in prompt and not any(stop in behind for stop in format_.stop_strings):
        taken = "; the text after the last header is parsed as the beginning of the message"
    return f"the prompt {ends}, but this template's prompts end with {wanted}{taken}"

"""Text of a template made visible: no hidden characters, no control sequences.

Contract: any text from outside, such as a template's text, a file's name or a model's output,
passes one of these functions before it is shown. `visible` and the functions built on it return one
line, `visible_lines` keeps lines and tabs. For example,

    marker_text(" <tool> ")                                ->  ␣<tool>␣
    first_names(["a", "b", "c"], 2)                            ->  a, b and 1 more
    setting_words({"thinking": False, "effort": "high"})   ->  thinking=false, effort=high
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import (
    escape_text,
    is_inert,
)
from autoparser.analysis.core.provenance import NamedTemplate, SourceKind
from autoparser.analysis.core.switches import ANY_WORD

LITERAL_STYLE = "cyan"

_SIGNS: Mapping[str, str] = {"\n": "↵", "\t": "⇥", "\r": r"\r"}
"""Signs for frequent characters, so that a marker keeps its length."""

_EDGE_SPACES = re.compile(r"^ +| +$")
_BREAKS = re.compile(r"([\n\t])")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SPACE = "␣"

LEGEND = "↵ is a newline, ⇥ a tab, ␣ a space at an edge"


def visible(text: str) -> str:
    """Return one line in which every invisible character is replaced by an escape.

    Control characters, marks that change the writing direction, invisible and unassigned characters
    and lone surrogates become escapes; visible characters stay unchanged.
    """
    # Fast path: nearly all texts have nothing to escape.
    if is_inert(text):
        return text
    return "".join(_SIGNS.get(character) or escape_text(character) for character in text)


def shell_word(name: str) -> str:
    """Return a file's name as a shell takes it, e.g. `'my file.jinja'`, with nothing invisible."""
    # Few reports have a command.
    import shlex  # noqa: PLC0415

    # Escaped first: a name with control characters must not reach a terminal in a command.
    shown = visible(name)
    # A name such as `-x.jinja` would be read as options.
    return shlex.quote(f"./{shown}" if shown.startswith("-") and shown != "-" else shown)


def template_word(template: NamedTemplate, unnamed: str = "-") -> str:
    """Return a template as a command takes it; a text or a pipe has no name to repeat."""
    piped = template.source is not None and template.source.kind is SourceKind.STANDARD_INPUT
    return unnamed if template.origin is None or piped else shell_word(template.origin)


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into runs of visible characters, and signs for single ones (True)."""
    start = 0
    for at, character in enumerate(text):
        sign = visible(character)
        if sign != character:
            if at > start:
                yield text[start:at], False
            yield sign, True
            start = at + 1
    if start < len(text):
        yield text[start:], False


def visible_lines(text: str) -> str:
    """Return the text line by line, with escapes for all other invisible characters.

    For terminal output of several lines: newlines and tabs stay unchanged.
    """
    return "".join(part if part in "\n\t" else escape_text(part) for part in _BREAKS.split(text))


def marker_text(text: str) -> str:
    """Return a marker on one line, with visible signs for the spaces at its edges."""
    return visible(_EDGE_SPACES.sub(lambda match: _SPACE * len(match.group()), text))


def shorten_middle(text: str, longest: int) -> str:
    """Return a text, or the beginning and end of a longer one."""
    return text if len(text) <= longest else f"{text[: longest // 2]} … {text[-longest // 2 :]}"


def cut_text(text: str, longest: int) -> str:
    """Return a text as `visible` shows it, with an ellipsis if it was cut at its longest."""
    return visible(text) + "…" * (len(text) == longest)


def counted_noun(count: int, noun: str) -> str:
    """Return a count with its noun, such as ``3 findings``."""
    return f"{count} {noun if count == 1 else _PLURALS.get(noun, f'{noun}s')}"


_PLURALS = {"crash": "crashes", "entry": "entries", "unsafe fix": "unsafe fixes"}


def first_names(names: Sequence[str], most: int, separator: str = ", ", last: str = " and ") -> str:
    """Name the first names, and count the rest."""
    shown = shown_count(len(names), most)
    others = len(names) - shown
    return separator.join(names[:shown]) + (f"{last}{others} more" if others else "")


def shown_count(count: int, most: int | None) -> int:
    """Return how many of `count` elements are shown if `most` have room: never all but one.

    "1 more" takes the room of the element that it counts.
    """
    return count if most is None or count <= most + 1 else most


def literal(text: str, style: str = LITERAL_STYLE) -> Text:
    """Return a marker in a report's style."""
    return Text(marker_text(text), style=style)


def quote_marker(text: str) -> Text:
    """Return a marker quoted inside a sentence."""
    # If the text contains a backquote, quotes would not show where the text ends.
    quote = "" if "`" in text else "`"
    return Text.assemble(quote, literal(text), quote)


def lines(text: str, style: str = "") -> list[Text]:
    """Split a text into lines; each shows its newline."""
    return [literal(line, style) for line in _LINE.findall(text)]


UNCONFIRMED = "not confirmed: only described in the prompt"
DOUBT_STYLE = "yellow"


def doubt() -> Text:
    """Return the mark for an unconfirmed conclusion."""
    return Text(f" ({UNCONFIRMED})", style=DOUBT_STYLE)


def value_words(value: Json) -> str:
    """Return a value as JSON; a string without its quotes if that is unambiguous.

    A word that was made up inside a list or an object becomes `…`: `{"schema": …}`.
    """
    if isinstance(value, str) and value and value.replace("_", "").replace("-", "").isalnum():
        return visible(value)
    words = json.dumps(value, ensure_ascii=False)
    return visible(words if isinstance(value, str) else words.replace(f'"{ANY_WORD}"', "…"))


def setting_words(setting: Mapping[str, Json]) -> str:
    """Return the values of switches as a caller would set them."""
    return ", ".join(f"{visible(name)}={value_words(value)}" for name, value in setting.items())

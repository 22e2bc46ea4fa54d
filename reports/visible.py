"""Text of a template as a person can see it: nothing hidden, nothing that a terminal obeys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rich.text import Text

__all__ = ["LEGEND", "lines", "literal", "quoted", "runs", "shown", "visible"]

LITERAL_STYLE = "cyan"

_SIGNS: Mapping[str, str] = {"\n": "↵", "\t": "⇥", "\r": r"\r"}
"""The frequent ones by a sign, so that a marker is not longer than it is."""

_UNSEEN = re.compile(
    "[\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0"
    "\\U000e0100-\\U000e01ef]"
)
"""What Python takes for printable and nobody sees: fillers and variation selectors (Unicode's
Default_Ignorable_Code_Point), and the empty Braille pattern."""

_EDGE_SPACES = re.compile(r"^ +| +$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SPACE = "␣"

LEGEND = "↵ is a newline, ⇥ a tab, ␣ a space at an edge"


def visible(text: str) -> str:
    """Give one line in which every character that has no sign of its own has an escape.

    Control characters, marks that change the writing direction, invisible and unassigned
    characters and lone surrogates come out as escapes; what a person can see stays as it is.
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(_sign(character) for character in text)


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into runs of what can be seen, and signs for single characters (True)."""
    start = 0
    for at, character in enumerate(text):
        sign = _sign(character)
        if sign != character:
            if at > start:
                yield text[start:at], False
            yield sign, True
            start = at + 1
    if start < len(text):
        yield text[start:], False


def _sign(character: str) -> str:
    if character.isprintable() and not _UNSEEN.match(character):
        return character
    return _SIGNS.get(character) or character.encode("unicode_escape").decode()


def shown(text: str) -> str:
    """Give a marker on one line, with the spaces at its edges as signs too."""
    return visible(_EDGE_SPACES.sub(lambda match: _SPACE * len(match.group()), text))


def literal(text: str, style: str = LITERAL_STYLE) -> Text:
    """Give a marker as a report shows it."""
    return Text(shown(text), style=style)


def quoted(text: str, style: str = LITERAL_STYLE) -> Text:
    """Give a marker inside a sentence."""
    quote = "" if "`" in text else "`"
    return Text.assemble(quote, literal(text, style), quote)


def lines(text: str, style: str = "") -> list[Text]:
    """Cut a text into its lines; each shows the newline that ends it."""
    return [literal(line, style) for line in _LINE.findall(text)]

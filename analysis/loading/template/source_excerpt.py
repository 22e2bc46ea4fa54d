"""Where in a template's text an error lies: line, column, and the line with a caret.

Jinja's errors know a line and no column. The column is found by reading the text again and
counting how far the parser had come; where that and Jinja's line disagree there is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2 import TemplateSyntaxError as JinjaSyntaxError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from autoparser.analysis.core.inert import is_inert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

__all__ = ["excerpt", "find_column"]

NEWLINE = re.compile(r"\r\n|\r|\n")
"""What Jinja counts as the end of a line."""

LEXER_POSITION = re.compile(r" at (\d+)$")
"""How Jinja's lexer ends its messages: a position in the text, lines ended by one newline."""

QUOTED_NAME = re.compile(r"'(\w+)'")
"""How Jinja names an unknown filter or test in its messages."""

EXCERPT_WIDTH = 72
"""Characters of a long line that an excerpt shows around the column."""


def find_column(environment: Environment, text: str, error: JinjaSyntaxError) -> int | None:
    """Return the column (from 1) in line ``error.lineno`` that the error is about, or None."""
    lines = NEWLINE.split(text)
    if not 1 <= error.lineno <= len(lines):
        return None
    message = str(error.message or "")
    position = _lexer_position(message)
    if position is None:
        position = _parser_position(environment, "\n".join(lines))
    if position is not None:
        before = "\n".join(lines)[:position]
        if before.count("\n") + 1 == error.lineno:
            return position - (before.rfind("\n") + 1) + 1
    name = QUOTED_NAME.search(message)
    found = name and re.search(rf"\b{name[1]}\b", lines[error.lineno - 1])
    return found.start() + 1 if found else None


def excerpt(text: str, line: int, column: int | None) -> str:
    """Return the template's line after its number and, where known, a caret under the column."""
    lines = NEWLINE.split(text)
    if not 1 <= line <= len(lines):
        return ""
    shown = "".join(character if is_inert(character) else " " for character in lines[line - 1])
    caret = column - 1 if column else 0
    start = max(0, min(caret - EXCERPT_WIDTH // 2, len(shown) - EXCERPT_WIDTH))
    head = "…" if start else ""
    tail = "…" if start + EXCERPT_WIDTH < len(shown) else ""
    number = f"{line} | "
    first = f"{number}{head}{shown[start : start + EXCERPT_WIDTH]}{tail}"
    if column is None:
        return first
    margin = f"{' ' * (len(number) - 2)}| "
    return f"{first}\n{margin}{' ' * (len(head) + caret - start)}^"


def _lexer_position(message: str) -> int | None:
    found = LEXER_POSITION.search(message)
    return int(found[1]) if found else None


def _parser_position(environment: Environment, text: str) -> int | None:
    """Parse again, counting; return where the token begins that the parser stopped at."""
    start = 0

    def counted() -> Iterator[tuple[int, str, str]]:
        nonlocal start
        end = 0
        for line, kind, value in environment.lexer.tokeniter(text, None):
            # Whitespace control drops text between tokens, so each is looked for.
            begin = text.find(value, end)
            if begin >= 0:
                start, end = begin, begin + len(value)
            yield line, kind, value
        start = len(text)

    parser = Parser(environment, "")
    try:
        # Making the stream reads its first token, which may be what is wrong.
        parser.stream = TokenStream(environment.lexer.wrap(counted()), None, None)
        parser.parse()
    except JinjaSyntaxError:
        return start
    return None

"""Locate errors, tokens, comments and variables in a template's text.

Jinja's errors have a line but no column. The column is found by tokenizing the text again and
counting how far the parser had come; if that disagrees with Jinja's line, there is no column.

For example, the tokens of `a {{ x }}`, and the places that write text:

    template_tokens("a {{ x }}")
    ->  data "a " 0-2, variable_begin "{{" 2-4, whitespace " " 4-5, name "x" 5-6, …
    written_places(…)  ->  (0, 2), (2, 9)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from jinja2 import Template, TemplateSyntaxError as JinjaSyntaxError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import is_inert

from .environment import chat_environment

if TYPE_CHECKING:
    from jinja2 import Environment


_LACKING = re.compile(r"t_\d+$")
"""Name of the function that Jinja compiles in place of a missing filter or test: its frame has no
line of the template, but its caller's frame does."""


def failure_line(error: BaseException) -> int | None:
    """Return the template's line of the innermost frame that is compiled from a template.

    Of an endless recursion, the line that first comes again: the innermost one would be another
    with every caller's depth.
    """
    line: int | None = None
    seen: set[int] = set()
    traceback = error.__traceback__
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Template) and not _LACKING.match(traceback.tb_frame.f_code.co_name):
            line = _line_of(template, traceback.tb_lineno)
            if isinstance(error, RecursionError) and line in seen:
                return line
            seen.add(line)
        traceback = traceback.tb_next
    return line


_LINES: WeakKeyDictionary[Template, Sequence[tuple[int, int]]] = WeakKeyDictionary()
"""The lines of a template by those of its code, which Jinja computes at each request."""


def _line_of(template: Template, code_line: int) -> int:
    """Return the line as Jinja's `get_corresponding_lineno` does."""
    lines = _LINES.get(template)
    if lines is None:
        lines = _LINES[template] = template.debug_info
    return next((line for line, begins in reversed(lines) if begins <= code_line), 1)


class TemplateToken(NamedTuple):
    """A token of a template, as Jinja's lexer names it, and its place in the text."""

    kind: str
    """E.g. `"block_begin"`, `"name"`, `"string"`, `"data"`."""
    value: str
    """Its text, e.g. `"{%-"`."""
    start: int
    """Offset of its first character, e.g. 4 for `if` in `{%- if a %}`."""
    end: int
    """After its last character, e.g. 6 there."""

    @property
    def nesting(self) -> int:
        """1 for a bracket that opens, -1 for one that closes, 0 for anything else."""
        if self.kind != "operator":
            return 0
        return (self.value in "([{") - (self.value in ")]}")


def closing_bracket(tokens: Sequence[TemplateToken], at: int = 0) -> int:
    """Return the index of the bracket that closes the one at an index; the last one if none."""
    depth = 0
    for here in range(at, len(tokens)):
        depth += tokens[here].nesting
        if tokens[here].nesting and not depth:
            return here
    return len(tokens) - 1


def template_tokens(text: str) -> tuple[TemplateToken, ...]:
    """Return the tokens of a template whose lines end in one newline.

    What whitespace control takes away between two tokens is in none. Of a text that Jinja cannot
    read, the tokens before the place where it stops are given.
    """
    return tuple(_tokens(text))


def _tokens(text: str) -> Iterator[TemplateToken]:
    end = 0
    try:
        for _, kind, value in chat_environment().lexer.tokeniter(text, None):
            # Search for it, since whitespace control drops text between two tokens.
            start = text.find(value, end)
            if start < 0:
                return
            end = start + len(value)
            yield TemplateToken(kind, value, start, end)
    except JinjaSyntaxError:
        return


def written_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[int, int]]:
    """Yield the places of a template's outputs: its plain texts and `{{ … }}`, in order.

    For example `Hi {{ name }}!` writes at (0, 3), (3, 13) and (13, 14).
    """
    begun = 0
    for token in tokens:
        if token.kind == "data":
            yield token.start, token.end
        elif token.kind == "variable_begin":
            begun = token.start
        elif token.kind == "variable_end":
            yield begun, token.end


def template_comments(text: str) -> Iterator[tuple[int, str]]:
    """Return each comment with the line (from 1) on which it begins.

    What only looks like a comment, within ``raw`` or a string, is none. Of a text that Jinja
    cannot read, the comments before the place where it stops are given.
    """
    try:
        for line, kind, value in chat_environment().lexer.tokeniter(text, None):
            if kind == "comment":
                yield line, value
    except JinjaSyntaxError:
        return


PASSED = ("messages", "tools", "documents", "add_generation_prompt")
"""Variables of every render, which are not switches."""

_WORDS: dict[str, Json] = {"True": True, "False": False, "None": None}


def variable_value(text: str) -> Json:
    """Return the value of a text: JSON, or Python's and YAML's constants, else the text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return _WORDS.get(text, text)
    return value


NEWLINE = re.compile(r"\r\n|\r|\n")
"""A line end in Jinja."""

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
    at = LEXER_POSITION.search(message)
    position = int(at[1]) if at else _parser_position(environment, "\n".join(lines))
    if position is not None:
        before = "\n".join(lines)[:position]
        if before.count("\n") + 1 == error.lineno:
            return position - (before.rfind("\n") + 1) + 1
    # Jinja reports unknown filters and tests while it generates code, when all tokens are read:
    # the parser has no place for them, but the message has their name.
    name = QUOTED_NAME.search(message)
    found = name and re.search(rf"\b{name[1]}\b", lines[error.lineno - 1])
    return found.start() + 1 if found else None


def source_excerpt(text: str, line: int, column: int | None) -> str:
    """Return the template's line after its number and, where known, a caret under the column."""
    lines = NEWLINE.split(text)
    if not 1 <= line <= len(lines):
        return ""
    shown = "".join(character if is_inert(character) else " " for character in lines[line - 1])
    caret = column - 1 if column else 0
    # From a long line, take the part around the caret, and waste no room at the end.
    start = max(0, min(caret - EXCERPT_WIDTH // 2, len(shown) - EXCERPT_WIDTH))
    head = "…" if start else ""
    tail = "…" if start + EXCERPT_WIDTH < len(shown) else ""
    number = f"{line} | "
    first = f"{number}{head}{shown[start : start + EXCERPT_WIDTH]}{tail}"
    if column is None:
        return first
    margin = f"{' ' * (len(number) - 2)}| "
    return f"{first}\n{margin}{' ' * (len(head) + caret - start)}^"


def _parser_position(environment: Environment, text: str) -> int | None:
    """Parse again; return the offset of the token at which the parser stopped."""
    start = 0

    def counted() -> Iterator[tuple[int, str, str]]:
        nonlocal start
        end = 0
        for line, kind, value in environment.lexer.tokeniter(text, None):
            # Search for each token, since whitespace control drops text between them.
            begin = text.find(value, end)
            if begin >= 0:
                start, end = begin, begin + len(value)
            yield line, kind, value
        start = len(text)

    parser = Parser(environment, "")
    try:
        # Inside the `try`, since creating the stream lexes the first token, which may be invalid.
        parser.stream = TokenStream(environment.lexer.wrap(counted()), None, None)
        parser.parse()
    except JinjaSyntaxError:
        return start
    return None

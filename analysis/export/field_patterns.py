r"""Build regular expressions from literals, as transformers' parser searches them.

    TurnFormat -> target_joints -> joints; format, turn, joints -> TargetSurroundings -> patterns

A pattern is searched for again with every piece of text that comes, as a partial match, and text
that may still become a match is held back. An optional end is not: once the text goes on otherwise,
the match without it counts. So nothing optional stands at a pattern's end here, except
whitespace of which every prefix matches, too.

For example:

    >>> exact_pattern("[call]"), loose_pattern("<call>\n"), at_most("\n\n")
    ('\\[call\\]', '<call>\\s*', '\\n{0,2}')
    >>> any_pattern(["a", "b"]), optional_pattern("a"), behind_pattern("a")
    ('(?:a|b)', '(?:a)?', '(?<=a\\s*)')

Joints are the texts around the parts of a turn, collected from all its layouts.
`TargetSurroundings` holds what the fields of one document need to know of the whole turn.

For example, of a turn whose header the prompt has written, and of the texts after reasoning:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> around = target_surroundings(analyze(template).format)
    >>> around.begins, around.ends, around.end
    ('\\A', ('<|im_end|>',), '<\\|im_end\\|>')
    >>> for joint in around.between(left=[TurnPart.REASONING]):
    ...     print(joint.right, repr(joint.text))
    content '\n</think>\n\n'
    None '\n</think>\n\n<|im_end|>\n'
    calls '\n</think>\n\n'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import EdgeStrip, TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_nodes import TurnTree
from autoparser.analysis.parsing.turn_request import ParserRequest

from .export_limits import ExportLimit


class TargetJoint(Struct, frozen=True):
    """The text written between two neighbors."""

    left: TurnPart | None
    """The part before it, e.g. CONTENT, or None at the beginning of the turn, after its header."""
    right: TurnPart | None
    """The part after it, e.g. CALLS, or None at the end of the turn."""
    text: str
    r"""The text, e.g. "\n</think>\n\n"."""

    @property
    def blank(self) -> bool:
        """Whether it is whitespace alone, or empty."""
        return not self.text.strip()


def target_joints(format_: TurnFormat) -> tuple[TargetJoint, ...]:
    """Collect the joints of every layout; whitespace at the calls' own edges is theirs."""
    calls, header = format_.calls, written_header(format_)
    before = "" if calls is None else space_at_start(calls.opening)
    after = "" if calls is None else space_at_end(closing_text(calls))
    found: dict[TargetJoint, None] = {}
    for layout in format_.layouts.values():
        if layout.refusal:
            continue
        neighbors: Sequence[TurnPart | None] = (None, *layout.parts, None)
        for at, literal in enumerate(layout.literals):
            left, right = neighbors[at], neighbors[at + 1]
            # The header belongs to the prompt, after which the target begins to read.
            text = literal.removeprefix(header) if left is None else literal
            text = after + text if left is TurnPart.CALLS else text
            text = text + before if right is TurnPart.CALLS else text
            found[TargetJoint(left, right, text)] = None
    return tuple(found)


def written_header(format_: TurnFormat) -> str:
    """Return the header that a turn begins after; one that is blank has to end all prompts."""
    header = format_.header
    prompted = all(opening.text.endswith(header) for opening in format_.openings)
    return header if header.strip() or prompted else ""


ANY: Sequence[TurnPart | None] = (None, *TurnPart)


def closing_text(calls: CallFormat) -> str:
    """Return the text written after the last slot of the last call."""
    last = calls.row[-1]
    return ("" if isinstance(last, RowSlot) else last) + calls.section_close


_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}
_SPACES = re.compile(r"\s+")

ANY_SPACE = r"\s*"

WORD = r"""[^\s{}\[\]<>"']+?"""
"""A name or an id, up to the text that follows it."""


def exact_pattern(text: str) -> str:
    """Match a text exactly."""
    return "".join(f"\\{char}" if char in _SPECIAL else _NAMED.get(char, char) for char in text)


def at_most(space: str) -> str:
    """Match whitespace as it is written, or any beginning or end of it."""
    runs = [(char, len(list(run))) for char, run in groupby(space)]
    return "".join(f"{exact_pattern(char)}{'?' if n == 1 else f'{{0,{n}}}'}" for char, n in runs)


def widest_pattern(spaces: Iterable[str]) -> str:
    """Match each of several pieces of whitespace, if one of them holds the others."""
    return at_most(max(spaces, key=len, default=""))


def loose_pattern(text: str) -> str:
    """Match a text with any whitespace at its edges and at its line breaks."""
    literal = TemplateLiteral.of(text)
    pieces: list[str] = []
    at = 0
    for space in _SPACES.finditer(literal.core):
        pieces.append(exact_pattern(literal.core[at : space.start()]))
        pieces.append(r"\s*" if "\n" in space.group() else exact_pattern(space.group()))
        at = space.end()
    pieces.append(exact_pattern(literal.core[at:]))
    before = r"\s*" if literal.before else ""
    after = r"\s*" if literal.after else ""
    return f"{before}{''.join(pieces)}{after}"


def any_pattern(patterns: Iterable[str]) -> str:
    """Match one of several patterns; empty without patterns."""
    # An empty alternative would match anywhere.
    found = list(dict.fromkeys(pattern for pattern in patterns if pattern))
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})" if found else ""


def behind_pattern(pattern: str) -> str:
    """Look back over whitespace for a pattern."""
    # A lookbehind of variable length, which the target's `regex` package allows, unlike `re`.
    return rf"(?<={pattern}\s*)"


def anchor_field(key: str, pattern: str) -> dict[str, str]:
    """Return a pattern under its key, as a literal if it is one, which streams without delay."""
    text = _literal_of_pattern(pattern)
    return {f"{key}_pattern": pattern} if text is None else {key: text}


def _literal_of_pattern(pattern: str) -> str | None:
    """Return the text that a pattern is the exact pattern of, or None."""
    named = {"n": "\n", "t": "\t", "r": "\r"}
    text = re.sub(r"\\(.)", lambda match: named.get(match[1], match[1]), pattern)
    return text if text and exact_pattern(text) == pattern else None


def space_at_start(text: str) -> str:
    """Return the whitespace that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


def space_at_end(text: str) -> str:
    """Return the whitespace that a text ends with."""
    return text[len(text.rstrip()) :]


def optional_pattern(pattern: str) -> str:
    """Match a pattern or nothing; for the beginning of a pattern only."""
    return f"(?:{pattern})?" if pattern else ""


# The common parts of the ways to read calls: a field, and the end of one call.


class CallsField(Struct, frozen=True):
    """The reading of calls; whitespace around them is not in the patterns."""

    open: str
    r"""Opens a call, or the first of them, e.g. `<do>(?P<name>…)\s*`, and captures the groups that
    the transform names."""
    ahead: str
    r"""The same without captures, to look ahead, e.g. `<tool_call>\s*(?=\{)`."""
    close: str
    r"""Closes a call, e.g. `(?<=\}\s*)</tool_call>`; empty if only the end of the text does."""
    behind: str
    """Matches the text after a call that was closed, to look back, e.g. `</tool_call>`."""
    settings: Mapping[str, Json] = {}
    """The other keys of the field, e.g. its `transform`."""
    limits: tuple[ExportLimit, ...] = ()
    """The parts of calls that the field cannot express, e.g. "typed arguments"."""
    needs_tools: bool = False
    """Whether it reads types from the tools that were offered, e.g. of `3` in `<v>3</v>`."""
    section_close: str = ""
    """Closes all calls, e.g. `</tool_call>` after several `<invoke …>`, unless that is part of the
    close of one."""
    separator: str = ""
    """The text between two calls, if it is more than whitespace, e.g. `,`."""
    plain_names: bool = False
    """Whether only names of arguments that are plain words are read, e.g. "city"."""


class TurnEnds(Struct, frozen=True):
    """The ends of a turn: an engine stops there, and does not pass them on."""

    pattern: str
    r"""Matches one, e.g. `<\|im_end\|>`; empty if only the end of the text ends a turn."""
    texts: tuple[str, ...]
    """The ends, e.g. ("<|im_end|>",)."""

    @property
    def ahead(self) -> str:
        """Look ahead to the end of a turn, or to the end of a text that was stopped there."""
        return any_pattern([rf"(?=\s*{self.pattern})" if self.pattern else "", r"\s*\Z"])

    def stopped_pattern(self, text: str) -> str:
        """Match the part of a text that a stopped engine passes on; empty unless it ends a turn."""
        text = text.rstrip()
        # An engine removes the end of the turn, which may be a part of the last close.
        rests = [text.removesuffix(end) for end in self.texts if text.endswith(end)]
        return rf"{loose_pattern(min(rests, key=len).strip())}\s*\Z" if rests else ""


def frame_patterns(
    calls: CallFormat,
    *,
    opened: str,
    ahead: str,
    marked: bool,
    after: str,
    end: TurnEnds,
    body_end: str,
) -> CallsField:
    """Put the section around the patterns of one call; the settings are left to the caller.

    `opened` and `ahead` match the text that opens a call, with its captures and without; `marked`
    is whether they begin with a literal. `after` matches the text that closes it; `body_end`
    matches the invariable end of the text between, empty if it may end in any way.
    """
    section_open, section_close = (
        loose_pattern(calls.section_open.strip()),
        loose_pattern(calls.section_close.strip()),
    )
    separator = loose_pattern(calls.separator.strip())
    first, first_ahead = opened, ahead
    if section_open and marked:
        first, first_ahead = rf"(?:{section_open}\s*)?{opened}", rf"(?:{section_open}\s*)?{ahead}"
    elif section_open:
        # Only in an open section: elsewhere, nothing shows that this is a call.
        inside = rf"(?:(?!{section_close}).)*" if section_close else ".*"
        back = behind_pattern(f"{section_open}{inside}{separator or after or body_end}")
        first, first_ahead = rf"(?:{section_open}\s*|{back}){opened}", rf"{section_open}\s*{ahead}"
    next_call = rf"{separator}\s*{ahead}" if separator else ahead
    # A close inside a string is not at the end of the arguments.
    last = rf"(?<={body_end}\s*)" if body_end else ""
    if after and _BRACKETS.fullmatch(after):
        # Brackets occur everywhere: they close the call only if the text after a call follows.
        follows = any_pattern([section_close, next_call, end.pattern])
        close = any_pattern([rf"{last}{after}(?=\s*{follows})", rf"{last}{after}\s*\Z"])
        return CallsField(
            first, first_ahead, close, after, section_close=section_close, separator=separator
        )
    if after:
        # The target takes a close of later calls alone for the close of all.
        later = calls.later_close
        closing = any_pattern(
            [section_close, loose_pattern(later.strip()), end.stopped_pattern(later)]
        )
        close = f"{last}{any_pattern([after, end.stopped_pattern(closing_text(calls))])}"
        return CallsField(
            first, first_ahead, close, after, section_close=closing, separator=separator
        )
    # The whitespace between calls may be the only sign that one has ended.
    between = r"(?=\s*" if separator else r"\s+(?=" if calls.separator else "(?="
    if section_close:
        stopped = end.stopped_pattern(calls.section_close)
        close = f"{last}{any_pattern([section_close, rf'{between}{next_call})', stopped])}"
    else:
        close = any_pattern([rf"{last}{between}{next_call})", f"{last}{end.ahead}"])
    behind = any_pattern([section_close, body_end])
    return CallsField(first, first_ahead, close, behind, separator=separator)


_BRACKETS = re.compile(r"(?:\\[]})]|\\s\*|(?:\\n| )(?:\?|\{0,\d+\}))+")
"""Matches a pattern, not a text: one of closing brackets and whitespace alone."""


class TargetSurroundings(Struct, frozen=True):
    """A turn, with the parts that the target reads."""

    format: TurnFormat
    """The format that is exported, e.g.
    `<TurnFormat: '<role>ASSISTANT</role>' content, calls until '<|role_end|>'>`."""
    turn: TurnTree
    """The expression of its turns, e.g. with the header `<|im_start|>assistant`."""
    joints: tuple[TargetJoint, ...]
    r"""The texts between the parts, in any layout, e.g.
    `TargetJoint(CONTENT, None, "<|im_end|>\n")`."""
    calls: CallsField | None = None
    r"""The calls, e.g. opened by `<tool_call>\s*(?=\{)`, or None if none are written, or the target
    cannot read them."""
    reasoning: MarkerBlock | None = None
    """The reasoning, e.g. between `<think>` and `</think>`, or None if the format lacks it or the
    target cannot read it."""

    def between(
        self, *, left: Sequence[TurnPart | None] = ANY, right: Sequence[TurnPart | None] = ANY
    ) -> list[TargetJoint]:
        """Return the joints whose neighbors are among these."""
        return [joint for joint in self.joints if joint.left in left and joint.right in right]

    @property
    def begins(self) -> str:
        """Match the beginning of a turn: the text's, or a header that the model writes."""
        header = self.turn.header.core
        return rf"(?:\A|{exact_pattern(header)})" if self.writes_header else r"\A"

    @property
    def writes_header(self) -> bool:
        """Whether the model may write a header: the prompt leaves it out, or the turn goes on."""
        header, calls = self.turn.header.core, self.format.calls
        if not header:
            return False
        unwritten = (
            header not in opening.text and opening.written is not PromptProgress.OTHER
            for opening in self.format.openings
        )
        inside = [text for layout in self.format.layouts.values() for text in layout.literals[1:]]
        inside += [calls.separator] if calls is not None else []
        return any(header in text for text in inside) or any(unwritten)

    @property
    def ends(self) -> tuple[str, ...]:
        """The texts that end a turn; one that begins with another is redundant."""
        cores = tuple(dict.fromkeys(end.core for end in self.turn.ends if end.core))
        return tuple(
            core
            for core in cores
            if not any(core != other and core.startswith(other) for other in cores)
        )

    @property
    def end(self) -> str:
        """Match the texts that end a turn, the end of the text aside; empty without such texts."""
        header = self.turn.header.core
        # If a turn goes on after an end, under another header, that end does not close it.
        going_on = rf"(?!\s*{exact_pattern(header)})" if self.turn.goes_on and header else ""
        # If one marker ends a turn and begins the next, the first one in the text is a beginning.
        begun = r"(?!\A)" if header in self.ends else ""
        found = any_pattern(
            f"{exact_pattern(core)}{_no_call(core, self.format.calls)}" for core in self.ends
        )
        return f"{begun}{found}{going_on}" if found else ""

    @property
    def explicit(self) -> bool:
        """Whether content is always opened, so that text outside is not content."""
        content = self.turn.content
        opens = tuple(literal.core for literal in (content.open, *content.others) if literal.core)
        texts = (joint.text.rstrip() for joint in self.between(right=[TurnPart.CONTENT]))
        return bool(content.open.core) and all(text.endswith(opens) for text in texts)

    @property
    def closed(self) -> str:
        """Match markup after which whitespace is not content, if more markup follows."""
        reasoning, calls = self.reasoning, self.calls
        return any_pattern(
            [
                self.begins,
                "" if reasoning is None else exact_pattern(reasoning.close.core),
                exact_pattern(self.turn.content.close.core),
                *(() if calls is None else (calls.section_close, calls.behind)),
            ]
        )

    def gap(self, part: TurnPart, *, left: bool, spaces: Sequence[str]) -> str:
        """Match the whitespace at an edge of a part: as written, or all that is stripped."""
        edges = self._edges(part, left=left)
        if edges == {EdgeStrip.WHITESPACE}:
            return ANY_SPACE
        return r"\n*" if edges <= _NEWLINES and edges else widest_pattern(spaces)

    def is_stripped(self, part: TurnPart) -> bool:
        """Return whether both edges of a part are stripped whenever it is written."""
        edges = self._edges(part, left=True) | self._edges(part, left=False)
        return edges == {EdgeStrip.WHITESPACE}

    def _edges(self, part: TurnPart, *, left: bool) -> set[EdgeStrip]:
        layouts = [layout for layout in self.format.layouts.values() if part in layout.parts]
        edges = [
            layout.reasoning if part is TurnPart.REASONING else layout.content for layout in layouts
        ]
        return {edge.left if left else edge.right for edge in edges}


def target_surroundings(format_: TurnFormat) -> TargetSurroundings:
    """Return the surroundings in turns of a format, for which no field was made yet."""
    turn = build_expression(Formats.of(format_), ParserRequest())
    return TargetSurroundings(format_.whole, turn, target_joints(format_.whole))


_NEWLINES = {EdgeStrip.WHITESPACE, EdgeStrip.NEWLINES}


def _no_call(end: str, calls: CallFormat | None) -> str:
    """Look ahead to exclude an end of a turn that opens a call, if both are the same text."""
    opening = "" if calls is None else calls.opening.strip()
    rest = opening.removeprefix(end).strip()
    return rf"(?!\s*{loose_pattern(rest)})" if opening.startswith(end) and rest else ""

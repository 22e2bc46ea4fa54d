"""Find the sites of a template that a trace observes, and record a render at them.

    found_sites (tree) + tokens -> placed_sites;   compiled code -> TraceRecorder -> steps, pieces

Sites: Jinja's syntax tree has them with their lines, its lexer with their columns. Both are walked
in the same order and matched one to one; if they disagree, a site has only its line.

    {% for m in messages if m.role %}{{ m.text if m.text else '-' }}{% endfor %}

has the keywords `for`, `if`, `if`: a loop, its filter, and a test inside an expression.

Contract: a value passed through a method of the recorder comes out unchanged, so a traced render
writes the same text. The text of a macro or a block `set` is recognized where it is put out by its
identity, and inside a longer text if it occurs there once: in

    {% macro tag(x) %}<{{ x }}>{% endmacro %}{{ 'a' ~ tag(1) }}

`a` comes from the last site, `<`, `1` and `>` from those in the macro, through the last one.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import TypeVar

from jinja2 import Undefined, nodes
from msgspec import Struct

from .render_trace import OpenSite, PromptPiece, SeenValue, StepKind, TemplateSite, TraceStep
from .source_text import TemplateToken, written_places

LONGEST_STRING = 160
"""Most characters of a described text; a longer one is cut in the middle."""

DEEPEST, MOST_ITEMS = 2, 6
FULL_STRING, FULL_DEPTH, FULL_ITEMS = 20_000, 32, 500
"""The same limits for values in full."""


class _JinjaWords(reprlib.Repr):
    """Python's own short `repr`, with Jinja's words and unsorted keys."""

    def __init__(self, longest: int, deepest: int, items: int) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxlevel = deepest
        self.maxstring = self.maxlong = longest
        self.maxlist = self.maxtuple = self.maxdict = items

    def repr1(self, x: object, level: int) -> str:
        """Describe a value."""
        if x is None:
            return "none"
        if isinstance(x, bool):
            return "true" if x else "false"
        if isinstance(x, Undefined):
            return "undefined"
        return super().repr1(x, level)

    def repr_dict(self, x: Mapping[object, object], level: int) -> str:
        """Return the first entries; Python sorts them by their keys."""
        if not x:
            return "{}"
        if level <= 0:
            return f"{{{self.fillvalue}}}"
        entries = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value in islice(x.items(), self.maxdict)
        ]
        more = [self.fillvalue] if len(x) > self.maxdict else []
        return f"{{{', '.join([*entries, *more])}}}"

    def repr_instance(self, x: object, level: int) -> str:
        """Return the type's name, since an object's own `repr` may be of any length."""
        del level
        return f"<{type(x).__name__}>"


_WORDS = _JinjaWords(LONGEST_STRING, DEEPEST, MOST_ITEMS)
_WORDS_IN_FULL = _JinjaWords(FULL_STRING, FULL_DEPTH, FULL_ITEMS)


def traced_value(value: object, *, in_full: bool = False) -> str:
    """Describe a value in a bounded number of characters, without changing it.

    For example `{'role': 'user', 'content': 'Hi'}`, `none`, `undefined`, `<Macro>`. Nested values
    are shortened to `{…}` or `[…]`, unless `in_full`.
    """
    return (_WORDS_IN_FULL if in_full else _WORDS).repr(value)


class FoundSite(Struct, frozen=True):
    """A site as the syntax tree has it."""

    kind: StepKind
    """The action of the site, e.g. `StepKind.LOOP`."""
    keyword: str
    """The keyword with which it begins in the text, e.g. `"for"`; empty for an expression that is
    written."""
    node: nodes.Node
    """The expression written, the test, the loop, or the assignment, e.g. `Name(name='tools')`."""
    within: int | None
    """The index of the test or loop around it, e.g. 0, or None at the top level."""


def found_sites(tree: nodes.Template) -> tuple[FoundSite, ...]:
    """Return the sites of a tree, which is not changed."""
    found: list[FoundSite] = []
    _find(tree, None, found)
    return tuple(found)


def _find(node: nodes.Node, within: int | None, sites: list[FoundSite]) -> None:
    match node:
        case nodes.If():
            _find_if(node, within, sites)
        case nodes.For():
            _find_loop(node, within, sites)
        case nodes.CondExpr():
            # In the order of the text, `x if test else y`, by which sites and tokens are matched.
            _find(node.expr1, within, sites)
            sites.append(FoundSite(StepKind.TEST, "if", node.test, within))
            _find_all([node.test, *([node.expr2] if node.expr2 else [])], within, sites)
        case nodes.Output():
            for child in node.nodes:
                sites.append(FoundSite(StepKind.WRITE, "", child, within))
                _find(child, within, sites)
        case nodes.Assign() | nodes.AssignBlock():
            sites.append(FoundSite(StepKind.SET, "set", node, within))
            _find_all(node.iter_child_nodes(), within, sites)
        case nodes.FilterBlock():
            _find_all([node.filter, *node.body], within, sites)
        case nodes.Macro():
            # Its caller decides whether it runs.
            _find_all(node.iter_child_nodes(), None, sites)
        case _:
            _find_all(node.iter_child_nodes(), within, sites)


def _find_loop(node: nodes.For, within: int | None, sites: list[FoundSite]) -> None:
    sites.append(FoundSite(StepKind.LOOP, "for", node, within))
    loop = len(sites) - 1
    _find(node.iter, within, sites)
    if node.test is not None:
        # The body is within the loop, not within this test, which may have tested the next item.
        sites.append(FoundSite(StepKind.TEST, "if", node.test, loop))
        _find(node.test, loop, sites)
    _find_all([*node.body, *node.else_], loop, sites)


def _find_if(node: nodes.If, within: int | None, sites: list[FoundSite]) -> None:
    around = within
    for branch in (node, *node.elif_):
        # An `elif` is only tested if the tests before it fail, so each is within the one before it.
        sites.append(FoundSite(StepKind.TEST, "if", branch.test, around))
        around = len(sites) - 1
        _find(branch.test, around, sites)
        _find_all(branch.body, around, sites)
    _find_all(node.else_, around, sites)


def _find_all(several: Iterable[nodes.Node], within: int | None, sites: list[FoundSite]) -> None:
    for child in several:
        _find(child, within, sites)


def placed_sites(
    text: str, tokens: Sequence[TemplateToken], sites: Sequence[FoundSite]
) -> tuple[TemplateSite, ...]:
    """Return the sites with their offsets in the text, whose tokens are `tokens`."""
    writes = list(written_places(tokens))
    keywords = list(_keyword_places(tokens))
    if len(writes) != sum(not site.keyword for site in sites):
        writes = []
    if [keyword for keyword, _ in keywords] != [site.keyword for site in sites if site.keyword]:
        keywords = []
    breaks = [at for at, character in enumerate(text) if character == "\n"]
    left = {True: iter(writes), False: iter([place for _, place in keywords])}
    placed: list[TemplateSite] = []
    for site in sites:
        place = next(left[not site.keyword], None)
        start, end = place or (0, 0)
        line = site.node.lineno if place is None else bisect_right(breaks, start - 1) + 1
        placed.append(TemplateSite(site.kind, line, start, end, site.within))
    return tuple(placed)


def _keyword_places(tokens: Sequence[TemplateToken]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each `if`, `for` and `set` with the place of its test or statement."""
    shown = [token for token in tokens if token.kind != "whitespace"]
    depths = list(accumulate(token.nesting for token in shown))
    for at, token in enumerate(shown):
        if token.kind != "name" or token.value not in {"if", "elif", "for", "set"}:
            continue
        first = shown[at - 1].kind == "block_begin"
        # Inside a tag only `if` is a keyword that makes a site: of an expression, or of a loop.
        if not first and (token.value != "if" or shown[at - 1].value == "."):
            continue
        if token.value in {"if", "elif"}:
            end = _test_end(shown, depths, at)
            yield "if", (shown[min(at + 1, end)].start, shown[end].end)
        else:
            end = next(n for n in range(at, len(shown)) if shown[n].kind == "block_end") - 1
            yield token.value, (token.start, shown[end].end)


def _test_end(tokens: Sequence[TemplateToken], depths: Sequence[int], at: int) -> int:
    """Return the index of the last token of the test after this `if`."""
    for number in range(at + 1, len(tokens)):
        token = tokens[number]
        ends = token.kind in {"block_end", "variable_end"} or depths[number] < depths[at]
        if depths[number] == depths[at]:
            ends = ends or (token.kind == "name" and token.value in {"else", "if", "recursive"})
            ends = ends or (token.kind == "operator" and token.value in {",", ":"})
        # After a dot a keyword is the name of a member.
        if ends and tokens[number - 1].value != ".":
            return number - 1
    return len(tokens) - 1


Value = TypeVar("Value")

MOST_STEPS = 20_000
"""Steps that are kept; those after them are only counted."""

MOST_JOINED = 32
"""Texts of macros that are searched for in the text of one expression."""


class _Open:
    """A site under way."""

    __slots__ = ("joined_before", "site", "values")

    def __init__(self, site: int, joined_before: int) -> None:
        self.site = site
        self.joined_before = joined_before
        self.values: list[SeenValue] = []


class TraceRecorder:
    """Records one render."""

    def __init__(self, names: Sequence[str], most_steps: int, *, in_full: bool = False) -> None:
        """Store the names that the code looks up; for 0 steps, no value is described."""
        self._names = names
        self._most_steps = most_steps
        self._in_full = in_full
        self._open: list[_Open] = []
        self._passes: dict[int, int] = {}
        self._buffers: dict[int, list[PromptPiece]] = {}
        self._joined: dict[int, tuple[str, list[PromptPiece]]] = {}
        """By the identity of a joined text, or a negative number: the text and its pieces."""
        self.pieces: list[PromptPiece] = []
        self.steps: list[TraceStep] = []
        self.left_out = 0

    @property
    def ended_in(self) -> tuple[OpenSite, ...]:
        """The sites under way."""
        return tuple(OpenSite(opened.site, tuple(opened.values)) for opened in self._open)

    def enter(self, site: int) -> int:
        """Begin a site and return its number."""
        self._open.append(_Open(site, len(self._joined)))
        return site

    def note_name(self, name: int, value: Value) -> Value:
        """Record the value of a name."""
        if self._open and self._most_steps:
            noted = SeenValue(self._names[name], traced_value(value, in_full=self._in_full))
            if noted not in self._open[-1].values:
                self._open[-1].values.append(noted)
        return value

    def note_text(self, site: int, text: str, buffer: object = None) -> str:
        """Record a text of the template itself."""
        self._put([PromptPiece(text, site, (), self._step_count)], buffer)
        return text

    def note_expression(self, site: int, text: str, buffer: object = None) -> str:
        """Record the text that an expression writes."""
        opened = self._leave(site, StepKind.WRITE, text)
        before = 0 if opened is None else opened.joined_before
        # Only use texts of macros called since the expression began.
        joined = [*islice(self._joined.values(), before, None)]
        self._put(list(self._text_pieces(site, text, joined)), buffer)
        return text

    def note_output(self, text: str, buffer: object = None) -> str:
        """Record the text that a block puts out, which writes nothing of its own."""
        joined = [joined_text for key, joined_text in self._joined.items() if key >= 0]
        self._put(list(self._text_pieces(None, text, joined)), buffer)
        return text

    def note_test(self, site: int, value: Value) -> Value:
        """Record the value of a test, without evaluating its truth a second time."""
        held = bool(value)
        self._leave(site, StepKind.TEST, value, outcome=held)
        return value

    def note_loop(self, site: int, value: Value) -> Value:
        """Record the value that a loop iterates over."""
        self._leave(site, StepKind.LOOP, value)
        self._passes[site] = 0
        return value

    def note_pass(self, site: int, value: object) -> None:
        """Record a pass of a loop through its body."""
        self._passes[site] = self._passes.get(site, 0) + 1
        self._made_step(site, StepKind.PASS, value, number=self._passes[site])

    def note_assignment(self, site: int, value: Value) -> Value:
        """Record the value that a variable is set to."""
        self._leave(site, StepKind.SET, value)
        return value

    def concat(self, buffer: Iterable[str]) -> str:
        """Join the pieces of a macro or a block to a text that can be recognized by identity."""
        text = "".join(buffer)
        made_of = self._buffers.pop(id(buffer), None)
        if made_of is None or not text:
            return text
        if len(text) == 1:
            # Python has each character once: it is found by its text, never by its identity.
            self._joined[-1 - len(self._joined)] = (text, made_of)
            return text
        # A new object: Python returns a single piece itself when it joins.
        text = f"{text} "[:-1]
        self._joined[id(text)] = (text, made_of)
        return text

    @property
    def _step_count(self) -> int:
        return len(self.steps) + self.left_out

    def _leave(
        self, site: int, kind: StepKind, value: object, *, outcome: bool | None = None
    ) -> _Open | None:
        opened = None
        while self._open and (opened is None or opened.site != site):
            opened = self._open.pop()
        values = tuple(opened.values) if opened is not None else ()
        self._made_step(site, kind, value, outcome=outcome, values=values)
        return opened

    def _made_step(
        self,
        site: int,
        kind: StepKind,
        value: object,
        *,
        outcome: bool | None = None,
        number: int = 0,
        values: tuple[SeenValue, ...] = (),
    ) -> None:
        if len(self.steps) >= self._most_steps:
            self.left_out += 1
        else:
            words = traced_value(value, in_full=self._in_full)
            self.steps.append(TraceStep(kind, site, words, outcome, number, values))

    def _put(self, pieces: list[PromptPiece], buffer: object) -> None:
        # A buffer collects the text of a macro or a block, known by its identity until `concat`.
        kept = self.pieces if buffer is None else self._buffers.setdefault(id(buffer), [])
        kept += [piece for piece in pieces if piece.text]

    def _text_pieces(
        self, site: int | None, text: str, joined: Sequence[tuple[str, list[PromptPiece]]]
    ) -> Iterator[PromptPiece]:
        known = self._joined.get(id(text))
        if known is not None:
            yield from _through(known[1], site)
            return
        at = 0
        for start, pieces in _joined_inside(text, joined[-MOST_JOINED:]):
            if text[at:start]:
                yield PromptPiece(text[at:start], site, (), self._step_count)
            yield from _through(pieces, site)
            at = start + sum(len(piece.text) for piece in pieces)
        if text[at:]:
            yield PromptPiece(text[at:], site, (), self._step_count)


def _through(pieces: Iterable[PromptPiece], site: int | None) -> Iterator[PromptPiece]:
    for piece in pieces:
        through = piece.through if site is None else (*piece.through, site)
        yield PromptPiece(piece.text, piece.site, through, piece.after)


def _joined_inside(
    text: str, joined: Sequence[tuple[str, list[PromptPiece]]]
) -> list[tuple[int, list[PromptPiece]]]:
    """Return the offsets of joined texts in a text, with their pieces, where unambiguous."""
    found: list[tuple[int, int, list[PromptPiece]]] = []
    # The longest first: a shorter one may occur within it, where it has no place of its own.
    for whole, pieces in sorted(joined, key=lambda pair: -len(pair[0])):
        # A filter may have stripped the whitespace at its edges.
        for part in dict.fromkeys((whole, whole.strip())):
            if part and text.count(part) == 1:
                start = text.index(part)
                end = start + len(part)
                if all(end <= other or start >= after for other, after, _ in found):
                    found.append((start, end, _cut_pieces(pieces, whole.index(part), len(part))))
                break
    return [(start, pieces) for start, _, pieces in sorted(found, key=lambda placed: placed[0])]


def _cut_pieces(pieces: Iterable[PromptPiece], start: int, length: int) -> list[PromptPiece]:
    """Return the pieces of a part of the text that they make up."""
    cut: list[PromptPiece] = []
    at = 0
    for piece in pieces:
        text = piece.text[max(0, start - at) : max(0, start + length - at)]
        if text:
            cut.append(PromptPiece(text, piece.site, piece.through, piece.after))
        at += len(piece.text)
    return cut

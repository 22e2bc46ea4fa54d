r"""Generation blocks around the text that a model writes.

Renders decide which text the model wrote; this module only writes the tags. Of

    {{ '<a>' + m.text + '</s>\n' }}

if the model wrote `m.text` and the first four characters of `'</s>\n'`, the result is

    {{ '<a>' }}{% generation %}{{- m.text + '</s>' }}{% endgeneration %}{{- '\n' }}

A stretch that also writes other messages is in a block only if the message is the assistant's, and
repeated unchanged beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count, groupby, product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.history.training_template import (
    AttributedTurns,
    TrainingTemplateError,
    attributed_turns,
    join_ranges,
    prove_training_template,
)
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.edit_kinds import jinja_text, string_value
from autoparser.analysis.templates.template_edits import (
    ItemKind,
    StatementBody,
    TemplateItem,
    all_items,
    statement_tree,
)


class TextAuthorship(StrEnum):
    """The author of a stretch of a template, over all its uses."""

    MODEL = "the model's"
    OTHERS = "not the model's"
    SHARED = "the model's in its own messages alone"
    UNSEEN = "never written"
    MIXED = "parts of it"


@dataclass(frozen=True, slots=True)
class StretchOwner:
    """The author of a stretch or of a part of it."""

    authorship: TextAuthorship
    """The author, e.g. ``TextAuthorship.OTHERS``."""
    cut: tuple[int, int] | None = None
    """The start and end of the author's part in a fixed text, e.g. ``(0, 7)``, or None for all of
    it."""


Owners = Mapping[tuple[int, int], StretchOwner]
"""The owners by the start and end of a text or operand."""


def split_operands(text: str, tree: StatementBody) -> tuple[str, dict[int, tuple[int, int]]]:
    """Return the template with every operand as an output of its own, and the original places.

    The places are by the offset of a text or output in the new template.
    """
    pieces: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    at = length = 0
    leaves = (item for item in all_items(tree) if item.kind in (ItemKind.TEXT, ItemKind.OUTPUT))
    for item in leaves:
        pieces.append(text[at : item.start])
        length += len(pieces[-1])
        if item.kind is ItemKind.TEXT:
            places[length] = (item.start, item.end)
            pieces.append(text[item.start : item.end])
            length += len(pieces[-1])
        else:
            for place, written in _outputs(text, item):
                places[length] = place
                pieces.append(written)
                length += len(written)
        at = item.end
    return "".join([*pieces, text[at:]]), places


def _outputs(text: str, item: TemplateItem) -> Iterator[tuple[tuple[int, int], str]]:
    if len(item.operands) < 2:  # noqa: PLR2004 - nothing to take apart
        yield (
            item.operands[0] if item.operands else (item.start, item.end),
            text[item.start : item.end],
        )
        return
    begin, end = _delimiters(text, item)
    for at, (left, right) in enumerate(item.operands):
        last = at == len(item.operands) - 1
        # The outer signs stay at the outer ends, so that the whitespace around stays as it was.
        yield (left, right), f"{'{{' if at else begin} {text[left:right]} {end if last else '}}'}"


def _delimiters(text: str, item: TemplateItem) -> tuple[str, str]:
    begin = text[item.start : item.start + 3]
    end = text[item.end - 3 : item.end]
    return begin if begin[2] in "-+" else "{{", end if end[0] in "-+" else "}}"


@dataclass(frozen=True, slots=True)
class _Part:
    lead: str
    r"""Unwritten source before it, e.g. ``"\n "``: comments, stripped whitespace."""
    text: str
    """The source, e.g. ``{{ m.text }}``."""
    authorship: TextAuthorship
    """The author of its output, e.g. ``TextAuthorship.SHARED``."""


def with_generation_blocks(
    text: str, tree: StatementBody, owners: Owners, *, scopes: bool, before: bool = False
) -> str | None:
    """Return the template with generation blocks, or None if the model wrote nothing.

    With `scopes`, variables may be set inside a block, which forgets them at its end. With
    `before`, stretches that the model writes only in its own messages belong to the message before.
    """
    written = _BlockWriter(text, owners, scopes, before).body(tree, "")
    return written if written != text else None


class _BlockWriter:
    """Rewrites the bodies of a template, from the outside in."""

    def __init__(self, text: str, owners: Owners, scopes: bool, before: bool) -> None:
        self._text = text
        self._owners = owners
        self._scopes = scopes
        self._before = before
        self._once = next(
            f"written{'_' * more}" for more in count() if f"written{'_' * more}" not in text
        )

    def body(self, body: StatementBody, message: str) -> str:
        """Return a body; `message` is the expression of the role in a loop over messages."""
        parts: list[_Part] = []
        at = body.start
        for item in body.items:
            lead = self._text[at : item.start]
            for number, part in enumerate(self._parts(item, message)):
                parts.append(_Part("" if number else lead, *part))
            at = item.end
        tail = self._text[at : body.end]
        after = self._text[at : body.end + len(_TAG)]
        return "".join(_write_parts(parts, tail, after, message, self._once))

    def _parts(self, item: TemplateItem, message: str) -> Iterator[tuple[str, TextAuthorship]]:
        if item.kind is ItemKind.OUTPUT and item.operands:
            yield from self._output_authors(item)
        elif item.kind is ItemKind.TEXT:
            place = (item.start, item.end)
            yield from self._text_authors(self._text[slice(*place)], place)
        else:
            whose = self._whose(item, message)
            if whose is not TextAuthorship.MIXED:
                yield self._text[item.start : item.end], whose
            else:
                yield self._rewrite_nested(item, message), TextAuthorship.OTHERS

    def _text_authors(
        self, text: str, place: tuple[int, int]
    ) -> Iterator[tuple[str, TextAuthorship]]:
        owner = self._owners.get(place, _UNSEEN)
        if owner.cut is None:
            yield text, owner.authorship
            return
        start, end = owner.cut
        whole = (
            (text[:start], TextAuthorship.OTHERS),
            (text[start:end], owner.authorship),
            (text[end:], TextAuthorship.OTHERS),
        )
        yield from (part for part in whole if part[0])

    def _output_authors(self, item: TemplateItem) -> Iterator[tuple[str, TextAuthorship]]:
        """Join neighboring operands with the same author."""
        whose: list[tuple[str, TextAuthorship]] = []
        before = ""
        for at, place in enumerate(item.operands):
            source = self._text[slice(*place)]
            if at:
                # Keep the operator: `~` converts to a string, `+` does not.
                apart = self._text[item.operands[at - 1][1] : place[0]]
                before = " ~ " if "~" in apart else " + "
            if self._owners.get(place, _UNSEEN).cut is None:
                parts = [(source, self._owners.get(place, _UNSEEN).authorship)]
            else:
                cut = self._text_authors(string_value(source), place)
                parts = [(jinja_text(text), whose_part) for text, whose_part in cut]
            whose += [(before + parts[0][0], parts[0][1]), *parts[1:]]
        runs = [(key, [*run]) for key, run in groupby(whose, key=lambda part: part[1])]
        if len(runs) == 1:
            yield self._text[item.start : item.end], runs[0][0]
            return
        begin, end = _delimiters(self._text, item)
        for at, (authorship, run) in enumerate(runs):
            inner = "".join(text for text, _ in run).removeprefix(" + ").removeprefix(" ~ ")
            close = end if at == len(runs) - 1 else "}}"
            yield f"{'{{-' if at else begin} {inner} {close}", authorship

    def _whose(self, item: TemplateItem, message: str) -> TextAuthorship:
        """Return the author of everything inside an item."""
        if item.kind is ItemKind.TAG:
            # A variable set inside a block is gone after it, so such a tag must stay outside.
            forgotten = item.word == "set" and item.name and not self._scopes
            return TextAuthorship.OTHERS if forgotten else TextAuthorship.UNSEEN
        # Their output is rendered elsewhere or changed first, so a block inside is useless.
        if item.word in ("macro", "set", "call", "filter"):
            return TextAuthorship.OTHERS
        inside = {part for body in item.bodies for inner in body.items for part in self._all(inner)}
        found = inside - {TextAuthorship.UNSEEN}
        if TextAuthorship.SHARED in found and not message:
            # Only the loop over messages knows the author.
            return TextAuthorship.MIXED
        if not found:
            return TextAuthorship.UNSEEN
        if found <= {TextAuthorship.MODEL, TextAuthorship.SHARED}:
            return TextAuthorship.SHARED if TextAuthorship.SHARED in found else TextAuthorship.MODEL
        return TextAuthorship.OTHERS if found == {TextAuthorship.OTHERS} else TextAuthorship.MIXED

    def _all(self, item: TemplateItem) -> Iterable[TextAuthorship]:
        if item.kind not in (ItemKind.TEXT, ItemKind.OUTPUT):
            return (self._whose(item, "?"),)
        return {whose for _, whose in self._parts(item, "")}

    def _rewrite_nested(self, item: TemplateItem, message: str) -> str:
        """Return an item with rewritten bodies and unchanged tags."""
        inside = message
        if item.word == "for":
            inside = _BEFORE if self._before else f"{item.name}['role']"
        pieces: list[str] = []
        at = item.start
        for body in item.bodies:
            pieces += [self._text[at : body.start], self.body(body, inside)]
            at = body.end
        return "".join([*pieces, self._text[at : item.end]])


_UNSEEN = StretchOwner(TextAuthorship.UNSEEN)

_BEFORE = "loop.previtem is defined and loop.previtem['role']"
"""The role of the message before: a stop may be written with the next message."""


def _write_parts(
    parts: Sequence[_Part], tail: str, after: str, message: str, once: str
) -> Iterator[str]:
    """Yield parts in order, with blocks around the model's runs.

    The source after them begins with `after`, of which `tail` is in the same body.
    """
    at, before = 0, ""
    inside = {TextAuthorship.MODEL, TextAuthorship.SHARED} if message else {TextAuthorship.MODEL}
    while at < len(parts):
        end = _run_end(parts, at, inside)
        yield parts[at].lead
        before = (before + parts[at].lead)[-_LINE:]
        if end == at:
            yield parts[at].text
            before = (before + parts[at].text)[-_LINE:]
            at += 1
            continue
        run = parts[at:end]
        inner = run[0].text + "".join(part.lead + part.text for part in run[1:])
        behind = parts[end].lead + parts[end].text if end < len(parts) else after
        shared = any(part.authorship is TextAuthorship.SHARED for part in run)
        block = _block(inner, before, behind, message if shared else "", once)
        yield block
        before, at = block[-_LINE:], end
    yield tail


_TAG = "{%-"
_LINE = 200
"""The number of preceding characters that are searched for the start of a line."""


def _run_end(parts: Sequence[_Part], at: int, inside: AbstractSet[TextAuthorship]) -> int:
    """Return the end of the model's run that begins at a part, or its start if it has none."""
    if parts[at].authorship not in inside:
        return at
    end = at
    while end < len(parts) and parts[end].authorship in {*inside, TextAuthorship.UNSEEN}:
        end += 1
    # Parts that were never written stay in a run between the model's, but do not end it.
    while parts[end - 1].authorship is TextAuthorship.UNSEEN:
        end -= 1
    return end


def _block(inner: str, before: str, behind: str, message: str, once: str) -> str:
    """Return a block with the whitespace control that keeps the text unchanged.

    The role `message` decides whether the block is the assistant's; an inner part with tags is then
    stored in a variable `once`, so that it is not repeated.
    """
    indent, last = before.rpartition("\n")[2], inner.rpartition("\n")[2]
    opening, follows = inner[:3] in _STRIPPING, behind.lstrip()[:3] in _STRIPPING
    alone = "\n" in before and not indent.strip() and opening and inner[-1:] == "}" and follows
    # The line break and indentation before a tag; empty if they would be written.
    line = f"\n{indent}" if alone else ""
    left = "-" if opening else "+" if indent and not indent.strip() else ""
    after = "+" if inner.startswith("\n") else ""
    spaced = "-" if line else "+" if last and not last.strip() else ""
    # A tag removes the newline after it, as the tag before did, if it was one.
    kept = behind.startswith("\n") and inner[-2:] != "%}" and not follows
    closing = "-" if inner[-3:] in ("-}}", "-%}") else "+" if kept else ""
    right = f" {closing}%}}{line if behind[:3] in _STRIPPING else ''}"
    begin = f"generation {after}%}}{line}{inner}{line}{{%{spaced} endgeneration"
    if not message:
        return f"{{%{left} {begin}{right}"
    if _TAG[:2] in inner:
        said = f"{{%{left} set {once} {after}%}}{line}{inner}{line}{{%{spaced} endset %}}"
        asked = f"{line}{{%- if {message} == 'assistant' %}}{{% generation %}}"
        written = f"{{{{- {once} }}}}"
        return f"{said}{asked}{written}{{% endgeneration %}}{{% else %}}{written}{{% endif{right}"
    asked = f"{{%{left} if {message} == 'assistant' %}}{line}"
    other = f"{{%{'-' if line else ''} else {after}%}}{line}{inner}{line}"
    within = "-" if line else ""
    return f"{asked}{{%{within} {begin} %}}{line}{other}{{%{spaced} endif{right}"


_STRIPPING = frozenset({"{{-", _TAG})

# The template with generation blocks around the text that the model writes. In every conversation
# of the training templates' proof, the renderer attributes text to the model, and the source map
# names the place of the template that wrote it.


@dataclass(frozen=True, slots=True)
class _Use:
    """A single output of a place."""

    length: int
    """Its length in characters, e.g. 21."""
    sampled: tuple[tuple[int, int], ...]
    """The parts that the model wrote, as starts and ends, e.g. ``((0, 13),)``."""
    model: bool
    """Whether it is in a turn of the model, e.g. True for the text of an answer."""


def marked_templates(analysis: Analysis) -> Iterator[ChatTemplate]:
    """Yield the template with generation blocks, in several ways."""
    template = analysis.template
    tree = statement_tree(template.text)
    text, places = split_operands(template.text, tree)
    uses: dict[tuple[int, int], list[_Use]] = defaultdict(list)
    apart = replace(template, text=text)
    try:
        for turn in attributed_turns(analysis):
            for place, use in _uses(turn, apart, places):
                uses[place].append(use)
    except AutoparserError:
        # With operands as separate outputs, the template renders another text.
        return
    owners = {place: _owner(found) for place, found in uses.items()}
    seen = {template.text}
    # The plainest way comes first; a stop may be written with the next message, and a block forgets
    # variables.
    for before, scopes in product((False, True), (True, False)):
        marked = with_generation_blocks(template.text, tree, owners, scopes=scopes, before=before)
        if marked is not None and marked not in seen:
            seen.add(marked)
            yield replace(template, text=marked)


def _uses(
    turns: AttributedTurns, apart: ChatTemplate, places: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], _Use]]:
    """Yield the place that wrote each stretch of a render, and the model's part of it."""
    start = 0
    spans = apart.source_map(turns.variables).spans
    # `+` adds numbers, which come to another text as outputs of their own.
    if "".join(span.text for span in spans) != turns.whole.text:
        raise TemplateRenderError("taken apart, the template renders another text")
    for span in spans:
        end = start + len(span.text)
        inside = [
            segment
            for segment in turns.whole.segments
            if segment.start < end and segment.end > start
        ]
        sampled = [
            (max(segment.start, start) - start, min(segment.end, end) - start)
            for segment in inside
            if segment.sampled
        ]
        place = places.get(span.start)
        if place is not None and span.text:
            model = any(turns.roles[segment.message] == "assistant" for segment in inside)
            yield place, _Use(len(span.text), tuple(join_ranges(sampled)), model)
        start = end


def _owner(uses: list[_Use]) -> StretchOwner:
    """Return the author of a place, over all its uses."""
    ours = [use for use in uses if use.sampled]
    if not ours:
        return StretchOwner(TextAuthorship.OTHERS)
    if any(use.model and not use.sampled for use in uses):
        # The model wrote it in some turns only, and a block cannot distinguish these.
        return StretchOwner(TextAuthorship.OTHERS)
    shared = TextAuthorship.MODEL if len(ours) == len(uses) else TextAuthorship.SHARED
    if all(use.sampled == ((0, use.length),) for use in ours):
        return StretchOwner(shared)
    # Only a text of one length can be cut at a fixed place.
    cuts = {(use.sampled, use.length) for use in ours}
    if len(cuts) == 1 and len(ours[0].sampled) == 1:
        return StretchOwner(shared, ours[0].sampled[0])
    return StretchOwner(TextAuthorship.OTHERS)


def marks_what_the_model_writes(analysis: Analysis, marked: ChatTemplate) -> bool:
    """Return whether all texts are unchanged, and exactly the sampled text is marked."""
    try:
        return prove_training_template(analysis, marked, written_calls=True).passed
    except TrainingTemplateError:
        return False

"""Simplify proven edits, so that they look written by a person and render the same.

Only text that the edits touch is rewritten, and only if the caller finds that both templates render
alike.

Redundant brackets are removed, constant conditions are resolved, and tags are put on lines of their
own. For example `{{ f((x or '')) }}` becomes `{{ f(x or '') }}`; and if the template has each tag
on a line of its own,

    {%- endfor %}{% if a %}{{- 'b' }}{% endif %}

becomes

    {%- endfor %}
    {%- if a %}
        {{- 'b' }}
    {%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import Protocol

from jinja2 import nodes

from autoparser.analysis.core.errors import AutoparserError, TemplateSyntaxError
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.source_text import TemplateToken, template_tokens
from autoparser.analysis.templates.template_edits import (
    StatementStretch,
    TemplateEdit,
    TemplateItem,
    all_items,
    apply_edits,
    bracket_stretches,
    condition_places,
    one_sided,
    spans_after,
    statement_spans,
    statement_tree,
)


def without_brackets(text: str) -> Iterator[tuple[TemplateEdit, ...]]:
    """Yield pairs of edits that remove brackets; the caller checks that they are redundant."""
    for tokens in statement_spans(template_tokens(text)):
        opened: list[TemplateToken] = []
        for token in tokens:
            if token.kind == "operator" and token.value == "(":
                opened.append(token)
            elif token.kind == "operator" and token.value == ")" and opened:
                first = opened.pop()
                inner = text[first.end : token.start]
                start = first.end + len(inner) - len(inner.lstrip())
                end = first.end + len(inner.rstrip())
                yield TemplateEdit(first.start, start, ""), TemplateEdit(end, token.end, "")


@dataclass(frozen=True, slots=True)
class _PlacedTag:
    """A tag or an output, with its effect on the nesting depth."""

    start: int
    """Its first character, e.g. 23 for the output in ``{% for m in messages %}{{ (m.x) }}{% endfor
    %}``."""
    end: int
    """The offset after its last character, e.g. 34 there."""
    word: str
    """The tag's first word, e.g. ``endif``; empty for an output."""

    @property
    def leaves(self) -> bool:
        """Whether it ends the body of an earlier tag."""
        return self.word.startswith("end") or self.word in ("else", "elif")

    @property
    def opens(self) -> bool:
        """Whether it begins a body."""
        return self.word in _OPENING or self.word in ("else", "elif")


def own_lines(text: str, spans: Sequence[tuple[int, int]]) -> tuple[TemplateEdit, ...]:
    """Return the edits that put tags in these spans, and their neighbors, on their own lines.

    It is empty if most of the template's own tags do not begin lines.
    """
    tags = [*_tags(text)]
    inside = [tag for tag in tags if tag.word]
    # Follow the author's layout: if the tags are inline, new ones get no lines of their own.
    if 2 * sum(_begins_line(text, tag) for tag in inside) < len(inside):
        return ()
    step = _step(text, tags)
    found: list[TemplateEdit] = []
    indents: list[str | None] = []
    """The indentation of each tag, or None if another text precedes it on its line."""
    opened: list[tuple[str | None, bool]] = []
    for at, tag in enumerate(tags):
        before = tags[at - 1] if at else tag
        joined = before.end == tag.start
        indent = _line_begin(text, tag.start) if _begins_line(text, tag) else None
        outer, short = opened[-1] if opened else (None, False)
        if joined and tag.leaves:
            indent = outer
        elif joined:
            more = step if before.opens and short else ""
            indent = None if indents[-1] is None else indents[-1] + more
        indents.append(indent)
        if tag.leaves and opened:
            opened.pop()
        if tag.opens:
            opened.append((outer if tag.leaves else indent, _closes_in_line(text, tags, at)))
        new = any(start <= joint.start < end for joint in (before, tag) for start, end in spans)
        if joined and new and indent is not None:
            found.append(_on_own_line(text, tag, indent))
    return tuple(found)


def _closes_in_line(text: str, tags: Sequence[_PlacedTag], at: int) -> bool:
    """Return whether a tag's body ends on the same line."""
    depth = 0
    for tag in tags[at + 1 :]:
        if tag.leaves and not depth:
            return "\n" not in text[tags[at].end : tag.start]
        depth += tag.opens - tag.leaves
    return False


_OPENING = frozenset({"if", "for", "macro", "call", "filter", "generation", "with", "set_block"})


def _on_own_line(text: str, tag: _PlacedTag, indent: str) -> TemplateEdit:
    """Begin a line with a tag, whose `-` has no other text to strip."""
    # The tag gets `-` as its sign, replacing any other.
    opened = tag.start + 2 + (text[tag.start + 2] in "-+")
    apart = "" if text[opened].isspace() else " "
    return TemplateEdit(tag.start, opened, f"\n{indent}{text[tag.start : tag.start + 2]}-{apart}")


def _begins_line(text: str, tag: _PlacedTag) -> bool:
    return not _line_begin(text, tag.start).strip()


def _line_begin(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _step(text: str, tags: Sequence[_PlacedTag]) -> str:
    """Return the indentation that the template adds to a body."""
    for before, tag in pairwise(tags):
        if before.word in _OPENING and _begins_line(text, before) and _begins_line(text, tag):
            outer, inner = _line_begin(text, before.start), _line_begin(text, tag.start)
            if len(inner) > len(outer) and inner.startswith(outer):
                return inner[len(outer) :]
    return ""


def _tags(text: str) -> Iterator[_PlacedTag]:
    begun: TemplateToken | None = None
    inside: list[str] = []
    for token in template_tokens(text):
        if token.kind in ("block_begin", "variable_begin"):
            begun, inside = token, []
        elif token.kind in ("block_end", "variable_end") and begun is not None:
            start = begun.start + len(begun.value) - len(begun.value.lstrip())
            end = token.start + len(token.value.rstrip())
            word = inside[0] if token.kind == "block_end" and inside else ""
            is_block = inside[:1] == ["set"] and "=" not in inside
            yield _PlacedTag(start, end, "set_block" if is_block else word)
            begun = None
        elif begun is not None and token.kind != "whitespace":
            inside.append(token.value)


# The values of conditions. A part is an operand of `and`, `or` and `not`: `a` and `b > 1` in `a or
# (not a and b > 1)`. That condition is equivalent to `a or b > 1`, and `a or not a` is always true.
# If `a` is true, it is defined and not none.


MOST_PARTS = 8
"""Conditions with more parts are skipped."""


def constant_condition(condition: str) -> bool | None:
    """Return the value of a constant condition, or None if it depends on its parts."""
    found = _truths(condition, {})
    return found[0] if found and len({*found}) == 1 else None


def same_truth(one: str, other: str) -> bool:
    """Return whether two conditions are equivalent, whatever the values of their parts."""
    parts = {**_operands(_parse_condition(one)), **_operands(_parse_condition(other))}
    found = _truths(one, parts)
    return bool(found) and found == _truths(other, parts)


def _truths(condition: str, parts: Mapping[str, nodes.Node]) -> list[bool]:
    """Return a condition's value for each combination of its parts; empty if it has too many."""
    read = _parse_condition(condition)
    named = parts or _operands(read)
    if read is None or len(named) > MOST_PARTS:
        return []
    held = (
        dict(zip(named, values, strict=True))
        for values in product((False, True), repeat=len(named))
    )
    return [_truth(read, values) for values in held if _possible(named, values)]


def _possible(parts: Mapping[str, nodes.Node], part_truths: Mapping[str, bool]) -> bool:
    """Return whether parts can have these values together: a true value is defined."""
    for name, part in parts.items():
        # `x` and `x is none` are separate parts, but cannot both be true.
        if isinstance(part, nodes.Test) and part_truths.get(repr(part.node)):
            absent = {"none": True, "undefined": True, "defined": False}.get(part.name)
            if part_truths[name] is absent:
                return False
    return True


def _parse_condition(condition: str) -> nodes.Node | None:
    try:
        found = ChatTemplate(f"{{% if {condition} %}}{{% endif %}}").syntax_tree.find(nodes.If)
    except TemplateSyntaxError:
        return None
    return found.test if found is not None else None


def _operands(read: nodes.Node | None) -> dict[str, nodes.Node]:
    match read:
        case nodes.And() | nodes.Or():
            return {**_operands(read.left), **_operands(read.right)}
        case nodes.Not():
            return _operands(read.node)
        case nodes.Const() | nodes.List(items=[]) | nodes.Dict(items=[]) | None:
            return {}
        case _:
            return {repr(read): read}


def _truth(read: nodes.Node, part_truths: Mapping[str, bool]) -> bool:
    match read:
        case nodes.And():
            return _truth(read.left, part_truths) and _truth(read.right, part_truths)
        case nodes.Or():
            return _truth(read.left, part_truths) or _truth(read.right, part_truths)
        case nodes.Not():
            return not _truth(read.node, part_truths)
        case nodes.Const():
            return bool(read.value)
        case nodes.List(items=[]) | nodes.Dict(items=[]):
            return False
        case _:
            return part_truths[repr(read)]


# Remove constant conditions. For example `{% if true %}a{% else %}b{% endif %}` becomes `a`, `{%
# elif a or not a %}` becomes `{% else %}`, `{{ x if false else y }}` becomes `{{ y }}`, `{% if b or
# (not b and c) %}` becomes `{% if b or (c) %}`; an empty branching is removed, and so is `{% set x
# = x %}`. A tag on a line of its own is removed with its line, and its body is dedented.


Edits = tuple[TemplateEdit, ...]


def decided_conditions(text: str) -> Iterator[Edits]:
    """Yield edits to apply together, each of which simplifies a template.

    Of several ways to write the same, the tidiest comes first.
    """
    for tokens in statement_spans(template_tokens(text)):
        yield from _shorter(text, tokens)
        yield from _chosen_values(text, tokens)
    for item in all_items(statement_tree(text)):
        if item.word == "if":
            yield from _chosen_bodies(text, item)
        elif item.word == "set" and _sets_itself(text, item):
            yield from _without(text, (item.start, item.end))


def _shorter(text: str, tokens: Sequence[TemplateToken]) -> Iterator[Edits]:
    """Remove a side of an `and` or `or` that does not affect it."""
    for start, end in condition_places(tokens):
        for edit in one_sided([token for token in tokens if start <= token.start < end]):
            moved = TemplateEdit(edit.start - start, edit.end - start, "")
            if same_truth(text[start:end], apply_edits(text[start:end], [moved])):
                yield (edit,)


def _chosen_values(text: str, tokens: Sequence[TemplateToken]) -> Iterator[Edits]:
    """Write the only value of `x if … else y` that is ever taken."""
    for row in bracket_stretches(tokens):
        for at, asked in enumerate(row):
            if asked.before != "if" or not at or not (held := _always(text, row, at)):
                continue
            first, last, other = _sides(row, at)
            taken = (row[first].start, row[at - 1].end) if held == (True,) else other
            if taken is not None:
                yield (TemplateEdit(row[first].start, last, text[slice(*taken)]),)


def _always(text: str, row: Sequence[StatementStretch], at: int) -> tuple[bool, ...]:
    """Return the value of a constant condition; empty if it is not constant."""
    found = constant_condition(text[row[at].start : row[_joined_end(row, at)].end])
    return () if found is None else (found,)


def _joined_end(row: Sequence[StatementStretch], at: int) -> int:
    while row[at].after in ("and", "or") and at + 1 < len(row):
        at += 1
    return at


def _sides(row: Sequence[StatementStretch], at: int) -> tuple[int, int, tuple[int, int] | None]:
    """Return the first stretch of an `x if … else y`, its end, and the place of `y`."""
    first = at - 1
    while first and row[first].before in ("and", "or"):
        first -= 1
    asked = _joined_end(row, at)
    if row[asked].after != "else" or asked + 1 >= len(row):
        return first, row[asked].end, None
    last = asked + 1
    while row[last].after in ("and", "or", "if", "else") and last + 1 < len(row):
        last += 1
    return first, row[last].end, (row[asked + 1].start, row[last].end)


def _sets_itself(text: str, item: TemplateItem) -> bool:
    """Return whether a variable is set to itself."""
    for tokens in statement_spans(template_tokens(text[item.start : item.end])):
        words = [token.value for token in tokens]
        equal = words.index("=") if "=" in words else 0
        return bool(equal) and words[1:equal] == words[equal + 1 :]
    return False


def _chosen_bodies(text: str, item: TemplateItem) -> Iterator[Edits]:
    """Write the bodies of a branching that are ever reached, without constant conditions."""
    if all(text[body.start : body.end].isspace() or not body.items for body in item.bodies):
        yield from _without(text, (item.start, item.end))
        return
    ends = [item.start, *(body.end for body in item.bodies)]
    tags = [(ends[at], body.start) for at, body in enumerate(item.bodies)]
    closing = (item.bodies[-1].end, item.end)
    for number, (tag, body) in enumerate(zip(tags, item.bodies, strict=True)):
        held = _tag_holds(text[slice(*tag)])
        if held is None:
            continue
        if held and number:
            # The signs of whitespace control at both ends of the tag stay, so that the text stays.
            otherwise = f"{text[tag[0] : tag[0] + 3].rstrip()} else {text[tag[1] - 3 : tag[1]]}"
            written = TemplateEdit(*tag, otherwise.replace("  ", " "))
            yield (written, *_line_gone(text, (body.end, closing[0])))
        elif held or (number + 1 < len(tags) and _word(text[slice(*tags[1])]) == "else"):
            kept = body if held else item.bodies[1]
            yield from _unwrap_body(text, (item.start, kept.start), (kept.end, item.end))
        elif number + 1 == len(tags) == 1:
            yield from _without(text, (item.start, item.end))
        elif number:
            yield _line_gone(text, (tag[0], body.end))
        else:
            # Turn the second condition into the first.
            at = text.index("elif", tags[1][0])
            renamed = TemplateEdit(at, at + 2, "")
            yield (*_line_gone(text, (item.start, tags[1][0])), renamed)


def _word(tag: str) -> str:
    return tag.strip("{%-+ }").partition(" ")[0]


def _tag_holds(tag: str) -> bool | None:
    for tokens in statement_spans(template_tokens(tag)):
        for start, end in condition_places(tokens):
            return constant_condition(tag[start:end])
    return None


def _unwrap_body(text: str, before: tuple[int, int], after: tuple[int, int]) -> Iterator[Edits]:
    """Remove the tags around a body."""
    lines = _whole_lines(text, before), _whole_lines(text, after)
    if lines[0] and lines[1]:
        around = (TemplateEdit(*lines[0], ""), TemplateEdit(*lines[1], ""))
        inner = (lines[0][1], max(lines[1][0], lines[0][1]))
        yield (*around, *_dedent_lines(text, inner, _line_begin(text, before[0])))
        yield around
    yield _remove_with_space(text, before) + _remove_with_space(text, after)
    yield TemplateEdit(*before, ""), TemplateEdit(*after, "")


def _without(text: str, place: tuple[int, int]) -> Iterator[Edits]:
    yield _line_gone(text, place)
    yield _remove_with_space(text, place)
    yield (TemplateEdit(*place, ""),)


def _line_gone(text: str, place: tuple[int, int]) -> Edits:
    """Remove a stretch, with its lines if they hold nothing else."""
    return (TemplateEdit(*(_whole_lines(text, place) or place), ""),)


def _whole_lines(text: str, place: tuple[int, int]) -> tuple[int, int] | None:
    """Return the lines of a stretch, or None if they hold other text."""
    start = text.rfind("\n", 0, place[0]) + 1
    end = text.find("\n", place[1])
    end = len(text) if end < 0 else end + 1
    apart = not text[start : place[0]].strip() and not text[place[1] : end].strip()
    return (start, end) if apart else None


def _dedent_lines(text: str, place: tuple[int, int], indent: str) -> Iterator[TemplateEdit]:
    """Dedent lines by the indentation of the first one relative to a tag."""
    lines = text[slice(*place)].splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    more = len(first) - len(first.lstrip(" \t")) - len(indent)
    at = place[0]
    for line in lines:
        # Do not dedent a line with less indentation, since that would cut its text.
        if more > 0 and line[:more].isspace() and line.strip():
            yield TemplateEdit(at, at + more, "")
        at += len(line)


def _remove_with_space(text: str, place: tuple[int, int]) -> Edits:
    """Remove a stretch with the whitespace that its tags strip."""
    start, end = place
    # Without this tag, whitespace that it stripped would be rendered.
    if text[start + 2 : start + 3] == "-":
        start = len(text[:start].rstrip())
    if text[end - 3 : end - 2] == "-":
        end += len(text[end:]) - len(text[end:].lstrip())
    return (TemplateEdit(start, end, ""),)


MOST_FORMS = 40
"""The maximum number of simplifications of a template."""

Spans = tuple[tuple[int, int], ...]


class EditJudge(Protocol):
    """Protocol for renderers that compare edited templates."""

    def with_text(self, text: str) -> ChatTemplate:
        """Return the template with another text."""
        ...

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Return whether both render the same."""
        ...


def tidy_template(text: str, edits: Sequence[TemplateEdit], judge: EditJudge) -> ChatTemplate:
    """Return the edited template in its simplest form."""
    template, spans = judge.with_text(apply_edits(text, edits)), spans_after(edits)
    # Each form may enable another one, e.g. removing brackets around what is left of a condition.
    for _ in range(MOST_FORMS):
        form = next(_plainer(judge, template, spans), None)
        if form is None:
            break
        template = judge.with_text(apply_edits(template.text, form))
        spans = spans_after(form, spans)
    lines = own_lines(template.text, spans)
    apart = judge.with_text(apply_edits(template.text, lines))
    return apart if lines and _alike(judge, template, apart) else template


def _plainer(
    judge: EditJudge, template: ChatTemplate, spans: Spans
) -> Iterator[Sequence[TemplateEdit]]:
    """Yield simpler forms with the same renders."""
    text = template.text
    # A constant condition is decided by syntax alone, but removing its tags may move whitespace, so
    # that renders judge.
    for form in _touching(decided_conditions(text), spans):
        if _alike(judge, template, judge.with_text(apply_edits(text, form))):
            yield form
    # Removing redundant brackets preserves the syntax tree, so comparing trees needs no render.
    for form in _touching(without_brackets(text), spans):
        if _same_tree(template, judge.with_text(apply_edits(text, form))):
            yield form


def _touching(
    forms: Iterable[Sequence[TemplateEdit]], spans: Spans
) -> Iterator[Sequence[TemplateEdit]]:
    """Yield the forms that change edited text, not text that the template had before."""
    for form in forms:
        # Edits after the first two only dedent.
        ends = chain.from_iterable((edit.start, edit.end) for edit in form[:2])
        places = [*ends]
        if any(min(places) <= end and start <= max(places) for start, end in spans):
            yield form


def _same_tree(one: ChatTemplate, other: ChatTemplate) -> bool:
    try:
        return one.syntax_tree == other.syntax_tree
    except AutoparserError:
        return False


def _alike(judge: EditJudge, one: ChatTemplate, other: ChatTemplate) -> bool:
    try:
        other.check_syntax()
    except AutoparserError:
        return False
    return judge.alike(one, other)

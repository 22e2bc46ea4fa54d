"""Conditions that always come to the same, written out of a template.

For example `{% if true %}a{% else %}b{% endif %}` becomes `a`, `{% elif a or not a %}` becomes
`{% else %}`, `{{ x if false else y }}` becomes `{{ y }}`, `{% if b or (not b and c) %}` becomes
`{% if b or (c) %}`; a branching that holds nothing goes, and so does `{% set x = x %}`. Where a tag
stands on a line of its own, the line goes, and what it held moves to the left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .expressions import StatementStretch, conditions, statements, stretches
from .simplifications import one_sided
from .statement_tree import StatementBody, TemplateItem, statement_tree
from .template_edit import TemplateEdit, edited
from .truth_table import always, same_truth

__all__ = ["decided_conditions"]

Edits = tuple[TemplateEdit, ...]


def decided_conditions(text: str) -> Iterator[Edits]:
    """Return edits to be made together, each by which a template says the same in less.

    Of several ways to write the same, the tidiest is first.
    """
    for tokens in statements(template_tokens(text)):
        yield from _shorter(text, tokens)
        yield from _chosen_values(text, tokens)
    for item in _items(statement_tree(text)):
        if item.word == "if":
            yield from _chosen_bodies(text, item)
        elif item.word == "set" and _sets_itself(text, item):
            yield from _without(text, (item.start, item.end))


def _shorter(text: str, tokens: Sequence[TemplateToken]) -> Iterator[Edits]:
    """Leave out a side of an `and` or `or` that decides nothing."""
    for start, end in conditions(tokens):
        for edit in one_sided([token for token in tokens if start <= token.start < end]):
            moved = TemplateEdit(edit.start - start, edit.end - start, "")
            if same_truth(text[start:end], edited(text[start:end], [moved])):
                yield (edit,)


def _chosen_values(text: str, tokens: Sequence[TemplateToken]) -> Iterator[Edits]:
    """Write the one value of `x if … else y` that is ever taken."""
    for row in stretches(tokens):
        for at, asked in enumerate(row):
            if asked.before != "if" or not at or not (held := _always(text, row, at)):
                continue
            first, last, other = _sides(row, at)
            taken = (row[first].start, row[at - 1].end) if held == (True,) else other
            if taken is not None:
                yield (TemplateEdit(row[first].start, last, text[slice(*taken)]),)


def _always(text: str, row: Sequence[StatementStretch], at: int) -> tuple[bool, ...]:
    """Return what a condition always comes to, if that is one thing."""
    found = always(text[row[at].start : row[_joined_end(row, at)].end])
    return () if found is None else (found,)


def _joined_end(row: Sequence[StatementStretch], at: int) -> int:
    while row[at].after in ("and", "or") and at + 1 < len(row):
        at += 1
    return at


def _sides(row: Sequence[StatementStretch], at: int) -> tuple[int, int, tuple[int, int] | None]:
    """Return the first stretch of an `x if … else y`, where it ends, and the place of `y`."""
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


def _items(body: StatementBody) -> Iterator[TemplateItem]:
    for item in body.items:
        yield item
        for inner in item.bodies:
            yield from _items(inner)


def _sets_itself(text: str, item: TemplateItem) -> bool:
    """Say whether a variable is set to what it is."""
    for tokens in statements(template_tokens(text[item.start : item.end])):
        words = [token.value for token in tokens]
        equal = words.index("=") if "=" in words else 0
        return bool(equal) and words[1:equal] == words[equal + 1 :]
    return False


def _chosen_bodies(text: str, item: TemplateItem) -> Iterator[Edits]:
    """Write the bodies of a branching that are ever reached, without what asked for them."""
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
            otherwise = f"{text[tag[0] : tag[0] + 3].rstrip()} else {text[tag[1] - 3 : tag[1]]}"
            written = TemplateEdit(*tag, otherwise.replace("  ", " "))
            yield (written, *_line_gone(text, (body.end, closing[0])))
        elif held or (number + 1 < len(tags) and _word(text[slice(*tags[1])]) == "else"):
            kept = body if held else item.bodies[1]
            yield from _unwrapped(text, (item.start, kept.start), (kept.end, item.end))
        elif number + 1 == len(tags) == 1:
            yield from _without(text, (item.start, item.end))
        elif number:
            yield _line_gone(text, (tag[0], body.end))
        else:
            # What was asked second is asked first.
            at = text.index("elif", tags[1][0])
            renamed = TemplateEdit(at, at + 2, "")
            yield (*_line_gone(text, (item.start, tags[1][0])), renamed)


def _word(tag: str) -> str:
    return tag.strip("{%-+ }").partition(" ")[0]


def _tag_holds(tag: str) -> bool | None:
    for tokens in statements(template_tokens(tag)):
        for start, end in conditions(tokens):
            return always(tag[start:end])
    return None


def _unwrapped(text: str, before: tuple[int, int], after: tuple[int, int]) -> Iterator[Edits]:
    """Leave out what stands around a body."""
    lines = _whole_lines(text, before), _whole_lines(text, after)
    if lines[0] and lines[1]:
        around = (TemplateEdit(*lines[0], ""), TemplateEdit(*lines[1], ""))
        inner = (lines[0][1], max(lines[1][0], lines[0][1]))
        yield (*around, *_dedented(text, inner, _indent(text, before[0])))
        yield around
    yield _spaced(text, before) + _spaced(text, after)
    yield TemplateEdit(*before, ""), TemplateEdit(*after, "")


def _without(text: str, place: tuple[int, int]) -> Iterator[Edits]:
    yield _line_gone(text, place)
    yield _spaced(text, place)
    yield (TemplateEdit(*place, ""),)


def _line_gone(text: str, place: tuple[int, int]) -> Edits:
    """Leave out a stretch, with its lines where nothing else stands on them."""
    return (TemplateEdit(*(_whole_lines(text, place) or place), ""),)


def _whole_lines(text: str, place: tuple[int, int]) -> tuple[int, int] | None:
    """Return the lines of a stretch; None where something else stands on them."""
    start = text.rfind("\n", 0, place[0]) + 1
    end = text.find("\n", place[1])
    end = len(text) if end < 0 else end + 1
    apart = not text[start : place[0]].strip() and not text[place[1] : end].strip()
    return (start, end) if apart else None


def _indent(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _dedented(text: str, place: tuple[int, int], indent: str) -> Iterator[TemplateEdit]:
    """Move lines to the left by as much as the first of them stands to the right of a tag."""
    lines = text[slice(*place)].splitlines(keepends=True)
    first = next((line for line in lines if line.strip()), "")
    more = len(first) - len(first.lstrip(" \t")) - len(indent)
    at = place[0]
    for line in lines:
        if more > 0 and line[:more].isspace() and line.strip():
            yield TemplateEdit(at, at + more, "")
        at += len(line)


def _spaced(text: str, place: tuple[int, int]) -> Edits:
    """Leave out a stretch, and the whitespace beside it that its tags take away."""
    start, end = place
    if text[start + 2 : start + 3] == "-":
        start = len(text[:start].rstrip())
    if text[end - 3 : end - 2] == "-":
        end += len(text[end:]) - len(text[end:].lstrip())
    return (TemplateEdit(start, end, ""),)

"""How an edit is spelled: brackets that decide nothing, and tags that stand on a line together.

For example `{{ f((x or '')) }}` becomes `{{ f(x or '') }}`; and where a template gives each tag a
line of its own,

    {%- endfor %}{% if a %}{{- 'b' }}{% endif %}

becomes

    {%- endfor %}
    {%- if a %}
        {{- 'b' }}
    {%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .expressions import statements
from .template_edit import TemplateEdit

__all__ = ["own_lines", "without_brackets"]


def without_brackets(text: str) -> Iterator[tuple[TemplateEdit, ...]]:
    """Return edits, each a pair, that leave out brackets; whether they may go is to be asked."""
    for tokens in statements(template_tokens(text)):
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
    """A tag or an output, and what it does to the depth of those after it."""

    start: int
    end: int
    word: str
    """Empty for an output."""

    @property
    def leaves(self) -> bool:
        """Whether it ends what an earlier tag begins."""
        return self.word.startswith("end") or self.word in ("else", "elif")

    @property
    def opens(self) -> bool:
        """Whether something is within it."""
        return self.word in _OPENING or self.word in ("else", "elif")


def own_lines(text: str, spans: Sequence[tuple[int, int]]) -> tuple[TemplateEdit, ...]:
    """Return the edits that give tags of these places, and those beside them, lines of their own.

    There are none where the template itself does not begin its lines with tags.
    """
    tags = [*_tags(text)]
    inside = [each for each in tags if each.word]
    if 2 * sum(_begins_line(text, each) for each in inside) < len(inside):
        return ()
    step = _step(text, tags)
    found: list[TemplateEdit] = []
    indents: list[str | None] = []
    """Where the line of each tag begins; None where another text stands before it."""
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
        new = any(start <= each.start < end for each in (before, tag) for start, end in spans)
        if joined and new and indent is not None:
            found.append(_on_own_line(text, tag, indent))
    return tuple(found)


def _closes_in_line(text: str, tags: Sequence[_PlacedTag], at: int) -> bool:
    """Say whether what a tag opens ends in the same line."""
    depth = 0
    for tag in tags[at + 1 :]:
        if tag.leaves and not depth:
            return "\n" not in text[tags[at].end : tag.start]
        depth += tag.opens - tag.leaves
    return False


_OPENING = frozenset({"if", "for", "macro", "call", "filter", "generation", "with", "set_block"})


def _on_own_line(text: str, tag: _PlacedTag, indent: str) -> TemplateEdit:
    """Begin a tag's line; nothing stands before it that its `-` could take away."""
    opened = tag.start + 2 + (text[tag.start + 2] in "-+")
    apart = "" if text[opened].isspace() else " "
    return TemplateEdit(tag.start, opened, f"\n{indent}{text[tag.start : tag.start + 2]}-{apart}")


def _begins_line(text: str, tag: _PlacedTag) -> bool:
    return not _line_begin(text, tag.start).strip()


def _line_begin(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]


def _step(text: str, tags: Sequence[_PlacedTag]) -> str:
    """Return by how much the template moves the first line of a body to the right."""
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
            yield _PlacedTag(start, end, "set_block" if _is_block(inside) else word)
            begun = None
        elif begun is not None and token.kind != "whitespace":
            inside.append(token.value)


def _is_block(inside: Sequence[str]) -> bool:
    return inside[:1] == ["set"] and "=" not in inside

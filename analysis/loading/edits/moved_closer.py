"""A text that a loop writes with some of its items, written once after the loop instead.

For example `{% for c in calls %}{{ c }}{% if not loop.first %}{{ '>' }}{% endif %}{% endfor %}`
with the text `>` gives `{% for c in calls %}{{ c }}{% if not loop.first %}{% endif %}{% endfor %}`
with `{{- '>' }}` after it; and with `{%- if calls %}{{- '>' }}{% endif %}`, since a loop over
nothing writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .additions import jinja_text, string_value
from .statement_tree import ItemKind, StatementBody, TemplateItem, statement_tree
from .template_edit import TemplateEdit

__all__ = ["after_all_messages", "after_its_loop", "items_after_all"]


def items_after_all(text: str) -> Iterator[TemplateItem]:
    """Return what follows the last loop that is in nothing else, but for tags by themselves."""
    items = statement_tree(text).items
    loops = [at for at, item in enumerate(items) if item.word == "for"]
    for item in items[loops[-1] + 1 :] if loops else ():
        if item.kind is not ItemKind.TAG and text[item.start : item.end].strip():
            yield item


def after_all_messages(text: str) -> Iterator[TemplateEdit]:
    """Leave out what follows the last loop, or the `else` of it."""
    for item in items_after_all(text):
        yield TemplateEdit(item.start, item.end, "")
        if item.word == "if" and len(item.bodies) > 1:
            yield TemplateEdit(item.bodies[-2].end, item.bodies[-1].end, "")


def after_its_loop(text: str, closer: str) -> Iterator[tuple[TemplateEdit, ...]]:
    """Return the edits, to be made together, that move a text out of a loop; inner loops first."""
    tokens = template_tokens(text)
    for loop in _loops(statement_tree(text)):
        inside = [token for token in tokens if loop.start <= token.start and token.end <= loop.end]
        removed = tuple(_removed(text, loop, inside, closer))
        if not removed:
            continue
        end = loop.end
        indent = text[text.rfind("\n", 0, loop.start) + 1 : loop.start]
        # The tag after it takes the line's beginning away.
        line = "" if indent.strip() or "\n" not in text[: loop.start] else f"\n{indent}"
        written = f"{{{{- {jinja_text(closer)} }}}}"
        guarded = f"{line}{{%- if {_over(text, inside)} %}}{written}{{% endif %}}"
        yield (*removed, TemplateEdit(end, end, guarded))
        for at in dict.fromkeys((end, end + text.startswith("\n", end))):
            yield (*removed, TemplateEdit(at, at, f"{line}{written}" if at == end else written))


def _loops(body: StatementBody) -> Iterator[TemplateItem]:
    for item in body.items:
        for inner in item.bodies:
            yield from _loops(inner)
        if item.word == "for":
            yield item


def _removed(
    text: str, loop: TemplateItem, inside: list[TemplateToken], closer: str
) -> Iterator[TemplateEdit]:
    """Take a text out of all that a loop writes."""
    whole = {(left, right): item for item in _outputs(loop) for left, right in item.operands}
    for token in inside:
        if token.kind == "data" and closer in token.value:
            at = token.start + token.value.index(closer)
            yield TemplateEdit(at, at + len(closer), "")
        elif token.kind == "string" and closer in (said := string_value(token.value)):
            output = whole.get((token.start, token.end))
            rest = jinja_text(said.replace(closer, "", 1))
            either = next((each for each in _choices(inside) if token in each), None)
            if either and rest in {text[each.start : each.end] for each in either[::2]}:
                # Both are the same now, so that there is nothing to choose.
                yield TemplateEdit(either[0].start, either[2].end, rest)
            elif said == closer and output is not None and len(output.operands) == 1:
                yield TemplateEdit(output.start, output.end, "")
            else:
                yield TemplateEdit(token.start, token.end, rest)


def _choices(
    inside: list[TemplateToken],
) -> Iterator[tuple[TemplateToken, TemplateToken, TemplateToken]]:
    """Return each `'a' if x else 'b'` as its first string, the `else` and its second string."""
    tokens = [token for token in inside if token.kind != "whitespace"]
    for at, token in enumerate(tokens[1:-1], 1):
        if token.value != "else" or tokens[at + 1].kind != "string":
            continue
        words = [each.value for each in tokens[:at]]
        asked = at - 1 - words[::-1].index("if") if "if" in words else 0
        before = tokens[asked - 1]
        if asked and before.kind == "string":
            yield before, token, tokens[at + 1]


def _outputs(item: TemplateItem) -> Iterator[TemplateItem]:
    for body in item.bodies:
        for inner in body.items:
            yield from (inner,) if inner.kind is ItemKind.OUTPUT else _outputs(inner)


def _over(text: str, inside: list[TemplateToken]) -> str:
    """Return what a loop goes through."""
    first = next(at for at, token in enumerate(inside) if token.value == "in")
    last = next(at for at, token in enumerate(inside) if token.kind == "block_end")
    return text[inside[first].end : inside[last].start].strip()

"""Find edits of a template by syntax alone that add text, keep values, or move text.

`adding_edits` gives tests and values a fallback. For example
`{% if m.calls is defined %}{{ m.text + x|trim }}{% endif %}` gives `{% if m.calls %}`,
`{{ (m.text or '') + x|trim }}` and one that takes `m.text` as it is if it is a string, and as JSON
else, `{{ m.text + (x or '') }}` and `{{ m.text + x| string }}`; `{{ t.split('/')[-1]|trim }}` gives
`{{ (t.split('/')[-1]|trim if '/' in t else t) }}`.

`kept_values` keeps a value that a loop sets until after the loop. At the end of each pass Jinja
forgets the names that `{% set %}` has set in it; only attributes of a namespace stay. In

    {% for m in messages %}{% set found = m.role == 'tool' %}{% endfor %}{{ found }}

`found` is not defined at the end; with the edits it has the value of the last pass.

`after_its_loop` moves a text out of a loop.

    after_its_loop("{% for c in calls %}{{ c }}>{% endfor %}", ">")
    ->  {% for c in calls %}{{ c }}{% endfor %}{%- if calls %}{{- '>' }}{% endif %}
    ->  {% for c in calls %}{{ c }}{% endfor %}{{- '>' }}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from .source_text import TemplateToken, template_tokens
from .template_edits import (
    FilterChain,
    ItemKind,
    TemplateEdit,
    TemplateItem,
    all_items,
    bracket_stretches,
    condition_places,
    filter_chains,
    statement_spans,
    statement_tree,
)


class KeptValue(NamedTuple):
    """A name that a loop sets, and the edits that keep its value."""

    name: str
    """E.g. `"found"`."""
    at: int
    """The offset of the tag that sets it, e.g. 23 in `{% for m in messages %}{% set last = m.role
    %}`."""
    edits: tuple[TemplateEdit, ...]
    """Edits that belong together, e.g. one that adds `{% set held_.it = last %}` there: each alone
    would break the template."""


def kept_values(text: str) -> Iterator[KeptValue]:
    """Yield the values that loops set and that are read elsewhere, each with its edits.

    They are read by their name after the loop and not in it, or as an attribute of a namespace that
    has it.
    """
    tokens = [token for token in template_tokens(text) if token.kind != "whitespace"]
    names = {token.value for token in tokens if token.kind == "name"}
    # Use an unused name, since assigning to one of the template's own would overwrite it.
    holder = next(name for name in _HOLDERS if name not in names)
    for loop in _outermost_loops(statement_tree(text).items):
        for tag in _tags_in(loop):
            read = [place.start for place in _read_places(tokens, tag.name)]
            if any(tag.end < place < loop.end for place in read):
                # The value belongs to the iteration and only shares its name with an outer one.
                continue
            if any(place > loop.end for place in read):
                yield KeptValue(tag.name, tag.start, _keeping_edits(text, loop, tag, holder))
            elif not read:
                for space in _namespaces_with(tokens, tag.name):
                    at = text.index(tag.name, text.index("set", tag.start) + len("set"))
                    edit = TemplateEdit(at, at, f"{space}.")
                    yield KeptValue(tag.name, tag.start, (edit,))


_HOLDERS = tuple(f"held{'_' * count}" for count in range(1, 99))


def _outermost_loops(items: Sequence[TemplateItem]) -> Iterator[TemplateItem]:
    """Yield the outermost loops: a value set in an inner one is lost in both."""
    for item in items:
        if item.word == "for":
            yield item
            continue
        for body in item.bodies:
            yield from _outermost_loops(body.items)


def _tags_in(loop: TemplateItem) -> Iterator[TemplateItem]:
    for body in loop.bodies:
        for item in body.items:
            if item.kind is ItemKind.TAG and item.word == "set" and item.name.isidentifier():
                yield item
            elif item.word == "if":
                yield from _tags_in(item)


def _read_places(tokens: Sequence[TemplateToken], name: str) -> Iterator[TemplateToken]:
    """Yield the places where a name is read, not set or used as an attribute or keyword."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.kind != "name" or token.value != name or before.value in (".", "set", "for"):
            continue
        if after.value != "=":
            yield token


def _namespaces_with(tokens: Sequence[TemplateToken], name: str) -> Iterator[str]:
    """Return the names of namespaces that have an attribute of this name."""
    words = [token.value for token in tokens]
    attributes = set(zip(words, words[1:], words[2:], strict=False))
    for set_, space, equals, made in zip(words, words[1:], words[2:], words[3:], strict=False):
        is_made = (set_, equals, made) == ("set", "=", "namespace")
        if is_made and (space, ".", name) in attributes:
            yield space


def _keeping_edits(
    text: str, loop: TemplateItem, tag: TemplateItem, holder: str
) -> tuple[TemplateEdit, ...]:
    """Return the edits that copy a value into a namespace, and out of it after the loop."""
    # The new tag comes between the loop and the text before it, which the loop's tag may strip.
    opening = "{%-" if text.startswith("{%-", loop.start) else "{%"
    return (
        TemplateEdit(
            loop.start, loop.start, f"{opening} set {holder} = namespace(it=none, there=false) %}}"
        ),
        TemplateEdit(
            tag.end,
            tag.end,
            f"{{% set {holder}.it = {tag.name} %}}"
            f"{{% set {holder}.there = true {_tag_end(text, tag)}",
        ),
        TemplateEdit(
            loop.end,
            loop.end,
            f"{{% if {holder}.there %}}{{% set {tag.name} = {holder}.it %}}"
            f"{{% endif {_tag_end(text, loop)}",
        ),
    )


def _tag_end(text: str, tag: TemplateItem) -> str:
    """Return the end of a tag, so that an addition leaves the whitespace after it unchanged."""
    return "-%}" if text.endswith("-%}", 0, tag.end) else "%}"


def jinja_text(text: str) -> str:
    """Write a text as a string of Jinja."""
    inner = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    quote = "'" if "'" not in inner else '"'
    return quote + inner.replace(quote, "\\" + quote) + quote


def string_value(literal: str) -> str:
    """Return the text of a string of Jinja, which may hold newlines as they are."""
    # Decode like Jinja's lexer.
    return literal[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")


def adding_edits(text: str) -> tuple[TemplateEdit, ...]:
    """Return every such edit of a template, in the order of their places, each once."""
    found = (
        edit
        for tokens in statement_spans(template_tokens(text))
        for edit in (*_value_edits(text, tokens), *_presence(text, tokens))
    )
    return tuple(sorted(dict.fromkeys(found)))


def _value_edits(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Yield edits that allow a field to be missing or a string, and guard cuts of it."""
    whole = {
        (stretch.start, stretch.end)
        for row in bracket_stretches(tokens)
        for stretch in row
        if stretch.before in ("", "=") and not stretch.after
    }
    asked = [*condition_places(tokens)]
    for chain in filter_chains(tokens):
        start, end = chain.start, _path_end(chain)
        value = text[start:end]
        if end > start and not any(left <= start and end <= right for left, right in asked):
            # Default to an empty list for a loop, and to an empty string elsewhere.
            nothing = "[]" if tokens[0].value == "for" else "''"
            for written in (
                f"{value} or {nothing}",
                f"{value} if {value} is string else {value}|tojson",
            ):
                # Add brackets unless the value is the whole expression.
                bare = (start, end) in whole
                yield TemplateEdit(start, end, written if bare else f"({written})")
        yield from _guarded_cuts(text, chain)
        yield from _bare_values(text, chain)


def _bare_values(text: str, chain: FilterChain) -> Iterator[TemplateEdit]:
    """Yield edits that convert a filter's value to a string, or allow it to be missing."""
    for start, end, kind in chain.operations:
        value = text[chain.start : start].rstrip()
        if kind == "|":
            yield TemplateEdit(chain.start, end, f"({value} or '')")
            yield TemplateEdit(start, end, "| string")


def _path_end(chain: FilterChain) -> int:
    """Return the end of the attributes and subscripts that follow a name; its start for none."""
    end = chain.start
    for _, after, kind in chain.operations:
        if kind not in ".[":
            break
        end = after
    return end


def _guarded_cuts(text: str, chain: FilterChain) -> Iterator[TemplateEdit]:
    """Yield edits that skip an operation if the value lacks the text that it looks for."""
    for at, (start, end, kind) in enumerate(chain.operations):
        inside = [*template_tokens("{{" + text[start:end] + "}}")]
        words = [token.value for token in inside if token.kind == "string"]
        if kind != "(" or len(words) != 1:
            continue
        value, last = text[chain.start : start], chain.operations[-1][1]
        if at + 1 < len(chain.operations):
            kept = f"({text[chain.start : last]} if {words[0]} in {value} else {value})"
            yield TemplateEdit(chain.start, last, kept)


_TESTS = {
    ("is", "defined"): "",
    ("is", "not", "none"): "",
    ("is", "not", "undefined"): "",
    ("is", "none"): "not ",
    ("is", "undefined"): "not ",
    ("is", "not", "defined"): "not ",
}
"""Tests of a field's presence, and the prefix of a test of its value."""


def _presence(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Yield edits that test the value of a field instead of its presence."""
    values = [token.value.lower() for token in tokens]
    for chain in filter_chains(tokens):
        end = chain.operations[-1][1]
        after = next((at for at, token in enumerate(tokens) if token.start >= end), len(tokens))
        for words, asked in _TESTS.items():
            if tuple(values[after : after + len(words)]) == words:
                last = tokens[after + len(words) - 1].end
                yield TemplateEdit(chain.start, last, f"{asked}{text[chain.start : end]}")
    for at, token in enumerate(tokens[:-2]):
        negated = values[at + 1 : at + 3] == ["not", "in"]
        if token.kind == "string" and (negated or values[at + 1] == "in"):
            first = at + 2 + negated
            if first < len(tokens) and tokens[first].kind == "name":
                end = _value_end(tokens, first)
                value = text[tokens[first].start : end]
                field = f"{value}[{token.value}]"
                yield TemplateEdit(token.start, end, f"not {field}" if negated else field)
                # The value may be a text in which another is searched, or null.
                yield TemplateEdit(tokens[first].start, end, f"({value} or '')")


def _value_end(tokens: Sequence[TemplateToken], at: int) -> int:
    """Return where the value ends that begins at a token."""
    chain = next(iter(filter_chains(tokens[at:])), None)
    if chain is None or chain.start != tokens[at].start:
        return tokens[at].end
    return chain.operations[-1][1]


def also_compared(text: str, known_text: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits that make each comparison with `known_text` accept `other`, too."""
    found: list[TemplateEdit] = []
    pair_text = f"[{jinja_text(known_text)}, {jinja_text(other)}]"
    for tokens in statement_spans(template_tokens(text)):
        for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
            if token.kind != "string" or token.value[1:-1] != known_text:
                continue
            if before.value in ("==", "!="):
                word = "in" if before.value == "==" else "not in"
                found.append(TemplateEdit(before.start, token.end, f"{word} {pair_text}"))
            # A member of a list of texts, as in `m.role in ['user', 'tool']`.
            elif before.value in ("[", "(", ",") and after and after.value in ("]", ")", ","):
                found.append(TemplateEdit(token.end, token.end, f", {jinja_text(other)}"))
    return tuple(found)


def replaced_value(text: str, known_text: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits that treat a field with the text `other` as `known_text`."""
    found: list[TemplateEdit] = []
    for tokens in statement_spans(template_tokens(text)):
        for chain in filter_chains(tokens):
            end = _path_end(chain)
            value = text[chain.start : end]
            if end > chain.start:
                old, new = jinja_text(known_text), jinja_text(other)
                kept = f"({old} if {value} == {new} else {value})"
                found.append(TemplateEdit(chain.start, end, kept))
    return tuple(found)


def asking_also(text: str, name: str) -> Iterator[TemplateEdit]:
    """Yield edits that add a variable to a condition."""
    for tokens in statement_spans(template_tokens(text)):
        for start, end in condition_places(tokens):
            yield TemplateEdit(start, end, f"({text[start:end]}) and {name}")
            yield TemplateEdit(end, end, f" and {name}")


# Edits that move a text, which a loop writes with some of its items, to the place after it.
#
# For example `{% for c in calls %}{{ c }}{% if not loop.first %}{{ '>' }}{% endif %}{% endfor %}`
# with the text `>` gives `{% for c in calls %}{{ c }}{% if not loop.first %}{% endif %}{% endfor
# %}` with `{{- '>' }}` after it; and with `{%- if calls %}{{- '>' }}{% endif %}`, since a loop
# over nothing writes nothing.


def items_after_all(text: str) -> Iterator[TemplateItem]:
    """Yield the items after the last top-level loop, except for single tags."""
    items = statement_tree(text).items
    loops = [at for at, item in enumerate(items) if item.word == "for"]
    for item in items[loops[-1] + 1 :] if loops else ():
        if item.kind is not ItemKind.TAG and text[item.start : item.end].strip():
            yield item


def after_all_messages(text: str) -> Iterator[TemplateEdit]:
    """Yield edits that remove an item after the last loop, or its `else`."""
    for item in items_after_all(text):
        yield TemplateEdit(item.start, item.end, "")
        if item.word == "if" and len(item.bodies) > 1:
            yield TemplateEdit(item.bodies[-2].end, item.bodies[-1].end, "")


def after_its_loop(text: str, closer: str) -> Iterator[tuple[TemplateEdit, ...]]:
    """Yield sets of edits that each move a text out of a loop; inner loops first."""
    tokens = template_tokens(text)
    loops = (item for item in all_items(statement_tree(text)) if item.word == "for")
    for loop in sorted(loops, key=attrgetter("end")):
        inside = [token for token in tokens if loop.start <= token.start and token.end <= loop.end]
        removed = tuple(_removals(text, loop, inside, closer))
        if not removed:
            continue
        end = loop.end
        indent = text[text.rfind("\n", 0, loop.start) + 1 : loop.start]
        # The tag after it takes the line's beginning away.
        line = "" if indent.strip() or "\n" not in text[: loop.start] else f"\n{indent}"
        written = f"{{{{- {jinja_text(closer)} }}}}"
        guarded = f"{line}{{%- if {_iterated_text(text, inside)} %}}{written}{{% endif %}}"
        yield (*removed, TemplateEdit(end, end, guarded))
        # `trim_blocks` drops a newline after a tag, but not after an output: written before that
        # newline, the text lets it through; written after it, the tag still drops it.
        for at in dict.fromkeys((end, end + text.startswith("\n", end))):
            yield (*removed, TemplateEdit(at, at, f"{line}{written}" if at == end else written))


def _removals(
    text: str, loop: TemplateItem, inside: list[TemplateToken], closer: str
) -> Iterator[TemplateEdit]:
    """Yield the edits that remove a text from the output of a loop."""
    whole = {
        operand: item
        for body in loop.bodies
        for item in all_items(body)
        for operand in item.operands
    }
    for token in inside:
        if token.kind == "data" and closer in token.value:
            at = token.start + token.value.index(closer)
            yield TemplateEdit(at, at + len(closer), "")
        elif token.kind == "string" and closer in (string_text := string_value(token.value)):
            output = whole.get((token.start, token.end))
            rest = jinja_text(string_text.replace(closer, "", 1))
            choice = next((row for row in _choices(inside) if token in row), None)
            if choice and rest in {text[string.start : string.end] for string in choice[::2]}:
                # Both strings are equal now, so the choice is unnecessary.
                yield TemplateEdit(choice[0].start, choice[2].end, rest)
            elif string_text == closer and output is not None and len(output.operands) == 1:
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
        words = [token.value for token in tokens[:at]]
        # Find the last `if` before the `else`, since choices may follow one another.
        asked = at - 1 - words[::-1].index("if") if "if" in words else 0
        before = tokens[asked - 1]
        if asked and before.kind == "string":
            yield before, token, tokens[at + 1]


def _iterated_text(text: str, inside: list[TemplateToken]) -> str:
    """Return the expression that a loop iterates over."""
    # A loop's own `in` comes first; its condition, after `if`, may have another one.
    first = next(at for at, token in enumerate(inside) if token.value == "in")
    last = next(at for at, token in enumerate(inside) if token.kind == "block_end")
    return text[inside[first].end : inside[last].start].strip()

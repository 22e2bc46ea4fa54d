"""Edits that write something more, found by syntax alone: what is asked or taken gets a way out.

For example `{% if m.calls is defined %}{{ m.text + x|trim }}{% endif %}` gives `{% if m.calls %}`,
`{{ (m.text or '') + x|trim }}` and one that takes `m.text` as it is if it is a string, and as JSON
else, `{{ m.text + (x or '') }}` and `{{ m.text + x| string }}`; `{{ t.split('/')[-1]|trim }}` gives
`{{ (t.split('/')[-1]|trim if '/' in t else t) }}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.loading.template import TemplateToken, template_tokens

from .expressions import FilterChain, conditions, filter_chains, statements, stretches
from .template_edit import TemplateEdit

__all__ = [
    "adding_edits",
    "also_compared",
    "asking_also",
    "jinja_text",
    "replaced_value",
    "string_value",
]


def jinja_text(text: str) -> str:
    """Write a text as a string of Jinja."""
    inner = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    quote = "'" if "'" not in inner else '"'
    return quote + inner.replace(quote, "\\" + quote) + quote


def string_value(literal: str) -> str:
    """Return the text of a string of Jinja, which may hold newlines as they are."""
    return literal[1:-1].encode("ascii", "backslashreplace").decode("unicode-escape")


def adding_edits(text: str) -> tuple[TemplateEdit, ...]:
    """Return every such edit of a template, in the order of their places, each once."""
    found = (
        edit
        for tokens in statements(template_tokens(text))
        for edit in (*_values(text, tokens), *_presence(text, tokens))
    )
    return tuple(sorted(dict.fromkeys(found)))


def _values(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Let a field be missing, or be a string already; let a part be cut only where it is there."""
    whole = {
        (stretch.start, stretch.end)
        for row in stretches(tokens)
        for stretch in row
        if stretch.before in ("", "=") and not stretch.after
    }
    asked = [*conditions(tokens)]
    for chain in filter_chains(tokens):
        start, end = chain.start, _path_end(chain)
        value = text[start:end]
        if end > start and not any(left <= start and end <= right for left, right in asked):
            # What a loop goes through is a list where it is there.
            nothing = "[]" if tokens[0].value == "for" else "''"
            for written in (
                f"{value} or {nothing}",
                f"{value} if {value} is string else {value}|tojson",
            ):
                bare = (start, end) in whole
                yield TemplateEdit(start, end, written if bare else f"({written})")
        yield from _cuts(text, chain)
        yield from _bare(text, chain)


def _bare(text: str, chain: FilterChain) -> Iterator[TemplateEdit]:
    """Leave out a filter, and let the value be missing, or be what is no string."""
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


def _cuts(text: str, chain: FilterChain) -> Iterator[TemplateEdit]:
    """Leave a value alone that lacks what an operation on it looks for."""
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
"""Tests whether a field is there, and what asks whether it holds something."""


def _presence(text: str, tokens: Sequence[TemplateToken]) -> Iterator[TemplateEdit]:
    """Ask whether a field holds something, where it is asked whether it is there."""
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
                field = f"{text[tokens[first].start : end]}[{token.value}]"
                yield TemplateEdit(token.start, end, f"not {field}" if negated else field)


def _value_end(tokens: Sequence[TemplateToken], at: int) -> int:
    """Return where the value ends that begins at a token."""
    chain = next(iter(filter_chains(tokens[at:])), None)
    if chain is None or chain.start != tokens[at].start:
        return tokens[at].end
    return chain.operations[-1][1]


def also_compared(text: str, known: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits by which every comparison with the string `known` takes `other`, too."""
    found: list[TemplateEdit] = []
    both = f"[{jinja_text(known)}, {jinja_text(other)}]"
    for tokens in statements(template_tokens(text)):
        for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
            if token.kind != "string" or token.value[1:-1] != known:
                continue
            if before.value in ("==", "!="):
                word = "in" if before.value == "==" else "not in"
                found.append(TemplateEdit(before.start, token.end, f"{word} {both}"))
            elif before.value in ("[", "(", ",") and after and after.value in ("]", ")", ","):
                found.append(TemplateEdit(token.end, token.end, f", {jinja_text(other)}"))
    return tuple(found)


def replaced_value(text: str, known: str, other: str) -> tuple[TemplateEdit, ...]:
    """Return the edits by which a field whose text is `other` is taken for `known`."""
    found: list[TemplateEdit] = []
    for tokens in statements(template_tokens(text)):
        for chain in filter_chains(tokens):
            end = _path_end(chain)
            value = text[chain.start : end]
            if end > chain.start:
                old, new = jinja_text(known), jinja_text(other)
                kept = f"({old} if {value} == {new} else {value})"
                found.append(TemplateEdit(chain.start, end, kept))
    return tuple(found)


def asking_also(text: str, name: str) -> Iterator[TemplateEdit]:
    """Ask for a variable, too, in every condition."""
    for tokens in statements(template_tokens(text)):
        for start, end in conditions(tokens):
            yield TemplateEdit(start, end, f"({text[start:end]}) and {name}")
            yield TemplateEdit(end, end, f" and {name}")

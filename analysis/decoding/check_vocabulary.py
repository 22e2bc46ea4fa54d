"""Provide a check's tokenizer: made for a format; its missing markers; texts that close."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import category

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import MemberOrder
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.grammar.grammar_rules import (
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    Node,
    PatternNode,
    RuleReference,
    SequenceNode,
    inner_nodes,
)
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .mask_sampling import JSON_CLOSERS

END = "\N{SYMBOL FOR END OF TRANSMISSION}"
"""The token that ends an answer in a vocabulary made here; no template writes it."""


def made_tokenizer(
    grammar: Grammar, *, markers: bool = True, stops: bool = False
) -> ModelTokenizer:
    """Make a tokenizer of one token per byte, and one for each of the format's markers.

    Without `markers`, they are text. With `stops`, those that end turns end an answer, as with a
    model's own tokenizer.
    """
    known = _markers(grammar) if markers else ()
    ends = [text for text in grammar.stop_strings if text in known] if stops else []
    added = [(END, True), *((text, False) for text in known)]
    return tokenizer_of(byte_tokenizer(added), eos=[END, *ends])


@dataclass(frozen=True, slots=True)
class MarkerFit:
    """How a tokenizer represents the markers of a format."""

    plain: tuple[str, ...] = ()
    """Markers without a token of their own: text like any other."""
    frame: tuple[str, ...] = ()
    """Those of them that begin or end a turn, which the model's own tokenizer has as tokens."""


def marker_fit(grammar: Grammar, tokenizer: ModelTokenizer) -> MarkerFit:
    """Find the format's markers in a vocabulary.

    A longer marker may be composed of a token and text; that is as good.
    """
    known = [token.text for token in tokenizer.added if token.text.strip()]
    frame = _frame(grammar)
    plain = tuple(
        marker
        for marker in _markers(grammar)
        if _is_whole(marker) and not any(text in marker for text in known)
    )
    return MarkerFit(plain, tuple(marker for marker in plain if marker in frame))


def _frame(grammar: Grammar) -> tuple[str, ...]:
    """Return the markers that begin and end a turn."""
    ends = (marker for text in grammar.stop_strings for marker in TemplateLiteral.of(text).markers)
    return tuple(dict.fromkeys((*grammar.turn.header.markers, *ends)))


def _markers(grammar: Grammar) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*grammar.preserved_tokens, *_frame(grammar))))


def _is_whole(marker: str) -> bool:
    """Return whether a marker is closed and has no variable part: it could be a token."""
    closed = category(marker[-1:] or " ") in ("Pe", "Pf", "Sm")
    return closed and "=" not in marker and '"' not in marker


def closing_texts(rules: GrammarRules, calls: CallFormat | None = None) -> tuple[str, ...]:
    """Collect the texts of a grammar by which a walk finds its way out of free text.

    If `calls` sort arguments, made-up names may stand before a required one, without end:
    a walk finds its way to the close by the names that a schema declares.
    """
    closes: dict[str, None] = {}
    for node in (rules.root, *rules.rules_by_name.values()):
        closes.update(dict.fromkeys(filter(None, _texts(node))))
    if calls is not None and calls.arguments.members.order is not MemberOrder.GIVEN:
        for node in rules.rules_by_name.values():
            closes.update(dict.fromkeys(_names_beside(node, rules.rules_by_name)))
    return (*closes, *JSON_CLOSERS)


def _names_beside(node: Node, rules_by_name: Mapping[str, Node]) -> Iterator[str]:
    """Return the texts that may stand where a name may be made up."""
    firsts = list(_firsts(node, rules_by_name))
    if any(isinstance(first, PatternNode) and first.but_not for first in firsts):
        yield from (first.text for first in firsts if isinstance(first, LiteralNode))


def _firsts(node: Node, rules_by_name: Mapping[str, Node]) -> Iterator[Node]:
    """Return the first nodes of alternatives, including those of the rules that they refer to."""
    left: list[Node] = [node] if isinstance(node, ChoiceNode) else []
    for option in left:
        match option:
            case ChoiceNode(options):
                left += options
            case RuleReference(name):
                left.append(rules_by_name[name])
            case SequenceNode((first, *_)):
                yield first
            case _:
                yield option


def _texts(node: Node) -> Iterator[str]:
    match node:
        case SequenceNode(items):
            for before, behind in pairwise(items):
                if isinstance(before, PatternNode) and isinstance(behind, LiteralNode):
                    yield behind.text
        case FreeTextNode(exits):
            yield from (each.close for each in exits if each.prose is not None)
        case PatternNode(close=close):
            yield close
        case _:
            pass
    for inner in inner_nodes(node):
        yield from _texts(inner)

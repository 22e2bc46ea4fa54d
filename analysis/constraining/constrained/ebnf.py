"""Grammars in Lark and GBNF, as llguidance takes them for one tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llguidance.gbnf_to_lark import (
    AlternativeNode,
    ASTNode,
    GbnfToLarkError,
    GrammarParser,
    LiteralNode,
    RepetitionNode,
    RuleNode,
    SequenceNode,
    is_lark_syntax,
    resolve,
)

from autoparser.analysis.constraining.grammar.gbnf import state_bodies
from autoparser.analysis.constraining.grammar.json_schema import any_but, literal
from autoparser.analysis.constraining.grammar.string_ways import quoted
from autoparser.analysis.constraining.grammar.until import states
from autoparser.analysis.loading.tokens import OpaqueTokens

from .constraint_errors import ConstraintError

__all__ = ["lark_grammar"]

_UNICODE_ESCAPE = re.compile(r"\\(?:\\|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")


def lark_grammar(text: str, opaque: OpaqueTokens) -> str:
    """Return the grammar in Lark: as it is, or from GBNF with added tokens as ``<[id]>``.

    A text in Lark is its author's, who writes tokens as ``<[id]>``. GBNF knows no tokens, so its
    literals are split where the tokenizer has some. Raises ``ConstraintError`` for bad GBNF.
    """
    if is_lark_syntax(text):
        return text
    text = _without_dispatch(text, opaque)
    try:
        rules = GrammarParser().parse(_UNICODE_ESCAPE.sub(_unescape, text))
        for rule in rules.values():
            rule.alternatives = _with_tokens(rule.alternatives, opaque)
        resolve(rules)
    except GbnfToLarkError as error:
        raise ConstraintError(str(error), place="ebnf") from error
    except Exception as error:
        raise ConstraintError(str(error), place="ebnf", hint="GBNF starts at root") from error
    ordered = sorted(rules.values(), key=_order)
    return "\n".join(["%llguidance {}", *(str(rule) for rule in ordered)]) + "\n"


_DISPATCH = re.compile(
    r"^(?P<name>[\w-]+) ::= TagDispatch\("
    r"loop_after_dispatch=false, excludes=\((?P<texts>.*)\)\)$",
    re.MULTILINE,
)
"""Any text but these, as xgrammar's EBNF says it and structural tags have it."""
_LITERAL = r'"((?:[^"\\]|\\.)*)"'


def _without_dispatch(text: str, opaque: OpaqueTokens) -> str:
    """Write texts that xgrammar's ``TagDispatch`` ends as states, which any GBNF has.

    What closes such a text is written by characters, as the states are: llguidance takes the
    longest literal, and would not go back.
    """
    for dispatch in list(_DISPATCH.finditer(text)):
        name = dispatch["name"]
        texts = [_literal_text(each) for each in re.findall(_LITERAL, dispatch["texts"])]
        found = states((), texts)
        names = [name, *(f"{name}-at-{at}" for at in range(1, len(found)))]
        first, *others = state_bodies(found, names)
        known = "".join(sorted({*found[0].goes, *found[0].refused}))
        rules = [
            f"{name} ::= {name}-run* ({first})",
            f"{name}-run ::= {any_but(known)} {name}-seam",
        ]
        rules.append(f'{name}-seam ::= "" | [\\x00] [^\\x00-\U0010ffff] {name}-seam')
        rules += [f"{each} ::= {body}" for each, body in zip(names[1:], others, strict=True)]
        text = text.replace(dispatch[0], "\n".join(rules))
        text = _closed_by_characters(text, name, opaque)
    return text


def _closed_by_characters(text: str, name: str, opaque: OpaqueTokens) -> str:
    """Write each literal behind a rule as one a character, but for added tokens."""

    def written(row: re.Match[str]) -> str:
        pieces = opaque.pieces(_literal_text(row[1]))
        texts = [[opaque.texts[each]] if isinstance(each, int) else list(each) for each in pieces]
        return " ".join([name, *(literal(each) for piece in texts for each in piece)])

    return re.sub(rf"(?<![\w-]){re.escape(name)} {_LITERAL}", written, text)


@dataclass
class _TokenNode(ASTNode):
    """An added token, in a sequence of the grammar."""

    number: int

    def __str__(self) -> str:
        return f"<[{self.number}]>"

    def is_terminal(self) -> bool:
        return False


@dataclass
class _TextNode(ASTNode):
    """A literal, its text unescaped."""

    text: str

    def __str__(self) -> str:
        return quoted(self.text)


def _with_tokens(node: ASTNode, opaque: OpaqueTokens) -> ASTNode:
    if isinstance(node, LiteralNode):
        pieces = opaque.pieces(_literal_text(node.value))
        nodes: list[ASTNode] = [
            _TokenNode(piece) if isinstance(piece, int) else _TextNode(piece) for piece in pieces
        ]
        return nodes[0] if len(nodes) == 1 else SequenceNode(nodes)
    if isinstance(node, SequenceNode):
        node.nodes = [_with_tokens(part, opaque) for part in node.nodes]
    elif isinstance(node, AlternativeNode):
        node.alternatives = [_with_tokens(part, opaque) for part in node.alternatives]
    elif isinstance(node, RepetitionNode):
        node.node = _with_tokens(node.node, opaque)
    return node


def _unescape(match: re.Match[str]) -> str:
    r"""Write ``\uXXXX`` as the character: llguidance's converter drops its leading zeros."""
    digits = match[1] or match[2]
    if not digits:
        return match[0]
    sign = chr(int(digits, 16))
    return sign if sign.isalnum() or not sign.isascii() else f"\\x{ord(sign):02x}"


def _literal_text(escaped: str) -> str:
    r"""Return the text of a literal as the converter keeps it: with JSON's escapes and ``\xNN``."""
    return str(json.loads('"' + "".join(_json_escapes(escaped)) + '"'))


def _json_escapes(escaped: str) -> Iterator[str]:
    place = 0
    while place < len(escaped):
        if escaped[place] != "\\":
            yield json.dumps(escaped[place])[1:-1]
            place += 1
        elif escaped[place + 1] == "x":
            yield f"\\u00{escaped[place + 2 : place + 4]}"
            place += 4
        else:
            sign = escaped[place + 1]
            yield sign if sign in "[]" else f"\\{sign}"
            place += 2


def _order(rule: RuleNode) -> int:
    return rule.order

"""Read constraints on an answer: a JSON schema, a regex, a grammar or a structural tag.

    Constraint.regex("[ab]+")  ->  Constraint (kind, text in normal form)

Schemas are read, given their whitespace and normalized; grammars in Lark and GBNF are brought into
the form that llguidance takes for one tokenizer. Equal constraints need one compilation.

For example, keywords are sorted, and whitespace is a keyword of llguidance:

    >>> print(Constraint.json_schema({"type": "string", "minLength": 1}, whitespace="compact").text)
    {"minLength":1,"type":"string","x-guidance":{"whitespace_flexible":false}}

With a tokenizer that has `<call>` as its token 257, `lark_grammar` turns the GBNF

    root ::= "<call>" [a-z]+ "</call>"

into `start: <[257]> /[a-z]/+ "</call>"`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any

from llguidance.gbnf_to_lark import (
    AlternativeNode,
    ASTNode,
    GbnfToLarkError,
    GrammarParser,
    LiteralNode,
    RepetitionNode,
    SequenceNode,
    is_lark_syntax,
    resolve,
)

from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
    value_kind,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.grammar.excluded_texts import exclusion_states
from autoparser.analysis.grammar.gbnf_rules import class_without, gbnf_literal
from autoparser.analysis.grammar.gbnf_writer import state_bodies
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.string_ways import lark_string
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer import ModelTokenizer

# Errors: a constraint that cannot be compiled, a token that a constraint does not allow.


class ConstraintError(AutoparserError):
    """A constraint contradicts itself or another, or cannot be compiled."""


class RefusedTokenError(AutoparserError):
    """A token was written that the constraint does not allow; the state is as before it."""


# JSON schemas as constraints: read, given their whitespace, and normalized.


ANY_JSON = "$$ANY$$"
"""In place of a schema: any JSON value."""

Whitespace = str
"""Between JSON's tokens: ``flexible`` (any), ``compact`` (none), else a regex for it."""

_ORDERED = frozenset({"properties"})
"""Keywords whose members are written in their order, which is therefore part of the meaning."""
_VALUES = frozenset({"const", "default", "enum", "examples", "x-guidance"})
"""Keywords that hold values, not schemas."""


def schema_from_json(schema: object, place: str = "json_schema") -> dict[str, Any]:
    """Read a schema: an object, its JSON text, ``$$ANY$$``, true, or a class of pydantic.

    Raises ``ConstraintError`` for anything else, and for ``false``, since no answer fits it.
    """
    method = getattr(schema, "model_json_schema", None)
    if callable(method):
        schema = method()
    if isinstance(schema, str) and schema != ANY_JSON:
        try:
            schema = json.loads(schema)
        except ValueError as error:
            raise ConstraintError(f"the schema is not valid JSON: {error}", place=place) from error
    # In JSON Schema, true and an empty schema allow any value.
    if schema == ANY_JSON or schema is True:
        return {}
    if schema is False:
        raise ConstraintError("the schema is false: no answer can satisfy it", place=place)
    if not is_mapping(schema):
        raise ConstraintError(
            f"a schema must be an object, got {value_kind(schema)}",
            place=place,
            hint=f"give a JSON schema, or {ANY_JSON} for any JSON",
        )
    return dict(schema)


def with_whitespace(schema: dict[str, Any], whitespace: Whitespace) -> dict[str, Any]:
    """Add the whitespace to a schema for llguidance, unless it has its own (``x-guidance``).

    Raises ``ConstraintError`` for a regex that the installed llguidance does not honor.
    """
    options: dict[str, Any]
    if whitespace not in ("flexible", "compact") and not _holds_patterns():
        raise ConstraintError(
            "the installed llguidance cannot restrict whitespace by a regex",
            place="whitespace",
            hint="install llguidance 1.9.1 or later, or use flexible or compact",
        )
    if whitespace == "flexible":
        options = {"whitespace_flexible": True}
    elif whitespace == "compact":
        options = {"whitespace_flexible": False}
    else:
        options = {"whitespace_flexible": True, "whitespace_pattern": whitespace}
    # The schema's own options come last, so that they are kept.
    return {**schema, "x-guidance": {**options, **(schema.get("x-guidance") or {})}}


@cache
def _holds_patterns() -> bool:
    """Return whether llguidance matches a whitespace pattern once; 1.7 lets it repeat."""
    from llguidance import LLMatcher, LLTokenizer  # noqa: PLC0415 - slow to import

    one_blank = {"whitespace_flexible": True, "whitespace_pattern": " ?"}
    schema = json.dumps({"type": "array", "x-guidance": one_blank})
    grammar = LLMatcher.grammar_from_json_schema(schema)
    blanks = list(b"[  ")
    return LLMatcher(LLTokenizer("byte"), grammar).validate_tokens(blanks) < len(blanks)


def schema_text(schema: dict[str, Any]) -> str:
    """Write a schema in normal form, with sorted keywords: two spellings give one text.

    The order of ``properties`` stays: it is the order in which they are written.
    """
    return json.dumps(_normal(schema), ensure_ascii=False, separators=(",", ":"))


def _normal(schema: object) -> object:
    if is_list(schema):
        return [_normal(part) for part in schema]
    if not is_mapping(schema):
        return schema
    normal: dict[str, object] = {}
    # Equal schemas are compiled once, in whatever order their keywords come.
    for keyword in sorted(schema):
        value = schema[keyword]
        if keyword in _ORDERED and is_mapping(value):
            normal[keyword] = {name: _normal(part) for name, part in value.items()}
        else:
            normal[keyword] = value if keyword in _VALUES else _normal(value)
    return normal


# Grammars in Lark and GBNF, as llguidance takes them for one tokenizer.


_UNICODE_ESCAPE = re.compile(r"\\(?:\\|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")


def lark_grammar(text: str, opaque: OpaqueTokens) -> str:
    """Return the grammar in Lark: unchanged, or from GBNF with added tokens as ``<[id]>``.

    The author of a text in Lark writes tokens as ``<[id]>``. GBNF has no tokens, so its
    literals are split where the tokenizer has some. Raises ``ConstraintError`` for bad GBNF.
    """
    if is_lark_syntax(text):
        return text
    # llguidance's converter reads GBNF, and `TagDispatch` is xgrammar's alone.
    text = _without_dispatch(text, opaque)
    try:
        rules = GrammarParser().parse(_UNICODE_ESCAPE.sub(_unescape, text))
        for rule in rules.values():
            rule.alternatives = _with_tokens(rule.alternatives, opaque)
        resolve(rules)
    except GbnfToLarkError as error:
        raise ConstraintError(str(error), place="ebnf") from error
    # llguidance's parser of GBNF raises errors of many kinds.
    except Exception as error:
        raise ConstraintError(
            str(error), place="ebnf", hint="define the start rule as `root`"
        ) from error
    ordered = sorted(rules.values(), key=attrgetter("order"))
    return "\n".join(["%llguidance {}", *(str(rule) for rule in ordered)]) + "\n"


_DISPATCH = re.compile(
    r"^(?P<name>[\w-]+) ::= TagDispatch\("
    r"loop_after_dispatch=false, excludes=\((?P<texts>.*)\)\)$",
    re.MULTILINE,
)
"""Any text but these, as in xgrammar's EBNF and in structural tags."""
_LITERAL = r'"((?:[^"\\]|\\.)*)"'


def _without_dispatch(text: str, opaque: OpaqueTokens) -> str:
    """Write the texts that xgrammar's ``TagDispatch`` ends as states, which any GBNF has.

    The close of such a text is written by characters, as the states are: llguidance takes the
    longest literal, and would not backtrack.
    """
    for dispatch in list(_DISPATCH.finditer(text)):
        name = dispatch["name"]
        texts = [_literal_text(literal) for literal in re.findall(_LITERAL, dispatch["texts"])]
        found = exclusion_states((), texts)
        # One rule for each state, in which the beginning of an excluded text was written.
        names = [name, *(f"{name}-at-{at}" for at in range(1, len(found)))]
        first, *others = state_bodies(found, names)
        known = "".join(sorted({*found[0].goes, *found[0].refused}))
        rules = [
            f"{name} ::= {name}-run* ({first})",
            f"{name}-run ::= {class_without(known)} {name}-seam",
        ]
        # A rule that matches only the empty text, but is recursive: otherwise llguidance would join
        # these rules to one regular expression, and its lexer would match that as a whole.
        rules.append(f'{name}-seam ::= "" | [\\x00] [^\\x00-\U0010ffff] {name}-seam')
        rules += [f"{name} ::= {body}" for name, body in zip(names[1:], others, strict=True)]
        text = text.replace(dispatch[0], "\n".join(rules))
        text = _closed_by_characters(text, name, opaque)
    return text


def _closed_by_characters(text: str, name: str, opaque: OpaqueTokens) -> str:
    """Write each literal behind a rule as single characters, but for added tokens."""

    def by_characters(row: re.Match[str]) -> str:
        pieces = opaque.pieces(_literal_text(row[1]))
        texts = [
            [opaque.texts[piece]] if isinstance(piece, int) else list(piece) for piece in pieces
        ]
        return " ".join([name, *(gbnf_literal(char) for piece in texts for char in piece)])

    return re.sub(rf"(?<![\w-]){re.escape(name)} {_LITERAL}", by_characters, text)


@dataclass
class _TokenNode(ASTNode):
    """An added token, in a sequence of the grammar."""

    number: int
    """The id of the token, e.g. `257`."""

    def __str__(self) -> str:
        return f"<[{self.number}]>"

    def is_terminal(self) -> bool:
        return False


@dataclass
class _TextNode(ASTNode):
    """A literal, its text unescaped."""

    text: str
    """The text, e.g. `"</call>"`."""

    def __str__(self) -> str:
        return lark_string(self.text)


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
    return str(json.loads(f'"{_ESCAPE.sub(_json_escape, escaped)}"'))


_ESCAPE = re.compile(r"\\x(?P<digits>..)|\\(?P<bracket>[\[\]])|(?P<same>\\.)|[^\\]+", re.DOTALL)


def _json_escape(match: re.Match[str]) -> str:
    if match["digits"]:
        return f"\\u00{match['digits']}"
    return match["bracket"] or match["same"] or json.dumps(match[0])[1:-1]


class ConstraintKind(Enum):
    """The four kinds; the value is the name of the request's field."""

    JSON_SCHEMA = "json_schema"
    REGEX = "regex"
    EBNF = "ebnf"
    """A grammar in Lark (as llguidance reads it) or GBNF, detected from the text."""
    STRUCTURAL_TAG = "structural_tag"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint in normal form: equal ones need one compilation."""

    kind: ConstraintKind
    """The kind of constraint, which decides what `text` is."""
    text: str
    r"""JSON of the schema or the structural tag, the regex, or the grammar, e.g.
    `%llguidance {}\n\nstart: TEXT_0?\nTEXT_0: /(?s:.+)/\n`."""

    @classmethod
    def json_schema(cls, schema: object, *, whitespace: Whitespace = "flexible") -> Constraint:
        """Constrain the answer to a JSON schema (see ``schema_from_json`` for its forms)."""
        made = with_whitespace(schema_from_json(schema), whitespace)
        return cls(ConstraintKind.JSON_SCHEMA, schema_text(made))

    @classmethod
    def regex(cls, pattern: str) -> Constraint:
        """Constrain the whole answer to a regex (of Rust's syntax: no look-around)."""
        return cls(ConstraintKind.REGEX, _nonempty_text(pattern, "regex"))

    @classmethod
    def ebnf(cls, grammar: str) -> Constraint:
        """Constrain the whole answer to a grammar in Lark or in GBNF."""
        return cls(ConstraintKind.EBNF, _nonempty_text(grammar, "ebnf"))

    @classmethod
    def of_request(cls, grammar: Grammar, tokenizer: ModelTokenizer) -> Constraint:
        """Constrain the whole answer to a request's grammar; raises as ``Grammar.lark`` does."""
        return cls.ebnf(grammar.lark(tokenizer))

    @classmethod
    def structural_tag(cls, tag: object, *, whitespace: Whitespace = "flexible") -> Constraint:
        """Constrain only the text inside tags.

        ``tag`` is SGLang's ``{"structures", "triggers"}`` or ``{"type": "structural_tag",
        "format"}``, as an object or as JSON. ``whitespace`` is that of its JSON.
        """
        if isinstance(tag, str):
            try:
                tag = json.loads(tag)
            except ValueError as error:
                raise ConstraintError(
                    f"the structural tag is not valid JSON: {error}", place="structural_tag"
                ) from error
        if not is_mapping(tag):
            raise ConstraintError(
                f"a structural tag must be an object, got {value_kind(tag)}", place="structural_tag"
            )
        # Whitespace is a part of the text, so that another one is another constraint.
        document = {"whitespace": whitespace, "tag": dict(tag)}
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return cls(ConstraintKind.STRUCTURAL_TAG, text)


def _nonempty_text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConstraintError("must be a non-empty string", place=place)
    return value

r"""Write arrays, objects and strings of a schema as GBNF expressions.

A flat schema is read into a plain value (`read_items`, `read_members`), whose `expression` writes
it with the tokens of JSON. Strings are written by their regular expression (`string_expression`).
For an object of `days`, an array of integers, at least one, and `city`, a string of at most 3
characters that may be missing, the rules are

    next-item ::= comma integer
    days ::= begin-array integer next-item* end-array
    times ::= char{0,3}
    city ::= "\"" times "\""
    from-city ::= (comma "\"city\"" colon city)?
    json ::= begin-object "\"days\"" colon days from-city end-object
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_errors import pointer_below
from autoparser.analysis.core.schema_keywords import Schema, keyword_count, keyword_schemas

from .code_points import ANY, CodePoints
from .gbnf_numbers import number_range
from .gbnf_patterns import RegexWriter, repeat_items
from .gbnf_rules import GbnfRules, JsonTokens, gbnf_literal
from .grammar_rules import CharacterQuoting
from .regex_nodes import ecma_regex, with_open_counts
from .regular_expressions import ANY_TEXT
from .schema_numbers import Interval
from .schema_survey import unwritable_keyword
from .string_shape import StringShape, string_shape

# Arrays: items by position, then items of one kind, in some number.


class Items(Struct, frozen=True):
    """The items that an array may hold."""

    leading: Sequence[str | None]
    """Expressions of the first items, e.g. ["integer", "boolean"], or None if no such value exists:
    the array ends before."""
    others: str | None
    """The expression of all further items, e.g. "string", or None if there are none."""
    least: int
    """The number of items at least: minItems, e.g. 1."""
    most: int | None
    """The number of items at most, e.g. 3, or None if unbounded."""

    def expression(self, tokens: JsonTokens) -> str | None:
        """Return the array's expression, or None if no array has these items."""
        leading = [*self.leading]
        most = self.most
        if None in leading:
            end = leading.index(None)
            leading, most = leading[:end], end if most is None else min(most, end)
        elif self.others is None:
            most = len(leading) if most is None else min(most, len(leading))
        if most is not None and most < self.least:
            return None
        body = self._behind(leading, most, tokens)
        return " ".join(filter(None, [tokens.begin_array, body, tokens.end_array]))

    def _behind(self, leading: Sequence[str | None], most: int | None, tokens: JsonTokens) -> str:
        """Return the text between the brackets."""
        if most is not None:
            leading = leading[:most]
        body = self._tail(len(leading), most, tokens)
        for at in range(len(leading) - 1, -1, -1):
            separator = f"{tokens.comma} " if at else ""
            body = f"{separator}{leading[at]} {body}".rstrip()
            if at >= self.least:
                body = tokens.rules.add("items", f"({body})?")
        return body

    def _tail(self, count: int, most: int | None, tokens: JsonTokens) -> str:
        """Return the items after the leading ones, of which there are `count`."""
        room = None if most is None else most - count
        if self.others is None or room == 0:
            return ""
        least = max(0, self.least - count)
        behind = tokens.rules.add("next-item", f"{tokens.comma} {self.others}")
        if count:
            return repeat_items(behind, least, room, tokens.rules)
        rest = repeat_items(
            behind, max(0, least - 1), None if room is None else room - 1, tokens.rules
        )
        body = self.others if rest == '""' else f"{self.others} {rest}"
        return body if least else f"({body})?"


def read_items(schema: Schema, pointer: str, value: Callable[[Json, str], str | None]) -> Items:
    """Read the items of a flat schema; `value` writes the schema of one.

    Raises SchemaError for items that must differ.
    """
    most = keyword_count(schema, "maxItems")
    if schema.get("uniqueItems") and (most is None or most > 1):
        raise unwritable_keyword(
            "uniqueItems", pointer, "each item would have to differ from all earlier ones"
        )
    place = pointer_below(pointer, "prefixItems")
    leading = [
        value(item, pointer_below(place, at))
        for at, item in enumerate(keyword_schemas(schema, "prefixItems"))
    ]
    others = value(schema.get("items", True), pointer_below(pointer, "items"))
    return Items(leading, others, keyword_count(schema, "minItems") or 0, most)


# Objects: known members in order, any of the optional ones left out, then others.
#
# The commas are right for every choice of members without a rule for each choice: a chain has one
# rule for each member and each number of members already written, as far as that number matters:
# whether it is zero, and against `minProperties` and `maxProperties`.


class Member(Struct, frozen=True):
    """A member that the schema knows by name."""

    name: str
    """Its name, e.g. "city"."""
    value: str | None
    """The expression of its value, e.g. "string", or None if it has no value and must be left
    out."""
    required: bool
    """Whether every object has it, e.g. True for "city" in {"required": ["city"]}."""


class Others(Struct, frozen=True):
    """Members that the schema does not know by name."""

    name: str
    """The expression of their names, with quotes, e.g. "other-name"."""
    value: str
    """The expression of their values, e.g. the rule "value"."""


class ObjectMembers(Struct, frozen=True):
    """The members that an object may hold."""

    named_members: Sequence[Member]
    """The members that the schema lists, in the order in which they are written, e.g. "a" and
    "b"."""
    others: Others | None
    """All other members, e.g. Others("other-name", "value"); None if no others are allowed."""
    least: int
    """The number of members at least: minProperties, e.g. 0."""
    most: int | None
    """The number of members at most, e.g. 4, or None if unbounded."""
    pointer: str
    """The object's place for errors, e.g. "#/properties/filter"."""

    def expression(self, tokens: JsonTokens) -> str | None:
        """Return the object's expression, or None if no object has these members.

        Raises SchemaError if several unknown members would have to have different names.
        """
        body = _Chain(self, tokens).between_braces()
        if body is None:
            return None
        return " ".join(filter(None, [tokens.begin_object, body, tokens.end_object]))


class _Chain:
    def __init__(self, members: ObjectMembers, tokens: JsonTokens) -> None:
        self.members = members
        self.tokens = tokens
        self.highest = max(1, members.least, members.most or 0)
        """Numbers of members from here on need not be distinguished."""

    def between_braces(self) -> str | None:
        """Return the text between the braces, or None if no object meets the counts."""
        named_members = self.members.named_members
        counts: list[set[int]] = [{0}]
        for member in named_members:
            before = counts[-1]
            taken = {self._after(count) for count in before if self._takes(member, count)}
            counts.append(taken if member.required else taken | before)
        rests = {count: self._others(count) for count in counts[-1]}
        for member, before in zip(reversed(named_members), reversed(counts[:-1]), strict=True):
            rests = {count: self._rest(member, count, rests) for count in before}
        return rests[0]

    def _after(self, count: int) -> int:
        return min(count + 1, self.highest)

    def _takes(self, member: Member, count: int) -> bool:
        most = self.members.most
        return member.value is not None and (most is None or count < most)

    def _rest(self, member: Member, count: int, rests: dict[int, str | None]) -> str | None:
        """Return the text after `count` members, this one being the next that is known."""
        left_out = None if member.required else rests[count]
        pair, behind = None, None
        if self._takes(member, count) and (behind := rests[self._after(count)]) is not None:
            key = self.tokens.string(member.name)
            pair = self._with_comma(count, f"{key} {self.tokens.colon} {member.value}")
        if pair is None:
            return left_out
        if left_out is None:
            return _sequence(pair, behind)
        if left_out == behind:
            body = _sequence(f"({pair})?", behind)
        else:
            body = f"{_sequence(pair, behind)} | {left_out or chr(34) * 2}"
        return self.tokens.rules.add(f"{'from' if count else 'first'}-{member.name}", body)

    def _with_comma(self, count: int, member: str) -> str:
        return f"{self.tokens.comma} {member}" if count else member

    def _others(self, count: int) -> str | None:
        """Return the text after `count` members where no more are known."""
        others, most = self.members.others, self.members.most
        least = max(0, self.members.least - count)
        room = None if most is None else most - count
        if room is not None and least > room:
            return None
        if others is None or room == 0:
            return None if least else ""
        if least > 1:
            raise unwritable_keyword(
                "minProperties",
                self.members.pointer,
                "members with unknown names might be written twice",
            )
        rules = self.tokens.rules
        pair = rules.add("other-member", f"{others.name} {self.tokens.colon} {others.value}")
        behind = rules.add("next-member", f"{self.tokens.comma} {pair}")
        if count:
            return repeat_items(behind, least, room, rules)
        written = _sequence(
            pair, repeat_items(behind, 0, None if room is None else room - 1, rules)
        )
        return written if least else f"({written})?"


def _sequence(*pieces: str | None) -> str:
    return " ".join(piece for piece in pieces if piece and piece != '""') or '""'


# Any JSON value: one rule per grammar, which every open schema uses.


def any_value(tokens: JsonTokens) -> str:
    """Return the rule of any value."""
    key = ("value", tokens.style)
    return tokens.rules.recursive(key, "value", lambda name: _body(tokens, name))


def any_string(tokens: JsonTokens) -> str:
    """Return the rule of any string."""
    writer = RegexWriter(tokens.rules, tokens.style.quoting)
    return tokens.rules.add("string", writer.quoted(ANY_TEXT))


def any_object(tokens: JsonTokens) -> str:
    """Return the rule of any object."""
    members = ObjectMembers((), Others(any_string(tokens), any_value(tokens)), 0, None, "#")
    return tokens.rules.add("object", members.expression(tokens) or "")


def any_array(tokens: JsonTokens) -> str:
    """Return the rule of any array."""
    items = Items((), any_value(tokens), 0, None)
    return tokens.rules.add("array", items.expression(tokens) or "")


def _body(tokens: JsonTokens, _name: str) -> str:
    rules = tokens.rules
    scalars = [
        any_string(tokens),
        rules.add("number", number_range(Interval(), rules) or ""),
        rules.add("boolean", '"true" | "false"'),
        '"null"',
    ]
    return " | ".join([any_object(tokens), any_array(tokens), *scalars])


def string_expression(
    schema: Schema,
    pointer: str,
    quoting: CharacterQuoting,
    rules: GbnfRules,
    *,
    wish: str = "string",
) -> str | None:
    """Return the rule of a schema's strings, with their quotes, or None if it allows no string.

    Raises SchemaError for a pattern that is malformed, that is not regular, or that is longer or
    shorter than the schema's lengths in a way that cannot be written.
    """
    shape = string_shape(schema, pointer)
    ensure_short(shape, rules)
    regex = shape.single()
    if regex is None:
        return None
    writer = RegexWriter(rules, quoting)
    body = writer.quoted(regex) if quoting.quote else writer.write(regex)
    return rules.add("string" if regex == ANY_TEXT else wish, body)


def ensure_short(shape: StringShape, rules: GbnfRules) -> None:
    """Raise UnheldKeywordError for a length that an engine takes too long to count."""
    longest = rules.longest_count
    if longest is None:
        return
    # In a spelling, the length of the text is part of the pattern.
    shape = shape.text or shape
    for keyword, regex in zip(shape.keywords, shape.patterns, strict=False):
        opened = with_open_counts(regex, _SHORT_WORD, _FEW_LETTERS)
        if opened != regex:
            why = f"to count more than {_SHORT_WORD} letters, xgrammar takes 7 ms for each"
            error = unwritable_keyword(keyword, shape.pointer, why)
            error.instead = {"pattern": ecma_regex(opened)}
            raise error
    if shape.patterns:
        return
    for keyword, length in (("minLength", shape.least), ("maxLength", shape.most or 0)):
        if length > longest:
            why = f"to count more than {longest} characters, xgrammar takes 80 ms for each"
            raise unwritable_keyword(keyword, shape.pointer, why)


_SHORT_WORD = 16
"""The largest count of a class of letters in a pattern, if a schema need not be held."""
_FEW_LETTERS = len("0123456789abcdefABCDEF")
"""The number of characters of a class that few tokens consist of, so that counts take no time."""


# Names of members other than the known ones.


LONGEST_GROUP = 300
"""Characters of an expression before it becomes a rule of its own.

Readers recurse into groups, and llama.cpp counts the rules that an optional group needs.
"""


def other_name(names: Sequence[str], quoting: CharacterQuoting, rules: GbnfRules) -> str:
    """Return the rule of all strings but these, with quotes.

    Built as a tree of beginnings: each character either goes on along a known name or leaves all
    of them, and where a known name is complete, the string may not end.
    """
    writer = RegexWriter(rules, quoting)
    if not names:
        return rules.add("string", writer.quoted(ANY_TEXT))
    any_text = rules.add("text", writer.write(ANY_TEXT))
    beginnings = {name[:length] for name in names for length in range(len(name) + 1)}
    known = set(names)
    following: dict[str, list[str]] = {}
    for beginning in sorted(beginnings - {""}):
        following.setdefault(beginning[:-1], []).append(beginning[-1])
    written: dict[str, str] = {}
    # Sorted by text within one length, since the order of a set differs between processes.
    for beginning in sorted(beginnings, key=lambda text: (-len(text), text)):
        signs = following.get(beginning, [])
        options = [
            f"{gbnf_literal(quoting.text(sign))} {written[beginning + sign]}" for sign in signs
        ]
        leaving = writer.character(ANY - CodePoints.among("".join(signs)))
        options.append(f"{leaving} {any_text}")
        body = f"({' | '.join(options)}){'' if beginning in known else '?'}"
        if len(body) > LONGEST_GROUP:
            body = rules.add("not-known", body)
        written[beginning] = body
    return rules.add("other-name", f'"\\"" {written[""]} "\\""')

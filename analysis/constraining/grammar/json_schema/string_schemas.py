"""Strings: of any text, of some length, with a pattern, in a format."""

from __future__ import annotations

from autoparser.analysis.core.schema import Schema, count

from .anchoring import ANY_TEXT, anchored
from .characters import Quoting
from .errors import unwritable
from .gbnf_rules import GbnfRules, literal
from .regex_nodes import Regex, RegexChoice, RegexRepeat, RegexSequence, flat, longest, shortest
from .regex_parser import PatternError, parse_pattern
from .regex_writer import RegexWriter
from .string_formats import PATTERNS


def string_expression(
    schema: Schema, pointer: str, quoting: Quoting, rules: GbnfRules, *, wish: str = "string"
) -> str | None:
    """Return the rule of a schema's strings, with their quotes; None where there are none.

    Raises SchemaError for a pattern that is none, that is not regular, or that is longer or
    shorter than the schema's lengths in a way that cannot be written.
    """
    regex = string_regex(schema, pointer)
    if regex is None:
        return None
    body = RegexWriter(rules, quoting).write(regex)
    if quoting.quote:
        body = f"{literal(quoting.quote)} {body} {literal(quoting.quote)}"
    return rules.add("string" if regex == ANY_TEXT else wish, body)


def string_regex(schema: Schema, pointer: str) -> Regex | None:
    """Return what a schema says of the text of its strings; None where none can be."""
    least, most = count(schema, "minLength") or 0, count(schema, "maxLength")
    keyword, source = "pattern", schema.get("pattern")
    if source is None:
        keyword, source = "format", PATTERNS.get(str(schema.get("format")))
    if source is None:
        if most is not None and most < least:
            return None
        return RegexRepeat(ANY_TEXT.item, least, most)
    try:
        regex = anchored(parse_pattern(str(source)))
    except PatternError as error:
        raise unwritable(keyword, pointer, f"{source!r}: {error}") from None
    options = regex.options if isinstance(regex, RegexChoice) else (regex,)
    kept: list[Regex] = []
    for option in options:
        try:
            bounded = _bounded(option, least, most)
        except _LengthOpenError:
            bound = "minLength" if least > shortest(option) else "maxLength"
            raise unwritable(bound, pointer, f"the {keyword} leaves the length open") from None
        if bounded is not None:
            kept.append(bounded)
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else RegexChoice(tuple(kept))


class _LengthOpenError(Exception):
    """More than one part of a pattern may be longer or shorter."""


def _bounded(regex: Regex, least: int, most: int | None) -> Regex | None:
    """Hold a text's length within bounds: where nothing is to do, or one repetition decides."""
    low, high = shortest(regex), longest(regex)
    if (most is not None and low > most) or (high is not None and high < least):
        return None
    if low >= least and (most is None or (high is not None and high <= most)):
        return regex
    parts = flat(regex)
    open_ones = [at for at, part in enumerate(parts) if shortest(part) != longest(part)]
    if len(open_ones) != 1:
        raise _LengthOpenError
    at = open_ones[0]
    part = parts[at]
    if not isinstance(part, RegexRepeat) or (shortest(part.item), longest(part.item)) != (1, 1):
        raise _LengthOpenError
    others = low - part.least
    fewest = max(part.least, least - others)
    upper = [part.most] if part.most is not None else []
    upper += [most - others] if most is not None else []
    parts[at] = RegexRepeat(part.item, fewest, min(upper) if upper else None)
    return RegexSequence(tuple(parts))

"""Read the constraints of a schema on its strings: patterns, formats, bounds of the length.

`string_shape` returns a `StringShape`, whose parts are regular expressions and a length. Formats of
the standard are held as patterns (`PATTERNS`), or not at all (`UNHELD`).

Anchors are not part of the expressions, which match whole texts:

    >>> from autoparser.analysis.grammar.regex_nodes import rust_regex
    >>> shape = string_shape({"pattern": "^[ab]+$", "minLength": 2, "maxLength": 5}, "#")
    >>> [rust_regex(regex) for regex in shape.patterns], shape.least, shape.most
    (['(?:[a-b]){1,}'], 2, 5)
    >>> shape.keywords
    ('pattern', 'minLength', 'maxLength')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.schema_document import schema_place
from autoparser.analysis.core.schema_keywords import Schema, keyword_count, keyword_schemas

from .code_points import CodePoints
from .regex_nodes import (
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    choice_of_regexes,
    counted_places,
    flat_sequence,
    intersect_rows,
    longest_match,
    python_regex,
    regex_alphabet,
    shortest_match,
)
from .regular_expressions import ANY_TEXT, PatternError, anchor_regex, parse_pattern
from .schema_survey import unwritable_keyword

# Formats of strings that are regular, as patterns.
#
# By the standard a format is an annotation: a validator need not check it. Here the formats
# that the standard names are held as the RFCs that it refers to define them; three of them are not
# regular and are held by no grammar, and a name that the standard does not know says nothing.
# Sources: RFC 3339 for dates and times (capital T and Z, no leap second), its appendix A for
# durations, RFC 9562 for UUIDs, RFC 2673 for IPv4 and RFC 4291 for IPv6 addresses, RFC 5321 for
# mailboxes, RFC 1123 for host names, RFC 3986 and RFC 3987 for URIs and IRIs, RFC 6570 for their
# templates, RFC 6901 for JSON pointers. A name's length as a whole (253 characters of a host, 64
# of a mailbox) is left to ``maxLength``.


_LEAP_YEAR = r"(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DATE = (
    r"(\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)"
    rf"|02-(0[1-9]|1\d|2[0-8]))|{_LEAP_YEAR}-02-29)"
)
_HOUR_MINUTE = r"([01]\d|2[0-3]):[0-5]\d"
_TIME = rf"{_HOUR_MINUTE}:[0-5]\d(\.\d+)?(Z|[+-]{_HOUR_MINUTE})"

_DAYS = r"\d+D"
_MONTHS = rf"\d+M({_DAYS})?"
_YEARS = rf"\d+Y({_MONTHS})?"
_MINUTES = r"\d+M(\d+S)?"
_TIMES = rf"T(\d+H({_MINUTES})?|{_MINUTES}|\d+S)"
_DURATION = rf"P(\d+W|({_YEARS}|{_MONTHS}|{_DAYS})({_TIMES})?|{_TIMES})"

_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

_OCTET = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"
_WORD = f"{_HEX}{{1,4}}"
_LAST_TWO = f"({_WORD}:{_WORD}|{_IPV4})"
# The last two words follow a group of all that may stand before them: written behind each of these,
# they double the time in which an engine reads the pattern.
_IPV6 = (
    f"((({_WORD}:){{6}}|::({_WORD}:){{5}}|({_WORD})?::({_WORD}:){{4}}"
    + "".join(
        f"|(({_WORD}:){{0,{before}}}{_WORD})?::({_WORD}:){{{4 - before}}}" for before in range(1, 5)
    )
    + f"){_LAST_TWO}|(({_WORD}:){{0,5}}{_WORD})?::{_WORD}|(({_WORD}:){{0,6}}{_WORD})?::)"
)

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_QUOTED = r'"([ !#-\[\]-~]|\\[ -~])*"'
_EMAIL = rf"({_ATOM}(\.{_ATOM})*|{_QUOTED})@({_HOST}|\[({_IPV4}|IPv6:{_IPV6})\])"

_PERCENT = f"%{_HEX}{{2}}"
_SUB_DELIMITERS = r"!$&'()*+,;="
_BEYOND_ASCII = (
    r"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF"
    + "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
    + r"\u{E1000}-\u{EFFFD}"
)
"""The characters that an IRI allows beyond a URI."""
_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
"""The characters that its query allows as well."""


def _resource(more: str, private: str, *, relative: bool) -> str:
    """Return the pattern of a URI, or of a reference to one, with more characters."""
    plain = rf"A-Za-z0-9._~\-{more}"
    segment = rf"([{plain}{_SUB_DELIMITERS}:@]|{_PERCENT})"
    further = rf"([{plain}{_SUB_DELIMITERS}:@/]|{_PERCENT})*"
    user = rf"([{plain}{_SUB_DELIMITERS}:]|{_PERCENT})*"
    future = rf"[vV]{_HEX}+\.[A-Za-z0-9._~\-{_SUB_DELIMITERS}:]+"
    host = rf"(\[({_IPV6}|{future})\]|([{plain}{_SUB_DELIMITERS}]|{_PERCENT})*)"
    below = f"(/{further})?"
    placed = rf"//({user}@)?{host}(:\d*)?{below}|/({segment}{further})?"
    query = rf"(\?([{plain}{private}{_SUB_DELIMITERS}:@/?]|{_PERCENT})*)?"
    end = rf"{query}(#([{plain}{_SUB_DELIMITERS}:@/?]|{_PERCENT})*)?"
    whole = rf"[A-Za-z][A-Za-z0-9+.\-]*:({placed}|{segment}{further}|){end}"
    if not relative:
        return whole
    first = rf"([{plain}{_SUB_DELIMITERS}@]|{_PERCENT})+"
    return f"({whole}|({placed}|{first}{below}|){end})"


_VARIABLE = rf"([A-Za-z0-9_]|{_PERCENT})(\.?([A-Za-z0-9_]|{_PERCENT}))*"
_WANTED = rf"{_VARIABLE}(:[1-9]\d{{0,3}}|\*)?"
_OPERATORS = "+#./;?&"
"""Without those that RFC 6570 reserves: an expression with one of them means nothing yet."""
_TEMPLATE = (
    rf"([!#$&'(-;=?-\[\]_a-z~{_BEYOND_ASCII}{_PRIVATE}]|{_PERCENT}"
    rf"|\{{[{_OPERATORS}]?{_WANTED}(,{_WANTED})*\}})*"
)
_POINTER = "(/([^~]|~[01])*)?"

PATTERNS = {
    name: f"^({pattern})$"
    for name, pattern in {
        "date": _DATE,
        "time": _TIME,
        "date-time": f"{_DATE}T{_TIME}",
        "duration": _DURATION,
        "uuid": _UUID,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "hostname": _HOST,
        "email": _EMAIL,
        "uri": _resource("", "", relative=False),
        "uri-reference": _resource("", "", relative=True),
        "iri": _resource(_BEYOND_ASCII, _PRIVATE, relative=False),
        "iri-reference": _resource(_BEYOND_ASCII, _PRIVATE, relative=True),
        "uri-template": _TEMPLATE,
        "json-pointer": _POINTER,
        "relative-json-pointer": rf"(0|[1-9]\d*)(#|{_POINTER})",
    }.items()
}
"""Pattern by the format's name."""

UNHELD = {
    "regex": "the syntax of regular expressions is not regular",
    "idn-email": "its host is an internationalized name",
    "idn-hostname": "the characters that may be adjacent depend on Unicode tables",
}
"""Why the other formats of the standard cannot be held, by their names."""


class StringShape(Struct, frozen=True):
    """Patterns that a text has to match as a whole, each of them, and its length in characters."""

    patterns: tuple[Regex, ...] = ()
    """The patterns, without anchors, e.g. `a+` of "^a+$"."""
    least: int = 0
    """The minimum length, e.g. 2."""
    most: int | None = None
    """The maximum length, e.g. 9, or None if unbounded."""
    pointer: str = "#"
    """The pointer of the schema, e.g. "#/properties/s"."""
    keywords: tuple[str, ...] = ()
    """The keywords behind it, the patterns' first, e.g. ("pattern", "maxLength")."""
    text: StringShape | None = None
    """The shape of the text, if this is the shape of its spelling, quotes and escapes included."""

    @property
    def regexes(self) -> tuple[Regex, ...]:
        """All of it as expressions, each of which has to match the whole text."""
        joined = self.joined
        if joined.least == 0 and joined.most is None:
            return joined.patterns
        return (*joined.patterns, RegexRepeat(ANY_TEXT.item, joined.least, joined.most))

    @property
    def joined(self) -> StringShape:
        """The same in fewer parts: rows joined, without lengths that the patterns have anyway."""
        return _joined_shape(self) if self.patterns else self

    def may_hold(self, text: str) -> bool:
        """Return whether a text of this shape may hold another one; False only if none does."""
        return all(_may_hold(pattern, text) for pattern in self.patterns)

    def single(self) -> Regex | None:
        """Return all of it as one expression, or None if no text meets it.

        Raises UnheldKeywordError if several expressions would have to match at once.
        """
        if self.most is not None and self.most < self.least:
            return None
        if not self.patterns:
            return RegexRepeat(ANY_TEXT.item, self.least, self.most)
        regex, *others = self.patterns
        for other in others:
            common_regex = intersect_rows(regex, other)
            if common_regex is None:
                why = f"one text would have to match {' and '.join(self.keywords[:2])} at once"
                raise unwritable_keyword(self.keywords[1], self.pointer, why)
            if not common_regex.options:
                return None
            regex = common_regex
        options = regex.options if isinstance(regex, RegexChoice) else (regex,)
        bounded = [self._bound_length(option) for option in options]
        kept = [option for option in bounded if option is not None]
        return choice_of_regexes(kept) if kept else None

    def _bound_length(self, regex: Regex) -> Regex | None:
        """Bound a text's length, if the bounds hold already or one repetition decides."""
        least, most = self.least, self.most
        low, high = shortest_match(regex), longest_match(regex)
        if (most is not None and low > most) or (high is not None and high < least):
            return None
        if low >= least and (most is None or (high is not None and high <= most)):
            return regex
        parts = flat_sequence(regex)
        open_ones = [
            at for at, part in enumerate(parts) if shortest_match(part) != longest_match(part)
        ]
        part = parts[open_ones[0]] if len(open_ones) == 1 else None
        if not isinstance(part, RegexRepeat) or (
            shortest_match(part.item),
            longest_match(part.item),
        ) != (1, 1):
            bound = "minLength" if least > low else "maxLength"
            why = f"the {self.keywords[0]} leaves the length open"
            raise unwritable_keyword(bound, self.pointer, why)
        others = low - part.least
        fewest = max(part.least, least - others)
        upper = [part.most] if part.most is not None else []
        upper += [most - others] if most is not None else []
        if upper and min(upper) < fewest:
            return None
        parts[open_ones[0]] = RegexRepeat(part.item, fewest, min(upper) if upper else None)
        return RegexSequence(tuple(parts))


_MOST_COMMON = 64
"""Rows that two patterns have in common, beyond which both of them are shorter."""


@lru_cache(maxsize=256)
def _joined_shape(shape: StringShape) -> StringShape:
    first, *others = shape.patterns
    kept: list[Regex] = []
    for other in others:
        common_regex = intersect_rows(first, other)
        # Without a common row, an engine has to see both to find that no text is left.
        if common_regex is not None and 0 < len(common_regex.options) <= _MOST_COMMON:
            first = choice_of_regexes(common_regex.options)
        else:
            kept.append(other)
    patterns = (first, *kept)
    longest = [length for length in map(longest_match, patterns) if length is not None]
    least = 0 if shape.least <= max(map(shortest_match, patterns)) else shape.least
    is_open = shape.most is None or min(longest, default=inf) <= shape.most
    return replace(shape, patterns=patterns, least=least, most=None if is_open else shape.most)


@lru_cache(maxsize=1024)
def _may_hold(pattern: Regex, text: str) -> bool:
    letters = CodePoints.among(text)
    return letters & regex_alphabet(pattern) == letters


def ensure_counted(shape: StringShape, most: int, fewest: int) -> None:
    """Raise UnheldKeywordError for a length that an engine cannot count to its end.

    It counts to `most` at most, and takes no text that has to be longer than `fewest`.
    """
    if shape.least > fewest:
        keyword, size = "minLength", fewest
    elif (shape.most or 0) > most:
        keyword, size = "maxLength", most
    elif any(counted_places(regex) > most for regex in shape.patterns):
        # If lengths have become part of the pattern, blame them first.
        is_joined = not shape.least and shape.most is None
        lengths = [length for length in _LENGTHS if length in shape.keywords and is_joined]
        keyword, size = (*lengths, *shape.keywords)[0], most
    else:
        return
    raise unwritable_keyword(
        keyword,
        shape.pointer,
        f"llguidance may give up if it has to count more than {size} characters",
    )


def is_filled(shape: StringShape) -> bool:
    """Return whether all that a shape says is that a text is not empty."""
    return not shape.patterns and (shape.least, shape.most) == (1, None)


def string_shape(schema: Schema, pointer: str) -> StringShape:
    """Read the keywords for strings of a schema, and of what holds beside it in its ``allOf``.

    Raises UnheldKeywordError for a pattern that is malformed or not regular, and for a format that
    is not regular.
    """
    pointer = schema_place(schema, pointer)
    found = [
        (keyword, _regex(keyword, str(schema[keyword]), source, pointer))
        for keyword, source in _sources(schema, pointer)
    ]
    least, most = keyword_count(schema, "minLength") or 0, keyword_count(schema, "maxLength")
    keywords = (
        *(keyword for keyword, _ in found),
        *(length for length in _LENGTHS if length in schema),
    )
    shape = StringShape(tuple(regex for _, regex in found), least, most, pointer, keywords)
    for part in keyword_schemas(schema, "allOf"):
        if isinstance(part, dict):
            shape = _join_shapes(shape, string_shape(part, pointer))
    return shape


_LENGTHS = ("minLength", "maxLength")


def _sources(schema: Schema, pointer: str) -> list[tuple[str, str]]:
    """Return the patterns of a schema, each with its keyword."""
    found: list[tuple[str, str]] = []
    if "pattern" in schema:
        found.append(("pattern", str(schema["pattern"])))
    name = str(schema.get("format"))
    if name in UNHELD:
        raise unwritable_keyword("format", pointer, f"{name!r}: {UNHELD[name]}")
    if name in PATTERNS:
        found.append(("format", PATTERNS[name]))
    return found


def _regex(keyword: str, keyword_text: str, source: str, pointer: str) -> Regex:
    try:
        return whole_pattern(source)
    except PatternError as error:
        raise unwritable_keyword(keyword, pointer, f"{keyword_text!r}: {error}") from None


@lru_cache(maxsize=256)
def whole_pattern(source: str) -> Regex:
    """Return the pattern of whole texts, cached: schemas repeat the same ones."""
    return anchor_regex(parse_pattern(source))


def _join_shapes(first: StringShape, second: StringShape) -> StringShape:
    upper = [most for most in (first.most, second.most) if most is not None]
    return replace(
        first,
        patterns=tuple(dict.fromkeys((*first.patterns, *second.patterns))),
        least=max(first.least, second.least),
        most=min(upper, default=None),
        keywords=(*first.keywords, *second.keywords),
    )


# Whether one text is in a format: for constants, whether the format is regular or not.


def _format_check(name: str) -> Callable[[str], bool]:
    """Make the check of a format that is held as a pattern."""

    def check(text: str) -> bool:
        regexes = string_shape({"format": name}, "#").patterns
        return all(re.fullmatch(python_regex(regex), text) for regex in regexes)

    return check


_is_hostname = _format_check("hostname")


def _is_international_host(text: str) -> bool:
    try:
        return _is_hostname(text.encode("idna").decode("ascii"))
    except UnicodeError:
        return False


def _is_international_email(text: str) -> bool:
    box, _, host = text.rpartition("@")
    return bool(box) and _is_international_host(host)


def _is_regex(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


FORMAT_CHECKS: Mapping[str, Callable[[str], bool]] = {
    **{name: _format_check(name) for name in PATTERNS},
    "regex": _is_regex,
    "idn-email": _is_international_email,
    "idn-hostname": _is_international_host,
}
"""The check of every format of the standard, by its name."""

r"""Formats of strings that are regular, as patterns.

By the standard a format is an annotation: a validator need not look at it. Here the formats that
the standard names are held as the RFCs that it refers to have them; three of them are not regular
and are held by no grammar, and a name that the standard does not know says nothing.
Sources: RFC 3339 for dates and times (capital T and Z, no leap second), its appendix A for
durations, RFC 9562 for UUIDs, RFC 2673 for IPv4 and RFC 4291 for IPv6 addresses, RFC 5321 for
mailboxes, RFC 1123 for host names, RFC 3986 and RFC 3987 for URIs and IRIs, RFC 6570 for their
templates, RFC 6901 for JSON pointers. A name's length as a whole (253 characters of a host, 64 of
a mailbox) is left to ``maxLength``.
"""

from __future__ import annotations

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
_IPV6 = (
    f"(({_WORD}:){{6}}{_LAST_TWO}|::({_WORD}:){{5}}{_LAST_TWO}"
    f"|({_WORD})?::({_WORD}:){{4}}{_LAST_TWO}"
    + "".join(
        f"|(({_WORD}:){{0,{before}}}{_WORD})?::({_WORD}:){{{4 - before}}}{_LAST_TWO}"
        for before in range(1, 5)
    )
    + f"|(({_WORD}:){{0,5}}{_WORD})?::{_WORD}|(({_WORD}:){{0,6}}{_WORD})?::)"
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
"""What an IRI has beyond a URI."""
_PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"
"""What its query may hold as well."""


def _resource(more: str, private: str, *, relative: bool) -> str:
    """Return the pattern of a URI, or of a reference to one, with more characters."""
    plain = rf"A-Za-z0-9._~\-{more}"
    segment = rf"([{plain}{_SUB_DELIMITERS}:@]|{_PERCENT})"
    user = rf"([{plain}{_SUB_DELIMITERS}:]|{_PERCENT})*"
    future = rf"[vV]{_HEX}+\.[A-Za-z0-9._~\-{_SUB_DELIMITERS}:]+"
    host = rf"(\[({_IPV6}|{future})\]|([{plain}{_SUB_DELIMITERS}]|{_PERCENT})*)"
    below = f"(/{segment}*)*"
    placed = rf"//({user}@)?{host}(:\d*)?{below}|/({segment}+{below})?"
    query = rf"(\?([{plain}{private}{_SUB_DELIMITERS}:@/?]|{_PERCENT})*)?"
    end = rf"{query}(#([{plain}{_SUB_DELIMITERS}:@/?]|{_PERCENT})*)?"
    whole = rf"[A-Za-z][A-Za-z0-9+.\-]*:({placed}|{segment}+{below}|){end}"
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
_POINTER = "(/([^/~]|~[01])*)*"

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
    "regex": "whether a text is a regular expression is not regular itself",
    "idn-email": "its host is an internationalized name",
    "idn-hostname": "which characters may stand together depends on tables of Unicode",
}
"""Why the other formats of the standard cannot be held, by their names."""

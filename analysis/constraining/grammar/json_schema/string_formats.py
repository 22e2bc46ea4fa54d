r"""Formats of strings that are regular, as patterns.

By the standard a format is an annotation: a validator need not look at it. Here the formats below
are written exactly; any other says nothing, and neither does a format beside a `pattern`.
Sources: RFC 3339 for dates and times (capital T and Z, no leap second), its appendix A for
durations, RFC 9562 for UUIDs, RFC 2673 for IPv4 and RFC 4291 for IPv6 addresses.
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

PATTERNS = {
    name: f"^{pattern}$"
    for name, pattern in {
        "date": _DATE,
        "time": _TIME,
        "date-time": f"{_DATE}T{_TIME}",
        "duration": _DURATION,
        "uuid": _UUID,
        "ipv4": _IPV4,
        "ipv6": _IPV6,
    }.items()
}
"""Pattern by the format's name."""

"""Whether one text is in a format: what a constant has to be, regular or not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from autoparser.analysis.core.schema import ROOT

from .regex_text import python_text
from .string_formats import PATTERNS
from .string_shape import string_shape


def _held(name: str) -> Callable[[str], bool]:
    """Make the check of a format that is held as a pattern."""

    def check(text: str) -> bool:
        regexes = string_shape({"format": name}, ROOT).patterns
        return all(re.fullmatch(python_text(regex), text) for regex in regexes)

    return check


_is_hostname = _held("hostname")


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
    **{name: _held(name) for name in PATTERNS},
    "regex": _is_regex,
    "idn-email": _is_international_email,
    "idn-hostname": _is_international_host,
}
"""The check of every format of the standard, by its name."""

"""What the ways to read calls have in common: a field, and where one call ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat
from autoparser.analysis.describing.export.export_limits import ExportLimit

from .joints import closing_text
from .patterns import behind, either, loose


@dataclass(frozen=True, slots=True)
class CallsField:
    """How calls are read; whitespace around them is not in the patterns."""

    open: str
    """Opens a call, or the first of them, and captures what the transform names."""
    ahead: str
    """The same without captures, to look ahead."""
    close: str
    """Closes a call; empty where only the end of the text does."""
    behind: str
    """What stands after a call that was closed, to look back."""
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])
    limits: tuple[ExportLimit, ...] = ()
    needs_tools: bool = False
    section_close: str = ""
    """Closes all calls, where that is not part of what closes one."""
    separator: str = ""
    """What stands between two calls, where it is more than whitespace."""
    plain_names: bool = False
    """Names of arguments are read where they are plain words."""


@dataclass(frozen=True, slots=True)
class TurnEnds:
    """What ends a turn: an engine stops there, and does not pass it on."""

    pattern: str
    """Matches it; empty where only the end of the text does."""
    texts: tuple[str, ...]

    @property
    def ahead(self) -> str:
        """Look ahead to the end of a turn, or to that of a text which was stopped there."""
        return either([rf"(?=\s*{self.pattern})" if self.pattern else "", r"\s*\Z"])

    def stopped(self, text: str) -> str:
        """Match what is passed on of a text that ends the turn; empty where it does not end it."""
        text = text.rstrip()
        rests = [text.removesuffix(each) for each in self.texts if text.endswith(each)]
        return rf"{loose(min(rests, key=len).strip())}\s*\Z" if rests else ""


@dataclass(frozen=True, slots=True)
class Framed:
    """The patterns of one call, its section around it."""

    open: str
    ahead: str
    close: str
    behind: str
    section_close: str
    separator: str


def framed(
    calls: CallFormat,
    *,
    opened: str,
    ahead: str,
    marked: bool,
    after: str,
    end: TurnEnds,
    body_end: str,
) -> Framed:
    """Put the section around the patterns of one call.

    `opened` and `ahead` match what opens a call, with its captures and without; `marked` says
    whether they begin with a literal. `after` matches what closes it; `body_end` matches how what
    is between always ends, empty where it may end in any way.
    """
    section_open, section_close = (
        loose(calls.section_open.strip()),
        loose(calls.section_close.strip()),
    )
    separator = loose(calls.separator.strip())
    first, first_ahead = opened, ahead
    if section_open and marked:
        first, first_ahead = rf"(?:{section_open}\s*)?{opened}", rf"(?:{section_open}\s*)?{ahead}"
    elif section_open:
        # Only in a section that is open: elsewhere, nothing shows that this is a call.
        inside = rf"(?:(?!{section_close}).)*" if section_close else ".*"
        back = behind(f"{section_open}{inside}{separator or after or body_end}")
        first, first_ahead = rf"(?:{section_open}\s*|{back}){opened}", rf"{section_open}\s*{ahead}"
    next_call = rf"{separator}\s*{ahead}" if separator else ahead
    last = rf"(?<={body_end}\s*)" if body_end else ""
    if after and _BRACKETS.fullmatch(after):
        # Brackets close much: these are the call's if what follows a call follows them.
        follows = either([section_close, next_call, end.pattern])
        close = either([rf"{last}{after}(?=\s*{follows})", rf"{last}{after}\s*\Z"])
        return Framed(first, first_ahead, close, after, section_close, separator)
    if after:
        # What closes only later calls is to the target what closes all.
        later = calls.later_close
        closing = either([section_close, loose(later.strip()), end.stopped(later)])
        close = f"{last}{either([after, end.stopped(closing_text(calls))])}"
        return Framed(first, first_ahead, close, after, closing, separator)
    between = r"(?=\s*" if separator else r"\s+(?=" if calls.separator else "(?="
    if section_close:
        stopped = end.stopped(calls.section_close)
        close = f"{last}{either([section_close, rf'{between}{next_call})', stopped])}"
    else:
        close = either([rf"{last}{between}{next_call})", f"{last}{end.ahead}"])
    return Framed(first, first_ahead, close, either([section_close, body_end]), "", separator)


_BRACKETS = re.compile(r"(?:\\[]})]|\\s\*|(?:\\n| )(?:\?|\{0,\d+\}))+")

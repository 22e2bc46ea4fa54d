r"""Read a tool call that is written as a row of literals and slots (name, id, arguments).

`RowReader.read` takes the items of the row in order from the tape and passes the name, the id and
the arguments to the collector. It accepts what models get wrong: missing or repeated markers,
other words between markers, a missing id, a name glued to its arguments, a tag that closes itself.
The result says whether the call closed, was cut, or is not a call.

The items of such a row, and the text that each takes:

    <tool_call>\n<function=    get_weather    >\n       <parameter=city>\nOslo\n</parameter>\n
    literal                   name           literal   arguments: {"city": "Oslo"}

    </function>\n</tool_call>
    literal
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.text_alignment import TemplateLiteral, is_unit
from autoparser.lazy_names import lazy_pattern

from .argument_reader import LONGEST_KEY, read_arguments
from .call_ends import CallEnd, CallSurroundings
from .json_text import ReadOutcome
from .message_collector import MessageCollector
from .parsed_message import Status
from .prose_reader import close_fence, open_fence
from .stop_marks import LONGEST_HEADER, skip_again
from .text_lookahead import (
    GoesOn,
    at_text,
    read_literal,
    skip_space,
    skip_written,
    take_behind_space,
    take_row,
    wanted_stops,
)
from .text_tape import Reading, SpanKind, TextTape
from .turn_nodes import ArgumentList, FreeText, FunctionName, RowCall, RowItem, SingleWord
from .turn_request import IdentityCache
from .value_decoding import key_closers

# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_BAD, _CUT, _REPAIRED = ReadOutcome.BAD, ReadOutcome.CUT, ReadOutcome.REPAIRED
_CLOSED, _NO_CALL = CallEnd.CLOSED, CallEnd.NO_CALL
_MARKUP, _NAME, _ID = SpanKind.MARKUP, SpanKind.NAME, SpanKind.ID

# Literals whose words a model may replace.


def read_worded(tape: TextTape, literal: TemplateLiteral, stops: tuple[str, ...]) -> Reading[bool]:
    """Take a literal whose words may be other, more or none: only its last marker is required.

    If the template writes `<|kind|>code json<|text|>`, a model may write `<|kind|>json<|text|>`.
    Returns False, with nothing taken, if a stop or too much text comes before the marker. A
    literal that does not end with the last of several markers is read as it is.
    """
    markers = literal.markers
    last = markers[-1] if len(markers) > 1 else ""
    if not last or not literal.core.endswith(last):
        return (yield from read_literal(tape, literal))
    ends = wanted_stops(last, tuple(text for text in stops if text not in literal.core))
    while True:
        text = tape.text[tape.at :]
        found = ends.find(text, 0)
        if found is not None and found.end <= LONGEST_HEADER:
            if tape.closed or not ends.unsure(text, found, 0):
                break
        elif len(text) > LONGEST_HEADER:
            return False
        elif tape.closed:
            tape.fell_short()
            return False
        yield
    if not found.label:
        return False
    tape.take(found.end, _MARKUP)
    yield from skip_again(tape, literal)
    yield from skip_written(tape, literal.after)
    return True


class RowReader:
    """Reads one call that is a row."""

    def __init__(
        self, tape: TextTape, call: RowCall, around: CallSurroundings, collector: MessageCollector
    ) -> None:
        self.tape, self.call, self.around, self.collector = tape, call, around, collector
        self.row = call.loose_row or call.row
        self.name = ""
        self.id = ""
        self.early: str | None = None
        """JSON text of arguments that came before the name."""
        self.status = Status.OK
        self.closed = False
        """Whether the arguments have a closer of their own, such as a brace."""
        # A name may end at the closer of a call without arguments.
        last = call.empty_row[-1] if call.empty_row else None
        self.behind_name = last.units[:1] if isinstance(last, TemplateLiteral) else ()

    def read(self, begun: tuple[str, str] | None = None) -> Reading[CallEnd]:
        """Read to the close of the call, from its opening or, if it has `begun`, its arguments."""
        row, first = self.row, 0
        if begun is not None:
            self.name, self.id = begun
            # Only a row whose arguments come right before its closer is begun elsewhere.
            first = len(row) - 2
        for at, item in enumerate(row[first:], first):
            ended = yield from self._item(item, at)
            if ended is not None:
                return ended
        return self._close(self.status)

    def _item(self, item: RowItem, at: int) -> Reading[CallEnd | None]:
        """Return the reader of one item; it returns how the call ends with it, or None if not."""
        rest = self.row[at + 1 :]
        if isinstance(item, TemplateLiteral):
            return self._closing(item) if self.collector.calling else self._literal(item, at)
        if isinstance(item, ArgumentList):
            return self._arguments(item, rest)
        if isinstance(item, FreeText):
            return self._free_text(item, rest)
        return self._slot(item, rest)

    def _free_text(self, item: FreeText, following: Sequence[RowItem]) -> Reading[CallEnd | None]:
        """Take any text in place of a word, up to the marker after it."""
        first = following[0] if following else None
        if not isinstance(first, TemplateLiteral) or first.units[:1] != first.markers[:1]:
            there = yield from read_literal(self.tape, TemplateLiteral.of(item.default))
            return None if there else self._end_unread()
        yield from self._up_to(first.units[0], _MARKUP)
        return None

    def _slot(
        self, item: FunctionName | SingleWord, following: Sequence[RowItem]
    ) -> Reading[CallEnd | None]:
        """Read a name, an id or a number; return the call's end if it is missing, else None."""
        kind = _NAME if isinstance(item, FunctionName) else _ID
        word = yield from self._word(following, kind)
        if word is None or (isinstance(item, FunctionName) and self.name and word != self.name):
            return self._end_unread()
        if isinstance(item, FunctionName):
            if self.around.last_part(word):
                return self._end_unread()
            self.name = word
            # Arguments are buffered until the name confirms that it is a call.
            if self.early is not None and not self.collector.calling:
                if not self._is_offered():
                    return _NO_CALL
                self.collector.open_call(word, self.id)
                self.collector.arguments(self.early)
        elif item.slot is RowSlot.ID:
            self.id = word
            if self.call.naming is not None:
                self.name = self.call.naming.name_in(word, self.around.offered)
            if self.collector.calling:
                self.collector.name_call(word)
        return None

    def _end_unread(self) -> CallEnd:
        """Return how a call ends that could not be read."""
        sure = not self.around.tentative or (bool(self.name) and self._is_offered())
        return CallEnd.CUT if self.tape.cut and sure else _NO_CALL

    def _close(self, status: Status) -> CallEnd:
        self.collector.close_call(status)
        return _CLOSED

    def _literal(self, literal: TemplateLiteral, at: int) -> Reading[CallEnd | None]:
        """Take a literal; return how the call ends if it is missing, or None if it continues."""
        if not at:
            there = yield from self._opening(literal)
        elif isinstance(self.row[at - 1], FunctionName) and (
            self.around.offered is None or self.name in self.around.offered
        ):
            # After an offered name the call is sure, so other words in its header are forgiven.
            there = yield from read_worded(self.tape, literal, self.around.stops)
        else:
            there = yield from read_literal(self.tape, literal)
        if there:
            return None
        if (yield from self._without_arguments(at)):
            return _CLOSED
        return self._end_unread()

    def _closing(self, literal: TemplateLiteral) -> Reading[CallEnd | None]:
        """Take the closers of the call that are there; return how it ends, or None if all were."""
        start = self.tape.position
        whole = yield from self._closers_there(literal)
        if whole is None:
            return CallEnd.CUT
        if not whole:
            # Without any closer, more arguments may have been meant to come.
            if self.tape.position == start and not self.closed and self.collector.lacks_argument:
                return _NO_CALL if self.tape.left() else CallEnd.CUT
            return self._close(Status.REPAIRED)
        yield from skip_written(self.tape, literal.after if literal.core else literal.before)
        return None

    def _closers_there(self, literal: TemplateLiteral) -> Reading[bool | None]:
        """Take the closers that are there; return whether all are, or None if the text was cut."""
        tape = self.tape
        # One wait for all closers in place of one for each.
        if len(literal.units) > 1 and not tape.closed:
            yield from at_text(tape, literal.core)
        if take_row(tape, literal.units):
            return True
        whole = True
        for unit in literal.units:
            if (yield from take_behind_space(tape, unit)):
                continue
            if tape.cut and not tape.complete:
                return None
            # An engine may have taken the last closer for itself, since it ends the turn.
            whole = whole and not tape.left() and unit in self.around.ends
        return whole

    def _opening(self, literal: TemplateLiteral) -> Reading[bool]:
        """Take the opening of the call; its first markers may be missing."""
        units = literal.units
        for unit in units:
            if (yield from take_behind_space(self.tape, unit)):
                if unit != units[0]:
                    self.status = Status.REPAIRED
                rest = TemplateLiteral.of(literal.core[literal.core.index(unit) + len(unit) :])
                rest = replace(rest, after=literal.after)
                if unit in literal.markers and rest.core:
                    # Models write words of their own behind the first marker.
                    yield from self._up_to(rest.units[0], SpanKind.JUNK)
                return (yield from read_literal(self.tape, rest))
        return not units and (yield from read_literal(self.tape, literal))

    def _up_to(self, wanted: str, kind: SpanKind) -> Reading[None]:
        """Take the text before `wanted`, or nothing if that is too far or a stop comes first."""
        tape = self.tape
        stops = wanted_stops(wanted, self.around.stops)
        while True:
            found = stops.find(tape.text, tape.at)
            size = tape.left() if found is None else found.start - tape.at
            if size >= _LONGEST_NOISE or (found is None and tape.closed):
                return
            if found is not None and (tape.closed or not stops.unsure(tape.text, found, tape.at)):
                if found.label:
                    noise = tape.text[tape.at : found.start]
                    tape.take(size, kind if noise.strip() else _MARKUP)
                return
            yield

    def _without_arguments(self, at: int) -> Reading[bool]:
        """Close a call without arguments if the template writes these in another way."""
        empty = self.call.empty_row
        if empty is None or not self.name or not isinstance(empty[-1], TemplateLiteral):
            return False
        if at < len(empty) - 1 or not (yield from read_literal(self.tape, empty[-1])):
            return False
        if not self._is_offered():
            return False
        self.collector.whole_call(self.name, "{}", self.id)
        return True

    def _is_offered(self) -> bool:
        offered = self.around.offered
        return not self.around.tentative or (offered is not None and self.name in offered)

    def _word(self, following: Sequence[RowItem], kind: SpanKind) -> Reading[str | None]:
        """Read a name or an id up to the literal after it, or return None if it is missing."""
        texts = tuple(dict.fromkeys((*_word_stops(following), *self.behind_name)))
        ends = _ends_of(texts)
        yield from skip_space(self.tape)
        while True:
            text, at = self.tape.text, self.tape.at
            found = ends.search(text, at, at + LONGEST_KEY)
            if found is not None and (
                self.tape.closed or not _may_begin(texts, text, at, found.start())
            ):
                break
            if found is None and len(text) - at >= LONGEST_KEY:
                break
            if self.tape.closed:
                self.tape.fell_short()
                break
            if found is None:
                self.tape.waits_for_any(_lasts_of(texts), LONGEST_KEY)
            yield
        begun = text[at : at + LONGEST_KEY if found is None else found.start()]
        if found is not None and _IS_WORD.search(begun) and not _NO_WORD.search(begun):
            return self.tape.take(len(begun), kind)
        size = self._glued_name(following, begun) if kind is _NAME else 0
        return self.tape.take(size, kind) if size else None

    def _glued_name(self, following: Sequence[RowItem], text: str) -> int:
        """Return the length of an offered tool's name at the front of a text, or 0.

        The opening of a key that the tool declares may be missing after it.
        """
        names = sorted(self.around.offered or (), key=len, reverse=True)
        # A literal of whitespace may be missing before the first key, too.
        written = (
            item for item in following if not isinstance(item, TemplateLiteral) or item.units
        )
        item = next(written, None)
        if isinstance(item, ArgumentList):
            for closer in key_closers(item.arguments):
                word, closed, _ = text.partition(closer)
                for name in names if closed else ():
                    keys = self.collector.schemas.of(name).names
                    if word.startswith(name) and word[len(name) :] in keys:
                        return len(name)
        return 0

    def _arguments(self, item: ArgumentList, rest: Sequence[RowItem]) -> Reading[CallEnd | None]:
        """Open the call and read its arguments; return how it ends early, or None."""
        named_behind = FunctionName in map(type, rest)
        unnamed = not self.name and named_behind
        if not unnamed and (not self.name or not self._is_offered()):
            return _NO_CALL
        if named_behind:
            behind = self._behind(item, rest)
        else:
            around = self.call, self.around
            behind = _BEHIND.of(around, len(rest), lambda: self._behind(item, rest))
        early: list[str] = []
        fence = (yield from open_fence(self.tape)) if behind.braced else ""
        if not unnamed:
            self.collector.open_call(self.name, self.id)
        outcome = yield from read_arguments(
            self.tape,
            item.arguments,
            self.collector.schemas.of(self.name),
            behind.stops,
            early.append if unnamed else self.collector.arguments,
            repairs=behind.repairs,
            space=behind.space,
            goes_on=behind.goes_on,
            exact=self.collector.choices.forgive == "exact",
        )
        self.early = "".join(early) if unnamed else None
        if outcome is _BAD:
            return _NO_CALL
        if outcome is _CUT:
            return CallEnd.CUT
        if outcome is _REPAIRED:
            self.status = Status.REPAIRED
        self.closed = bool(item.arguments.members.close.strip()) and outcome is not _REPAIRED
        if fence:
            yield from close_fence(self.tape, fence)
        return None

    def _behind(self, item: ArgumentList, rest: Sequence[RowItem]) -> _Behind:
        """Return the texts that may come behind the arguments."""
        closers = self._closers(rest)
        return _Behind(
            stops=self.around.argument_stops(closers),
            repairs=(*filter(is_unit, closers), *self.around.stops),
            space=rest[0].before if rest and isinstance(rest[0], TemplateLiteral) else "",
            goes_on=self.around.continuation.after(rest, self.name),
            braced=_is_braced(item),
        )

    def _closers(self, rest: Sequence[RowItem]) -> list[str]:
        """Return the texts that may follow the arguments."""
        if self.name and any(isinstance(item, FunctionName) for item in rest):
            # The name is repeated after the arguments, as part of the closer.
            texts = [item.text for item in rest if isinstance(item, TemplateLiteral)]
            return [TemplateLiteral.of(self.name.join(texts)).first]
        return [item.first for item in rest if isinstance(item, TemplateLiteral) and item.core]


class _Behind(Struct, frozen=True):
    """The texts that may come behind the arguments of a call, as `read_arguments` has them."""

    stops: tuple[str, ...]
    """All of them, e.g. ("</function>", "</tool_call>", "<|im_end|>")."""
    repairs: tuple[str, ...]
    """The texts before which missing closers of JSON are added, e.g. ("</tool_call>",)."""
    space: str
    r"""The whitespace that the template writes before them, e.g. "\n"."""
    goes_on: GoesOn
    """Recognizes the end of the call after another sign, e.g. after the fence "```"."""
    braced: bool
    """Whether the arguments are an object, which a model may put in a fence."""


_BEHIND: IdentityCache[_Behind] = IdentityCache(256)
"""By call and its surroundings, and the number of items behind the arguments."""


def _is_braced(item: ArgumentList) -> bool:
    """Return whether arguments are written as an object and not as a string of JSON."""
    written = item.arguments
    return (written.verbatim or written.members.open.strip() == "{") and not written.encoded


def _word_stops(following: Sequence[RowItem]) -> Iterator[str]:
    """Return the texts that may come right after a word of a row."""
    spaced = False
    for at, item in enumerate(following):
        if isinstance(item, TemplateLiteral) and item.units:
            # The words between its markers may be missing together with the first marker.
            yield from (item.units[0], *item.markers[-1:])
            if any(isinstance(item, SingleWord) for item in following[at + 1 : at + 2]):
                yield from _word_stops(following[at + 2 :])
            return
        # A literal without units is whitespace only.
        spaced = spaced or (isinstance(item, TemplateLiteral) and bool(item.text))
        if isinstance(item, ArgumentList):
            members = item.arguments.members
            first = members.entry[0]
            for text in (members.open, "" if isinstance(first, RowSlot) else first):
                # A sign that a name may contain, as in `- key: value`, does not end a name: the
                # whitespace before it does.
                spaced = spaced or text[:1].isspace()
                within = spaced and _NAME_SIGNS.fullmatch(text.strip())
                if text.strip() and not within:
                    yield text.strip()
            if members.open.strip():
                return


def _may_begin(stops: Sequence[str], text: str, at: int, end: int) -> bool:
    """Return whether a stop may begin before `end` once more text is there."""
    longest = max(map(len, stops), default=0)
    begun = (text[start:] for start in range(max(at, len(text) - longest), end))
    return any(stop.startswith(rest) for rest in begun for stop in stops)


@lru_cache(maxsize=256)
def _ends_of(stops: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern that finds the first of `stops`, or whitespace."""
    return re.compile("|".join([*map(re.escape, stops), r"\s"]))


@lru_cache(maxsize=256)
def _lasts_of(stops: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern that finds a sign with which one of `stops` may end, or whitespace."""
    return re.compile("|".join([*(re.escape(stop[-1]) for stop in stops), r"\s"]))


_LONGEST_NOISE = 256
_NAME_SIGNS = lazy_pattern(r"[\w.-]+")
_IS_WORD = lazy_pattern(r"[^\W_]")
_NO_WORD = lazy_pattern(r"[\s{}\[\]<>\"']")

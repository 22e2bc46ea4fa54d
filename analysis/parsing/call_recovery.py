"""Search a text that the reader could not read once more, whole, for calls of offered tools.

    bash {"command": "ls"}</tool_call>  ->  a call of bash, with what departs from the format:
                                            `<tool_call>` is missing, arguments as a JSON object

`CallRecovery.find` walks over markup up to an offered name, reads the arguments behind it in the
format's notation, else as a JSON object, as Python keywords or as tagged pairs, and walks on over
markup to the next name or to the end. Of the format's literals any may be missing, doubled, foreign
or misspelled. A call counts only if its keys are declared, the required ones are there, and nothing
but markup is left over. A call has the list of its departures: it is `ok` without any, as a right
call among others may be.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple, cast

from msgspec.structs import replace

from autoparser.analysis.core.call_notation import json_notation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.text_alignment import TemplateLiteral, differing_parts, is_unit

from .argument_reader import read_arguments
from .call_ends import CallEnd, CallSurroundings, call_closers
from .json_call_reader import JsonReader, message_call
from .json_text import ReadOutcome, read_json
from .message_collector import TRIAL_CHOICES, MessageCollector
from .stop_marks import BARS, call_literals, call_markers, call_open, is_telling, mirrored
from .text_lookahead import ends_nowhere
from .text_tape import Reading, Result, Span, SpanKind, TextTape
from .turn_nodes import ArgumentList, CallSection, JsonCall, RowCall, SingleWord, TurnTree
from .turn_request import CallSchemas
from .value_decoding import decode_typed


class RecoveredCall(NamedTuple):
    """A call that was found, by offsets in the text that was searched."""

    name: str
    """The name of an offered function, such as `"bash"`."""
    arguments: str
    """JSON text, such as `{"command": "ls"}`."""
    id: str
    """The id in the text, such as `"call_1"`; empty if it has none."""
    end: int
    """The offset after the markup behind it, e.g. 52 if `</tool_call>` begins at 40."""
    spans: tuple[Span, ...]
    """The name, e.g. 12 to 23 for `get_weather`, the id and the arguments; what lies between them
    is markup."""
    departures: tuple[str, ...]
    """The departures from the template, such as "`</tool_call>` is missing"."""


class Recovery(NamedTuple):
    """Calls of which a text consists up to `end`, markup aside."""

    calls: tuple[RecoveredCall, ...]
    """The calls, at least one, e.g. that of "get_weather" with '{"city": "Rio", "days": 3}'."""
    end: int
    """The offset after the last call and its markup, e.g. 52."""
    guessed: bool
    """Whether more than markup was supplied: keys of values, or everything that marks a call, as
    for `to=functions.get_weather` and its JSON without `<|channel|>` and `<|message|>`."""


class _Token(NamedTuple):
    """A piece of markup; `own` if it is a literal of the format's calls, and not a foreign one."""

    text: str
    """The marker or sign, such as `"<tool_call>"`."""
    end: int
    """The offset after it, e.g. 12."""
    own: bool
    """Whether it is one of the format's own markers, as "<tool_call>" may be."""


class _Anchor(NamedTuple):
    """An offered name in a text, with the prefix of its word."""

    name: str
    """The offered name, such as `"bash"`."""
    start: int
    """The offset of the name, e.g. 12 behind " <tool_call>"."""
    end: int
    """The offset after the name, e.g. 23."""
    prefix: str = ""
    """The text before the name in its word, such as `"functions."`."""


class _Found(NamedTuple):
    """A call without the markup behind it."""

    name: str
    """The offered name, e.g. "get_weather"."""
    values: str
    """The arguments as JSON text, such as `'{"command": "ls"}'`."""
    end: int
    """The offset after the call, e.g. 40."""
    spans: tuple[Span, ...]
    """The spans of its name and arguments, e.g. 24 to 40 for its JSON."""
    tokens: tuple[_Token, ...] = ()
    """The markup between the name and the arguments, e.g. `<|message|>`; empty for an object of
    JSON."""
    how: tuple[str, ...] = ()
    """The departures from the format in words, such as "arguments as a JSON object"."""
    id: str = ""
    """The id in the text, e.g. "call_1"; empty if it has none."""
    guessed: bool = False
    """Whether a value had to be guessed, which `"repairs"` does not allow."""
    whole: bool = False
    """Whether the call is an object of JSON, e.g. `{"name": "bash", "arguments": {}}`, whose
    strings hold any text."""
    bare: bool = False
    """Whether nothing was read as arguments, e.g. True for `<tool_call>list_rooms</tool_call>`, so
    that markers have to enclose the name."""


# Signs that models confuse with each other.


_OPENING, _CLOSING = "<＜〈‹[{(", ">＞〉›]})"
_SIGNS = re.escape(BARS + _OPENING + _CLOSING)
_OPENS, _CLOSES = (f"[{re.escape(BARS + signs)}]" for signs in (_OPENING, _CLOSING))
_BRACKETED = re.compile(rf"[{_SIGNS}/]")


def lookalike_pattern(marker: str) -> str:
    """Return the pattern of a marker whose brackets and bars may be others, or be doubled.

    For `<｜x｜>` it finds `<|x|>`, `<‖x‖>` and `[x]`, but not `</x>`, which closes. Brackets that
    close before it, or open behind it, are text: the value `main()` before `</x>`, and the `{` of
    the arguments behind `<|x|>`.
    """
    pieces = [rf"(?=[{re.escape(_OPENING)}])"] if marker[:1] in _OPENING else []
    parts = [*filter(None, re.split(r"(\W+)", marker))]
    # Words have to match exactly; only the signs between them may differ.
    for at, piece in enumerate(parts):
        if _BRACKETED.search(piece) is None:
            pieces.append(r"[^\S\n]+" if piece.isspace() else re.escape(piece))
        elif "/" in piece:
            before = f"[{_SIGNS}]{{0,3}}" if at else f"{_OPENS}{{0,3}}{_CLOSES}{{0,2}}"
            pieces.append(rf"{before}/[{_SIGNS}]{{0,2}}")
        elif pieces and not at and parts[1:]:
            pieces.append(f"{_OPENS}{{1,3}}{_CLOSES}{{0,2}}")
        elif at and not parts[at + 1 :] and piece[-1] in _CLOSING:
            pieces.append(f"{_OPENS}{{0,2}}{_CLOSES}{{1,3}}")
        else:
            pieces.append(rf"[{_SIGNS}]{{1,4}}")
    return "".join(pieces)


class CallRecovery:
    """Finds calls of offered tools among markup that is not as the format writes it."""

    bounded = True
    """Whether a marker follows the texts, so that their last values are whole."""

    def __init__(self, turn: TurnTree, section: CallSection, around: CallSurroundings) -> None:
        """Prepare for the calls of a turn; without offered tools nothing is found."""
        call = section.call
        self._call, self._around, self._section = call, around, section
        lists = [item for item in _items(call) if isinstance(item, ArgumentList)]
        self._list = lists[0] if lists else None
        # The longest first: a name may begin with another one.
        self._names = sorted(turn.offered or (), key=len, reverse=True) if lists else []
        literals = [*call_literals(section), section.open, section.close, section.later_close]
        self._expected = tuple(unit for literal in call_literals(section) for unit in literal.units)
        units = dict.fromkeys(unit for literal in literals for unit in literal.units)
        self.markers = call_markers(section)
        """The format's markers of calls and of their arguments."""
        # An answer that has to be JSON may be any object.
        self._is_shaped = isinstance(call, JsonCall) and not (self.markers or turn.json)
        """Whether the object of a call is all that marks it."""
        self._openers = (*section.open.units, *call_open(call).units)
        self._closers = tuple(
            unit
            for unit in dict.fromkeys((*call_closers(turn, section), *section.close.units))
            if is_telling(unit)
        )
        self._units = tuple(units)
        strings = () if self._list is None else self._list.arguments.values.string
        quotes = {strings.open.strip(), strings.close.strip()} if strings else set[str]()
        self._inside = tuple(
            json.dumps(marker, ensure_ascii=False)[1:-1]
            for marker in (*filter(is_unit, self.markers), *quotes)
            if len(marker) > 1
        )
        """Markup that no value holds, as in JSON."""
        self._json = call if isinstance(call, JsonCall) else message_call(call)
        self._has_words = any(isinstance(item, SingleWord) for item in _items(call))

    @cached_property
    def _name(self) -> re.Pattern[str]:
        """The pattern of an offered name, perhaps in quotes."""
        names = "|".join(map(re.escape, self._names)) or "(?!)"
        return re.compile(rf"[\"']?(?P<name>{names})(?![\w-])[\"']?")

    @cached_property
    def _token(self) -> re.Pattern[str]:
        """The pattern of a piece of markup."""
        mirrors = map(mirrored, filter(is_unit, self._openers))
        texts: set[str] = {*self._units, *filter(None, mirrors)}
        own = sorted(texts, key=len, reverse=True)
        names = "|".join(map(re.escape, self._names)) or "(?!)"
        return re.compile(
            rf"(?P<space>\s+)|(?P<own>{'|'.join(map(_as_word, own)) or '(?!)'})"
            rf"|(?P<foreign><[\w:|｜-]+(?:=|[^\S\n]+\w+=)[\"']?(?=(?:{names})[\"']?\s*/?>)|{_FOREIGN})"
        )

    @cached_property
    def _spelled(self) -> dict[str, str]:
        """The markers that may be misspelled, by the name of their group in the pattern."""
        found = sorted(filter(_BRACKETED.search, self.markers), key=len, reverse=True)
        return {f"m{at}": marker for at, marker in enumerate(found)}

    @cached_property
    def _lookalike(self) -> re.Pattern[str]:
        exact = "|".join(map(re.escape, self._spelled.values())) or "(?!)"
        alike = (f"(?P<{key}>{lookalike_pattern(text)})" for key, text in self._spelled.items())
        return re.compile("|".join([f"(?P<exact>{exact})", *alike]))

    def names_in(self, text: str) -> list[int]:
        """Return the offsets of the offered names in a text."""
        starts = (match.start("name") for match in self._name.finditer(text))
        return [
            start
            for start in starts
            if not text[start - 1 : start].isalnum() or self.nearly_opens(text[:start])
        ]

    def at_end(self) -> CallRecovery:
        """Return the search in a text that nothing follows, so that its last value may go on."""
        other = copy(self)
        other.bounded = False
        return other

    def may_hold(self, text: str) -> bool:
        """Return whether calls may come in a text of which more may follow.

        The first text that is not markup decides: it has to be an offered name or an object.
        """
        text = self._replace_lookalikes(text)[0]
        return self._call_begins(text, self._markup_run(text, 0)[1]) is not False

    def opens_call(self, text: str) -> bool | None:
        """Return whether a text that begins with an opener goes on with a call; None if unsure.

        `<call> {"name"` does, and `<call> is a tag` does not.
        """
        text = self._replace_lookalikes(text)[0]
        tokens, at = self._markup_run(text, 0)
        # Any tool's name may follow the format's markup, and an id or a name may precede it.
        word = _ID.match(text, at)
        behind = None if word is None else text[word.end() :].lstrip()
        units = [unit for unit in self._units if unit not in self._openers]
        if any(token.own for token in tokens[1:]) or (behind and behind.startswith(tuple(units))):
            return True
        if behind is not None and any(unit.startswith(behind) for unit in units):
            return None
        return self._call_begins(text, at)

    def _call_begins(self, text: str, at: int) -> bool | None:
        """Return whether a call begins behind markup; None if more text decides."""
        rest = text[at:]
        if rest[:1] == "{" or self._anchor(text, at) is not None:
            return True
        unsure = not rest or (len(rest) < _LONGEST_TOKEN and _UNSURE.fullmatch(rest) is not None)
        return None if unsure else False

    def ends_call(self, text: str) -> bool:
        """Return whether a text ends with a bracket or marker, and a closer of calls behind it."""
        closers = filter(text.endswith, self._closers)
        return any(text.removesuffix(closer).rstrip().endswith(_ENDS) for closer in closers)

    def is_markup(self, text: str) -> bool:
        """Return whether a text is nothing but markup of calls."""
        text = self._replace_lookalikes(text)[0]
        _, at = self._markup_run(text, 0)
        return self._is_end(text, at)

    def nearly_opens(self, text: str) -> bool:
        """Return whether a text ends with the opening of a call in which one character is wrong."""
        opening = f"{self._section.open.core}{call_open(self._call).core}".rpartition("\n")[2]
        sizes = range(len(opening) - 1, len(opening) + 2) if is_telling(opening) else ()
        wrong = (differing_parts(text[-size:], opening) for size in sizes)
        return any(max(map(len, parts)) == 1 for parts in wrong)

    def find(self, text: str, schemas: CallSchemas, *, marked: bool = False) -> Recovery | None:
        """Return the calls of which a whole text consists, up to its end or the next opener.

        They are `marked` by what opened the call before them, if that did not close: its closer
        ends them, too, and text may follow.
        """
        within = marked
        if not self._names or self._list is None:
            return None
        text, moves = self._replace_lookalikes(text)
        calls: list[RecoveredCall] = []
        tokens, at = self._markup_run(text, 0)
        guessed = closed = False
        unmarked = 0
        # Markup and calls in turn, up to another text or the end.
        while (
            unmarked < _MOST_UNMARKED and (found := self._find_call(text, at, schemas)) is not None
        ):
            behind, at = self._markup_run(text, found.end)
            cut = next((n for n, token in enumerate(behind) if self._opens(token)), len(behind))
            around = [*tokens, *found.tokens, *behind[:cut]]
            # A name without arguments is a word like any other, unless markers enclose it.
            if found.bare and not self._is_enclosed(tokens, behind[:cut]):
                return None
            how = (*found.how, *self._departures(around, first=not calls, last=cut == len(behind)))
            end = behind[cut - 1].end if cut else found.end
            if cut == len(behind) and self._is_end(text, at):
                at = end = len(text)
            # Of the replaced look-alikes, those of this call: behind the call before it.
            since = calls[-1].end if calls else 0
            swapped = (f"`{old}` for `{new}`" for at_, old, new in moves if since <= at_ < end)
            how = (*dict.fromkeys(swapped), *how)
            told = any(token.own and is_telling(token.text) for token in around)
            unmarked = 0 if told else unmarked + 1
            shaped = found.whole and self._is_shaped
            if shaped and not (marked or told or how):
                how = (_AS_OBJECT,)
            calls.append(RecoveredCall(found.name, found.values, found.id, end, found.spans, how))
            marked = marked or told or shaped
            guessed = guessed or found.guessed
            closed = within and cut > 0 and behind[cut - 1].text in self._closers
            tokens = behind[cut:]
        # Other text is left over, so this is a text that mentions a tool.
        ends = closed or at == len(text) or unmarked == _MOST_UNMARKED
        if not calls or not (ends or any(map(self._opens, tokens))):
            return None
        placed = tuple(_move_spans(call, moves) for call in calls)
        return Recovery(placed, placed[-1].end, guessed or not marked)

    # Markup.

    def _replace_lookalikes(self, text: str) -> tuple[str, list[tuple[int, str, str]]]:
        """Return a text with the format's markers for their look-alikes, and the replacements.

        Of a replaced text there is its offset in the new text, itself, and its replacement.
        """
        moves: list[tuple[int, str, str]] = []
        pieces: list[str] = []
        at = size = 0
        for match in self._lookalike.finditer(text):
            if match.lastgroup == "exact":
                continue
            marker = self._spelled[str(match.lastgroup)]
            pieces.append(text[at : match.start()])
            size += match.start() - at
            moves.append((size, match.group(), marker))
            pieces.append(marker)
            size += len(marker)
            at = match.end()
        return "".join([*pieces, text[at:]]), moves

    def _markup_run(self, text: str, at: int) -> tuple[list[_Token], int]:
        """Return the markup from an offset on, and where it ends: at a name, an object or text."""
        tokens: list[_Token] = []
        while at < len(text) and self._name.match(text, at) is None:
            match = self._token.match(text, at)
            if match is None:
                break
            at = match.end()
            if match.lastgroup != "space":
                tokens.append(_Token(match.group(), at, match.lastgroup == "own"))
        return tokens, at

    def _opens(self, token: _Token) -> bool:
        """Return whether a marker begins another call or another section."""
        return token.own and token.text in self._openers and is_unit(token.text)

    def _is_end(self, text: str, at: int) -> bool:
        """Return whether a text ends here, or in the front of a closer of calls."""
        rest = text[at:]
        # A single character, such as `<`, may begin anything.
        return not rest or (
            len(rest) > 1 and any(closer.startswith(rest) for closer in self._closers)
        )

    def _is_enclosed(self, before: Sequence[_Token], behind: Sequence[_Token]) -> bool:
        """Return whether markers of a call stand on both sides of a name."""
        closers = {*self._closers}
        return any(map(self._opens, before)) and any(token.text in closers for token in behind)

    def _departures(self, tokens: Sequence[_Token], *, first: bool, last: bool) -> Iterator[str]:
        """Return which literals of one call are missing, repeated or foreign, in words."""
        section = self._section
        wanted = Counter(filter(_counts, self._expected))
        wanted.update(filter(_counts, section.open.units if first else ()))
        wanted.update(filter(_counts, section.close.units if last else ()))
        there = Counter(token.text for token in tokens if token.own)
        for text in dict.fromkeys((*wanted, *filter(_counts, there))):
            if there[text] < wanted[text]:
                yield f"`{text}` is missing"
            elif there[text] > wanted[text]:
                yield f"`{text}` is repeated" if wanted[text] else f"`{text}` is not written here"
        foreign = (token.text for token in tokens if not token.own)
        yield from (f"`{text}` is foreign" for text in dict.fromkeys(foreign))

    # Searching for one call.

    def _anchor(self, text: str, at: int) -> _Anchor | None:
        """Return the offered name at an offset; a word may have a namespace before it."""
        match = self._name.match(text, at)
        if match is not None:
            return _Anchor(match["name"], *match.span("name"))
        word = _WORD.match(text, at)
        name = "" if word is None else self._around.last_part(word.group())
        if word is None or not name:
            return None
        start = at + word.group().rindex(name)
        return _Anchor(name, start, start + len(name), word.group()[: start - at])

    def _find_call(self, text: str, at: int, schemas: CallSchemas) -> _Found | None:
        """Return the call that begins at an offset with its name or as an object, or None."""
        if text.startswith("{", at):
            return self._object(text, at, schemas)
        anchor = self._anchor(text, at)
        if anchor is None:
            return None
        quoted = text[anchor.end : anchor.end + 1] in ("'", '"')
        own = self._token.match(text, anchor.end)
        # The quote after a name may begin a literal, such as `">`.
        start = anchor.end + (quoted and (own is None or own.lastgroup != "own"))
        how = (f"`{anchor.prefix}` before the name",) if anchor.prefix else ()
        spans = (Span(anchor.start, anchor.end, SpanKind.NAME),)
        part = schemas.of(anchor.name)
        for found in self._arguments(text, start, anchor.name, part):
            if self._fits(found, part):
                return found._replace(spans=(*spans, *found.spans), how=(*how, *found.how))
        return None

    def _fits(self, found: _Found, part: SchemaPart) -> bool:
        """Return whether the arguments have declared keys alone, and all that are required."""
        try:
            keys = set(cast("Mapping[str, Json]", json.loads(found.values)))
        except (ValueError, RecursionError):
            return False
        if not found.whole and any(marker in found.values for marker in self._inside):
            # A value contains markup, so a closer was overlooked.
            return False
        declared = keys <= part.names or (not part.names and part.invites_other_names)
        return declared and keys >= part.required

    def _object(self, text: str, at: int, schemas: CallSchemas) -> _Found | None:
        """Return a call that is a JSON object with its name inside."""
        if self._json is None:
            return None
        tape = _whole(text[at:], bounded=self.bounded)
        collector = MessageCollector(None, schemas, TRIAL_CHOICES)
        nothing = TemplateLiteral()
        call = replace(self._json, before=nothing, after=nothing)
        # Accept any name here: one such as `functions.ping` is looked up below.
        around = replace(self._around, offered=None, stops=(), tentative=False)
        reader = JsonReader(tape, call, around, collector)
        if _reading_result(reader.read()) is not CallEnd.CLOSED:
            return None
        read = collector.closed_calls[0] if collector.closed_calls else None
        name = "" if read is None else read.name
        if name not in self._names:
            name = self._around.last_part(name)
        if read is None or not name:
            return None
        written = {SpanKind.NAME, SpanKind.ARGUMENTS, SpanKind.ID}
        spans = tuple(
            Span(span.start + at, span.end + at, span.kind)
            for span in tape.spans
            if span.kind in written
        )
        how: tuple[str, ...] = ()
        if not isinstance(self._call, JsonCall):
            how = (_AS_OBJECT,)
        how += () if name == read.name else (f"`{read.name.removesuffix(name)}` before the name",)
        end = at + tape.position
        # Without arguments and markers, it may be any object with a name.
        data = not (reader.is_filled or self.markers)
        found = _Found(name, read.arguments, end, spans, (), how, read.id, data, whole=True)
        return found if self._fits(found, schemas.of(name)) else None

    def _arguments(self, text: str, at: int, name: str, part: SchemaPart) -> Iterator[_Found]:
        """Return the readings of the arguments after a name, the format's own notation first."""
        gap = self._gap(text, at)
        ends = [at, *(token.end for token in gap)]
        ways = (self._own, self._read_object, self._keywords, self._read_tags)
        for way in ways:
            # All of the gap may be markup, or its last pieces may begin the arguments.
            for count in range(len(gap), -1, -1):
                found = way(text, _behind_space(text, ends[count]), name, part)
                if found is not None:
                    ids = [
                        token.text
                        for token in gap[:count]
                        # A word that the format does not write itself, e.g. `call_1`.
                        if not token.own and _ID.fullmatch(token.text)
                    ]
                    yield found._replace(
                        tokens=tuple(token for token in gap[:count] if token.text not in ids),
                        id=ids[-1] if ids else "",
                    )
        yield _Found(name, "{}", at, (), bare=True)

    def _gap(self, text: str, at: int) -> list[_Token]:
        """Return the markup between a name and its arguments, with an id or a number in it."""
        tokens: list[_Token] = []
        opened = [marker for marker in self.markers if marker not in self._expected]
        while len(tokens) < _MOST_BETWEEN and not text.startswith(tuple(opened), at):
            match = self._token.match(text, at)
            word = _ID.match(text, at) if self._has_words and match is None else None
            found = match or word
            if found is None or found.group() in self._closers:
                break
            at = found.end()
            if match is None or match.lastgroup != "space":
                own = match is not None and match.lastgroup == "own"
                tokens.append(_Token(found.group(), at, own))
        return tokens

    def _own(self, text: str, at: int, name: str, part: SchemaPart) -> _Found | None:
        """Read arguments in the format's notation."""
        if self._list is None or isinstance(self._call, JsonCall):
            return None
        tape, pieces = _whole(text[at:], bounded=self.bounded), list[str]()
        closers = _closers_behind(self._call)
        stops = (*closers, *self._around.closers, *self._around.stops)
        reading = read_arguments(
            tape,
            self._list.arguments,
            part,
            stops,
            pieces.append,
            repairs=tuple(filter(is_unit, stops)),
            goes_on=ends_nowhere,
        )
        outcome = _reading_result(reading)
        values = "".join(pieces)
        if outcome not in (ReadOutcome.COMPLETE, ReadOutcome.REPAIRED) or values == "{}":
            return None
        how = ("values are repaired",) if outcome is ReadOutcome.REPAIRED else ()
        return self._make_found(name, values, tape, at, how)

    def _read_object(self, text: str, at: int, name: str, part: SchemaPart) -> _Found | None:
        """Read arguments that are a JSON object."""
        del part
        if not text.startswith("{", at):
            return None
        tape, pieces = _whole(text[at:], bounded=self.bounded), list[str]()
        # Not even its braces may be missing.
        tape.complete = False
        outcome = _reading_result(read_json(tape, pieces.append))
        if outcome not in (ReadOutcome.COMPLETE, ReadOutcome.REPAIRED):
            return None
        return self._make_found(name, "".join(pieces), tape, at, ("arguments as a JSON object",))

    def _make_found(
        self, name: str, values: str, tape: TextTape, at: int, how: tuple[str, ...]
    ) -> _Found:
        end = at + tape.position
        spans = tuple(
            Span(at + span.start, at + span.end, span.kind)
            for span in tape.spans
            if span.kind is SpanKind.ARGUMENTS
        )
        return _Found(name, values, end, spans, how=how)

    def _keywords(self, text: str, at: int, name: str, part: SchemaPart) -> _Found | None:
        """Read arguments that are keywords of a call in Python; those by position are guessed."""
        if not text.startswith("(", at):
            return None
        # Strings may hold brackets, so the first one at which Python parses it closes the call.
        for tried, close in enumerate(re.finditer(r"\)", text[at:])):
            if tried > _MOST_TRIED:
                return None
            try:
                with warnings.catch_warnings():
                    # Such as a backslash that escapes nothing: a model's output causes no warnings.
                    warnings.simplefilter("ignore")
                    call = ast.parse(f"f{text[at : at + close.end()]}", mode="eval").body
                if not isinstance(call, ast.Call):
                    return None
                given = [_python(value) for value in call.args]
                values = {str(keyword.arg): _python(keyword.value) for keyword in call.keywords}
            except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
                continue
            properties = part.schema.get("properties") if is_mapping(part.schema) else None
            keys = list(properties) if is_mapping(properties) else []
            # More values than parameters, or a parameter that is given twice.
            if len(given) > len(keys) or values.keys() & {*keys[: len(given)]}:
                return None
            values = {**dict(zip(keys, given, strict=False)), **values}
            end = at + close.end()
            spans = (Span(at + 1, end - 1, SpanKind.ARGUMENTS),) if end > at + 2 else ()
            how = ("arguments by position",) if given else ("arguments as Python keywords",)
            return _Found(name, _encode_json(values), end, spans, how=how, guessed=bool(given))
        return None

    def _read_tags(self, text: str, at: int, name: str, part: SchemaPart) -> _Found | None:
        """Read arguments that are pairs of tags, such as `<a>1</a>` and `<arg name="a">1</arg>`."""
        values = dict[str, Json]()
        spans: list[Span] = []
        end = at
        while True:
            matches = (pattern.match(text, end) for pattern in _PAIRS)
            pair = next((match for match in matches if match and match["key"] in part.names), None)
            if pair is None or pair["key"] in values:
                break
            # A value may stand on lines of its own: "<a>\n1\n</a>".
            written = pair["value"].removeprefix("\n").removesuffix("\n")
            kinds = part.member(pair["key"]).kinds
            values[pair["key"]] = decode_typed(written, kinds, json_notation())
            spans.append(Span(*pair.span("value"), SpanKind.ARGUMENTS))
            end = pair.end()
        if not values:
            return None
        return _Found(
            name, _encode_json(values), end, tuple(spans), how=("arguments as tagged pairs",)
        )


_FOREIGN = (
    r"</?(?=[^<>\n]{0,46}[^\W\d])[A-Za-z_|｜‖/][^<>\n]{0,46}>"
    r"|\[/?[A-Z][A-Z_]{1,23}\]|/>|[\[\](),;}:]|\{(?=\s*\{)"
)
"""Markup of other formats: tags with a letter, words in brackets, signs of lists."""
_LONGEST_TOKEN = 256
_UNSURE = re.compile(
    r"[^\w\s>]{0,8}[<＜〈‹][^\w\s<]{0,3}[^<>\n]*(?:[^\w\s<>]<[^<>\n]*){0,2}"
    r"|\[[\w/|]*|[\w.:/\"'-]*|`{1,2}|\{\s*|[^\w\s]{1,8}[\w|｜]*"
)
"""The front of a token, with signs doubled as in `<|</tool` and `</|x|<tool`, or of a name."""
_WORD = re.compile(r"[\w.:/-]+")
_ID = re.compile(r"[\w.:-]{1,64}")
_AS_OBJECT = "the call as a JSON object"
_MOST_TRIED = 64
_ENDS = tuple(")]}>")
_MOST_UNMARKED = 32
"""Most calls in a row without a marker that are sought at once: no text ends a value there, so each
call may read all text behind it."""
_MOST_BETWEEN = 8
"""Most pieces of markup between a name and its arguments: behind each one all ways are tried."""
_PAIRS = (
    # <key>a</key><value>1</value>
    re.compile(
        r"\s*<([\w:.-]+)>\s*(?P<key>[\w.-]+)\s*</\1>\s*<([\w:.-]+)>(?P<value>.*?)</\3>", re.DOTALL
    ),
    # <arg=a>1</arg>, <arg name="a">1</arg>
    re.compile(
        r"\s*<([\w:.-]+)(?:=|\s+(?:name|key)=)[\"']?(?P<key>[\w.-]++)[^<>]*+>(?P<value>.*?)</\1>",
        re.DOTALL,
    ),
    # <a>1</a>
    re.compile(r"\s*<(?P<key>[\w.-]+)>(?P<value>.*?)</(?P=key)>", re.DOTALL),
)


def _behind_space(text: str, at: int) -> int:
    """Return the offset of the first text at or after another offset that is not whitespace."""
    return len(text) - len(text[at:].lstrip())


def _as_word(unit: str) -> str:
    return rf"{re.escape(unit)}(?!\w)" if unit[-1:].isalnum() else re.escape(unit)


def _counts(text: str) -> bool:
    """Return whether a piece of markup is a marker or a word, and not a mere sign."""
    return is_unit(text) or any(map(str.isalnum, text))


def _items(call: RowCall | JsonCall) -> tuple[object, ...]:
    return call.row if isinstance(call, RowCall) else (call.arguments,)


def _closers_behind(call: RowCall) -> list[str]:
    """Return the texts that may follow the arguments of a row."""
    at = next(at for at, item in enumerate(call.row) if isinstance(item, ArgumentList))
    rest = (item for item in call.row[at + 1 :] if isinstance(item, TemplateLiteral) and item.core)
    return [unit for literal in rest for unit in (literal.first, *literal.units)]


def _move_spans(call: RecoveredCall, moves: Sequence[tuple[int, str, str]]) -> RecoveredCall:
    """Return a call by the offsets of the text before look-alikes were replaced."""

    def before(at: int) -> int:
        return at - sum(len(new) - len(old) for start, old, new in moves if start < at)

    spans = (Span(before(span.start), before(span.end), span.kind) for span in call.spans)
    return call._replace(end=before(call.end), spans=tuple(spans))


def _whole(text: str, *, bounded: bool) -> TextTape:
    """Return a tape with all of a text, which a marker follows if it is `bounded`."""
    tape = TextTape()
    tape.feed(text)
    tape.closed = tape.complete = True
    tape.bounded = bounded
    return tape


def _reading_result(reading: Reading[Result]) -> Result | None:
    """Return the result of a reader of a whole text, which never waits."""
    try:
        next(reading)
    except StopIteration as ended:
        return cast("Result", ended.value)
    return None


def _python(node: ast.expr) -> Json:
    """Return the value of a literal, with an f-string without fields as its text."""
    match node:
        case ast.JoinedStr():
            return "".join(str(_python(part)) for part in node.values)
        case ast.Set() | ast.Tuple() | ast.List():
            return [_python(elt) for elt in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {str(_python(key)): _python(value) for key, value in pairs if key is not None}
        case _:
            value = ast.literal_eval(node)
            if isinstance(value, bytes | complex) or value is Ellipsis:
                raise TypeError
            return cast("Json", value)


def _encode_json(values: Mapping[str, Json]) -> str:
    return json.dumps(values, ensure_ascii=False, allow_nan=False)

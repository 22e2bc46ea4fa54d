"""Conclude from calls of examples the literals before, inside and after each argument.

`shown_entries` cuts arguments that are written one by one into entries and gathers the literals
around them by the type of the value; `conclude_entry_frame` finds the opening, separator and close
that all entries share, and the openings and closes of single types; `value_frames` gathers literals
for values that are yet to be found. In `look(city="Oslo", days=3)</call>`

    city="Oslo",       between key and value `="`, after it `", `        a string
    days=3             between key and value `=`, after it `)</call>`    an integer

`", ` ends with what follows other values, `, `, so `"` closes a string and `, ` separates:

    EntryFrame(prefix '(', open '', separator ', ', close '', closes {STRING: '"'})
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest

from msgspec import Struct, field
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape, StringGuard
from autoparser.analysis.core.text_alignment import (
    RepeatedText,
    common_prefix,
    common_suffix,
    edge_units,
    is_unit,
    split_repetition,
)

from .call_rows import cut_at
from .example_alignment import AlignedExample, ShownCall, ValueFrames, leading_space, most_frequent
from .examples import KEY_MARK, fill_marks, with_key_mark, with_own_words


class ShownEntry(Struct, frozen=True):
    """One argument of one call."""

    key: str
    """As in the message, e.g. `city`."""
    key_text: str
    """As in the output, e.g. `city`, or `a&amp;b` for `a&b`."""
    kind: JsonType
    """The type of the value, e.g. string."""
    value: Json
    """E.g. `"Oslo"`."""
    text: str
    """The value as in the output, e.g. `Oslo`."""
    lead: str
    """The literal before the key of the first one, e.g. `"("`; empty for the others."""
    middle: str
    r"""The literal between key and value, e.g. `"=\""`."""
    after: str
    r"""The literal after the value, up to the next key or the end of the call, e.g. `"\", "`."""
    first: bool
    """Whether no argument precedes, e.g. True for `city` in `city='Oslo', days=3`."""
    last: bool
    """Whether no argument follows, e.g. True for `days` there."""


class ShownEntries(Struct, frozen=True):
    """The literals in and around entries, by the type of the value that they belong to."""

    leads: tuple[tuple[JsonType, str], ...]
    """The literal before each first entry, e.g. `(STRING, "(")`."""
    pairs: tuple[tuple[JsonType, JsonType, str], ...]
    r"""The literal between each two entries, with the types of both values, e.g. `(STRING,
    INTEGER, "\", ")`."""
    middles: dict[JsonType, str]
    r"""The usual literal between key and value, e.g. `{STRING: "=\"", INTEGER: "="}`."""
    betweens: dict[JsonType, str]
    r"""The usual literal from a value to the next key, e.g. `{STRING: "\", ", INTEGER: ", "}`."""
    tails: dict[JsonType, list[str]]
    r"""The literals after last values, e.g. `{STRING: ["\")</call>"]}`."""
    texts: tuple[tuple[Json, str], ...]
    """Values, each with its spelling, e.g. `(True, "yes")`."""
    keys: tuple[tuple[str, str], ...]
    """Keys, each with its spelling, e.g. `("a&b", "a&amp;b")`."""
    guard: StringGuard | None
    """The literals around some strings only, e.g. `<![CDATA[` and `]]>`, or None."""


def shown_entries(calls: Sequence[ShownCall]) -> ShownEntries:
    """Gather the literals around the arguments of calls, with their own words replaced by marks."""
    entries = _with_key_marks(list(_entries_of_calls(calls)))
    # Remove a wrapper of some strings before comparing literals, since it depends on the value.
    guard = _find_guard(entries)
    if guard is not None:
        entries = [_remove_guard(entry, guard) for entry in entries]
    return ShownEntries(
        tuple((entry.kind, entry.lead) for entry in entries if entry.first),
        tuple(
            (entry.kind, following.kind, entry.after)
            for entry, following in pairwise(entries)
            if not entry.last
        ),
        _usual_by_kind(entries, lambda entry: entry.middle),
        _usual_by_kind([entry for entry in entries if not entry.last], lambda entry: entry.after),
        _afters_by_kind([entry for entry in entries if entry.last]),
        tuple((entry.value, entry.text) for entry in entries),
        tuple((entry.key, entry.key_text) for entry in entries),
        guard,
    )


def value_frames(aligned: Iterable[AlignedExample]) -> ValueFrames:
    """Gather the literals around values, for values that are yet to be found."""
    middles: Counter[str] = Counter()
    betweens: dict[str, None] = {}
    tails: dict[JsonType | None, list[str]] = {}
    # A literal counts only between a key and its own value.
    for example in aligned:
        for at, (mark, following) in enumerate(zip_longest(example.marks, example.marks[1:])):
            literal = example.between(at + 1)
            if (
                mark.what is RowSlot.KEY
                and following is not None
                and following.what is RowSlot.VALUE
            ):
                middles[literal] += 1
            if mark.what is not RowSlot.VALUE or example.marks[at - 1].what is not RowSlot.KEY:
                continue
            key = example.marks[at - 1]
            literal = with_own_words(literal, example.message.calls[mark.call])
            literal = with_key_mark(literal, example.text[key.start : key.end])
            if following is not None and following.what is RowSlot.KEY:
                betweens[literal] = None
            else:
                tails.setdefault(mark.kind, []).append(literal)
    # The last value is followed by the close of its type, then by the close of the call.
    shared = dict.fromkeys(common_prefix(*texts) for texts in tails.values())
    return ValueFrames(
        middles,
        tuple(between for between in betweens if between),
        tuple(tail for tail in shared if tail),
    )


def _entries_of_calls(calls: Sequence[ShownCall]) -> Iterator[ShownEntry]:
    """Yield every key and value of calls that write arguments one by one, with the text around."""
    for call in calls:
        around = (call.before, *call.joints, call.after)
        for at, (slot, marks) in enumerate(call.fields):
            if slot is not RowSlot.ARGUMENTS or marks[0].what is not RowSlot.KEY:
                continue
            # Inside, literals alternate: after a key, after a value, and so on.
            afters = (*call.inside[1::2], around[at + 1])
            for number, after in enumerate(afters):
                key, value = marks[2 * number], marks[2 * number + 1]
                key_text, text = call.texts[2 * number : 2 * number + 2]
                yield ShownEntry(
                    str(key.value),
                    key_text,
                    value.kind or JsonType.NULL,
                    value.value,
                    text,
                    "" if number else around[at],
                    call.inside[2 * number],
                    after,
                    not number,
                    number + 1 == len(afters),
                )


def _with_key_marks(entries: Sequence[ShownEntry]) -> Sequence[ShownEntry]:
    """Replace the entry's own key by marks if most entries repeat it, as in `</city>`."""
    marked = [replace(entry, after=with_key_mark(entry.after, entry.key_text)) for entry in entries]
    # A value may contain its own key by chance, so most entries have to repeat it.
    changed = sum(new.after != old.after for new, old in zip(marked, entries, strict=True))
    return marked if 2 * changed > len(entries) else entries


def _find_guard(entries: Sequence[ShownEntry]) -> StringGuard | None:
    """Find the literals around some strings that the others lack."""
    strings = [entry for entry in entries if entry.kind is JsonType.STRING]
    plain = min((string.middle for string in strings), key=len, default="")
    bare = [string for string in strings if string.middle == plain]
    wrapped = [
        string for string in strings if string not in bare and string.middle.startswith(plain)
    ]
    found = {
        (entry.middle.removeprefix(plain), entry.after.removesuffix(other.after))
        for entry in wrapped
        for other in entries
        if other not in wrapped and entry.last == other.last and entry.after.endswith(other.after)
    }
    # With two different wrappers or none, the type or the place decides, not the value.
    if len(found) != 1:
        return None
    opening, close = found.pop()
    held = [str(entry.value) for entry in wrapped if entry.middle == plain + opening]
    signs = _telling_signs(held, "".join(str(entry.value) for entry in bare))
    return StringGuard(signs, opening, close) if close and signs else None


def _telling_signs(wrapped_texts: Sequence[str], others: str) -> str:
    """Return signs such that every one of these texts has one, and the others have none."""
    signs = Counter(
        char
        for text in wrapped_texts
        for char in dict.fromkeys(text)
        if not char.isalnum() and char != " " and char not in others
    )
    telling = ""
    rest: tuple[str, ...] = tuple(wrapped_texts)
    # Use as few signs as possible: the most frequent first, until every text contains one.
    while rest:
        most = max(signs.values(), default=0)
        if not most:
            return ""
        telling += "".join(char for char in signs if signs[char] == most and char not in telling)
        rest = tuple(text for text in rest if not set(text) & set(telling))
        signs = Counter({char: sum(char in text for text in rest) for char in signs})
    return telling


def _remove_guard(entry: ShownEntry, guard: StringGuard) -> ShownEntry:
    if entry.kind is not JsonType.STRING or not entry.middle.endswith(guard.open):
        return entry
    return replace(
        entry,
        middle=entry.middle.removesuffix(guard.open),
        after=entry.after.removeprefix(guard.close),
    )


def _usual_by_kind(
    entries: Sequence[ShownEntry], literal_of: Callable[[ShownEntry], str]
) -> dict[JsonType, str]:
    kinds = dict.fromkeys(entry.kind for entry in entries)
    return {
        kind: most_frequent(literal_of(entry) for entry in entries if entry.kind is kind) or ""
        for kind in kinds
    }


def _afters_by_kind(entries: Sequence[ShownEntry]) -> dict[JsonType, list[str]]:
    afters: dict[JsonType, list[str]] = {}
    for entry in entries:
        afters.setdefault(entry.kind, []).append(entry.after)
    return afters


# The opening, separator and close of all entries, and openings and closes of one type.


_OPEN_MARK = "\ue005"
"""Placeholder for the opening of an entry, if it differs by type."""


class EntryFrame(Struct, frozen=True):
    """The literals around entries."""

    repetition: RepeatedText = field(default_factory=lambda: RepeatedText("", "", "", "", ""))
    """The literals around all entries, e.g. separator `", "`."""
    opens: Mapping[JsonType, str] = field(default_factory=dict[JsonType, str])
    """The opening of an entry by its value's type, e.g. `{STRING: "<text "}` for `<text city>`."""
    closes: Mapping[JsonType, str] = field(default_factory=dict[JsonType, str])
    r"""The close of a value by type, before that of the entry, e.g. `{STRING: "\""}`."""
    guessed: bool = False
    """Whether the separator is a guess, as after `look(city='Oslo')`: no call has 2 arguments."""

    def row(self, kind: JsonType, middle: str) -> Row:
        """Return the row of an entry with a value of this type."""
        # `<text KEY>` for strings and `<num KEY>` for numbers are one opening with a mark.
        opening = self.repetition.open.replace(_OPEN_MARK, self.opens.get(kind, ""))
        close = self.closes.get(kind, "") + self.repetition.close
        return cut_at((opening, RowSlot.KEY, middle, RowSlot.VALUE, close), KEY_MARK, RowSlot.KEY)

    def before(self, literal: str) -> str:
        """Cut the opening of the first entry off the literal before it."""
        opening = self.repetition.open
        for type_opening in dict.fromkeys(self.opens.values()) or [""]:
            whole = opening.replace(_OPEN_MARK, type_opening)
            if literal.endswith(whole):
                return literal.removesuffix(whole)
        return literal

    def after(self, literal: str, kind: JsonType, key: str, guard: str) -> str:
        """Cut the close of the last entry off the literal after it.

        `key` is the spelling of its key, `guard` the close of some strings before all else.
        """
        close = self.closes.get(kind, "")
        if guard and literal.startswith(guard + close):
            literal = literal.removeprefix(guard)
        own = fill_marks(self.repetition.close, {KEY_MARK: key})
        return literal.removeprefix(close).removeprefix(own)


def conclude_entry_frame(entries: ShownEntries, escape: StringEscape) -> EntryFrame:
    """Conclude the literals around entries from those that were seen."""
    # Tags that are named for a type differ as a whole; else a quote may.
    tags = _tags_by_type(entries)
    opens = {kind: opening for kind, (opening, _) in tags.items()}
    closes = {kind: close for kind, (_, close) in tags.items()} or _closes_by_kind(entries, escape)
    tail = common_prefix(
        *(
            text.removeprefix(closes.get(kind, ""))
            for kind, texts in entries.tails.items()
            for text in texts
        )
    )
    lead = common_suffix(*(_mark_opening(text, kind, opens) for kind, text in entries.leads))
    between = most_frequent(
        _mark_opening(text.removeprefix(closes.get(kind, "")), following, opens)
        for kind, following, text in entries.pairs
    )
    # No call has two arguments, so their separator is unknown.
    if between is None:
        return EntryFrame(_guess_entry_frame(lead, tail), opens, closes, guessed=True)
    return EntryFrame(split_repetition(lead, between, tail), opens, closes)


def _mark_opening(text: str, kind: JsonType, opens: Mapping[JsonType, str]) -> str:
    """Replace the opening of an entry that depends on its type by a mark."""
    return text.removesuffix(opens[kind]) + _OPEN_MARK if kind in opens else text


def _tags_by_type(entries: ShownEntries) -> dict[JsonType, tuple[str, str]]:
    """Find units that open and close entries by type, as `<text a>` and `</text>` do.

    The close of the entry repeats a word of its opening, and the word differs by type.
    """
    befores = [*entries.leads, *((kind, text) for _, kind, text in entries.pairs)]
    afters = [(kind, text) for kind, _, text in entries.pairs]
    afters += [(kind, text) for kind, texts in entries.tails.items() for text in texts]
    tags: dict[JsonType, tuple[str, str]] = {}
    words: dict[JsonType, frozenset[str]] = {}
    for kind in entries.middles:
        opening = most_frequent(
            edge_units(text)[-1] for text_kind, text in befores if text_kind is kind and text
        )
        close = most_frequent(_first_unit(text) for text_kind, text in afters if text_kind is kind)
        tags[kind] = opening or "", close or ""
        # `<text city>` and `</text>` share the word `text`, which names the type.
        words[kind] = _words_in(opening or "") & _words_in(close or "")
    shared = frozenset[str].intersection(*words.values())
    named = all(is_unit(opening) and words[kind] - shared for kind, (opening, _) in tags.items())
    return tags if named and len(set(tags.values())) > 1 else {}


def _words_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def _first_unit(text: str) -> str:
    """Return the first unit of a text, and the whitespace before it."""
    space = leading_space(text)
    return space + next(iter(edge_units(text[len(space) :])), "")


def _closes_by_kind(entries: ShownEntries, escape: StringEscape) -> dict[JsonType, str]:
    """Find the closes of values by type: text that others lack, else equal signs."""
    closes: dict[JsonType, str] = _differing_closes(entries)
    for kind, middle in entries.middles.items():
        if kind in closes:
            continue
        texts = [*entries.tails.get(kind, ())]
        texts += [entries.betweens[kind]] if kind in entries.betweens else []
        # A literal that extends another type's literal ends with the opening quote.
        shorter = [
            other
            for other in entries.middles.values()
            if other != middle and middle.startswith(other)
        ]
        quote = middle[len(max(shorter, key=len)) :] if shorter else ""
        others = [text for other, text in entries.betweens.items() if other is not kind]
        rest = entries.betweens.get(kind, "")
        extra = [rest[: len(rest) - len(other)] for other in others if rest.endswith(other)]
        # The close is the text of this type before the common rest: `", ` beside `, `.
        if any(extra):
            closes[kind] = max(extra, key=len)
        elif quote and texts and all(text.startswith(quote) for text in texts):
            closes[kind] = quote
        elif quote and texts:
            plain = [
                text
                for other, tails in entries.tails.items()
                if other is not kind
                for text in tails
            ]
            closes[kind] = _text_before_firsts(texts[-1], {text[:1] for text in [*others, *plain]})
        elif (
            kind is JsonType.STRING
            and len(entries.middles) == 1
            and escape is not StringEscape.PYTHON
        ):
            sign = middle[-1:]
            word = not sign or sign.isalnum() or sign.isspace()
            if not word and all(text.startswith(sign) for text in texts):
                closes[kind] = sign
    return closes


def _differing_closes(entries: ShownEntries) -> dict[JsonType, str]:
    """Find closes that differ by type, as `</text>` and `</number>`, none a suffix of another."""
    texts = set(entries.betweens.values())
    shared = common_suffix(*texts) if len(texts) > 1 else ""
    # One type has no text before the common rest, so closes do not differ by a word.
    if not shared.strip() or shared in texts:
        return {}
    closes = {kind: text.removesuffix(shared) for kind, text in entries.betweens.items()}
    known = sorted(set(closes.values()), key=len, reverse=True)
    for kind, tails in entries.tails.items():
        fitting = (close for close in known if tails[0].startswith(close))
        closes.setdefault(kind, next(fitting, ""))
    return closes


def _text_before_firsts(text: str, firsts: set[str]) -> str:
    """Return the text before the first units of the texts after other values."""
    return next((text[:at] for at in range(len(text)) if text[at] in firsts), "")


def _guess_entry_frame(lead: str, tail: str) -> RepeatedText:
    """Guess the opening and close of a single entry: the marker next to it on either side."""
    units = edge_units(lead)
    # A marker right before the only key may be repeated before the next one.
    opening = units[-1] if units and (is_unit(units[-1]) or units[-1][:1] in "<[{(") else ""
    match = re.match(r"\s*", tail)
    space = match.group() if match else ""
    after = edge_units(tail[len(space) :])
    close = f"{space}{after[0]}" if opening and after and is_unit(after[0]) else ""
    if not close:
        return RepeatedText(lead, "", ", ", "", tail)
    prefix = lead[: len(lead) - len(opening)]
    separator = prefix[len(prefix.rstrip()) :]
    return RepeatedText(prefix, opening, separator, close, tail[len(close) :])

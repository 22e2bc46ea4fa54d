"""Prompts as token ids with the owner of each token.

The parts: the checked arguments of a caller; the prompts that bridges have returned, cached; the
stops of a template as a tokenizer writes them; and `RenderedTokens`, made by `own_tokens` from an
attributed text and its tokens.

With one token for each marker and each letter, a user's "Hi" and an assistant's "Yes." give

    text          <u> H i </s>  <a> Y e s . </s>
    owners        message 0: 1 + 2 + 1 tokens; message 1: 1 + 4 + 1 tokens
    loss_mask     0 0 0 0       0 1 1 1 1 1
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat, starmap
from typing import NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import MediaKind
from autoparser.analysis.core.error_words import (
    is_mapping,
    kind_of,
    missing_name_hint,
    spelling_hint,
)
from autoparser.analysis.core.stop_texts import StopText
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.sources.tokenizer import EncodedText, TokenText
from autoparser.analysis.templates.chat_template import (
    plain_value,
    prepared_messages,
    prepared_tools,
)
from autoparser.analysis.templates.source_text import PASSED

from .bridge_refusals import Retention
from .history_renders import Message
from .message_attribution import Attributed, Segment

# A caller's arguments, checked: messages, tools, switches, and the reasoning to keep.
#
# Contract: anything invalid is a RequestError that names its place, such as `messages[2]`, and the
# value expected there. A message must have a role; the template decides what else it may have.


_MESSAGE = "give {role: user, content: …}"
_TOOL = "give {type: function, function: {name: …, parameters: …}}"


def messages_of(argument: object, what: str = "messages") -> list[Message]:
    """Return messages as a template sees them. Raises RequestError."""
    listed = _check_list(argument, what, "messages", "[{role: user, content: …}, …]")
    if not listed:
        raise RequestError("no messages", place=what, hint=_MESSAGE)
    return [_checked_message(message, f"{what}[{at}]") for at, message in enumerate(listed)]


def _checked_message(argument: object, place: str) -> Message:
    try:
        message = prepared_messages([argument])[0]
    except TypeError:
        raise RequestError(
            f"a message must be a mapping, got {kind_of(argument)}", place=place, hint=_MESSAGE
        ) from None
    if not isinstance(message.get("role"), str):
        raise RequestError(
            "missing role",
            place=place,
            hint=missing_name_hint(
                "role", message, "give one such as user, assistant, system or tool"
            ),
        )
    return message


def ids_of(argument: Sequence[int]) -> Sequence[int]:
    """Return ids, which may be an array of numpy or torch, as a list of integers."""
    if isinstance(argument, list | tuple):
        return argument
    listed = getattr(argument, "tolist", None)
    return cast("Sequence[int]", argument if listed is None else listed())


def tools_of(argument: object) -> list[object] | None:
    """Return tools as a template sees them; None stays None. Raises RequestError."""
    if argument is None:
        return None
    listed = _check_list(
        argument, "tools", "tools", "[{type: function, function: {name: …, parameters: …}}, …]"
    )
    for at, tool in enumerate(listed):
        if not isinstance(tool, Mapping):
            raise RequestError(
                f"a tool must be a mapping, got {kind_of(tool)}", place=f"tools[{at}]", hint=_TOOL
            )
    return prepared_tools(listed)


def tools_key(tools: Sequence[object] | None) -> bytes:
    """Return a key of tools by their content, since a caller may change them in place.

    It is computed at every turn, and `json.dumps` takes eight times as long.
    """
    try:
        return b"" if tools is None else msgspec.json.encode(tools, enc_hook=repr)
    except UnicodeEncodeError:  # a schema may contain a lone surrogate
        return json.dumps(tools, default=repr).encode()


def switches_of(argument: object) -> dict[str, object]:
    """Return the template's variables. Raises RequestError for those that a render sets itself."""
    if argument is None:
        return {}
    if not is_mapping(argument):
        raise RequestError(
            f"must be a mapping of template variables, got {kind_of(argument)}",
            place="switches",
            hint='give them by name, such as {"today": "Monday"}',
        )
    switches = {str(name): plain_value(value) for name, value in argument.items()}
    for name in switches:
        if name in PASSED:
            raise RequestError(
                f"{name} cannot be set as a switch", place="switches", hint="pass it to each render"
            )
    return switches


def retention_of(argument: str) -> Retention:
    """Return which reasoning a bridge keeps. Raises RequestError."""
    known = [retention.value for retention in Retention]
    if argument in known:
        return Retention(argument)
    raise RequestError(
        f"unknown retention {argument!r}",
        place="thinking_retention",
        hint=spelling_hint(str(argument), known, f"choose from {', '.join(known)}"),
    )


def _check_list(argument: object, place: str, what: str, hint: str) -> Sequence[object]:
    if isinstance(argument, Sequence) and not isinstance(argument, str | bytes):
        return cast("Sequence[object]", argument)
    raise RequestError(
        f"must be a list of {what}, got {kind_of(argument)}", place=place, hint=f"give {hint}"
    )


# The prompts that bridges have returned: the next request passes one of them back, with more text.
#
# So its ids are known to be in the vocabulary, and only the added text needs parsing. Many
# conversations may take turns, and several outputs may follow one prompt.


MOST_IDS = 1 << 22
"""Ids of all prompts that are kept at a time; the oldest are dropped first."""
KEY_IDS = 16
"""Ids at the end of a prompt by which it is looked up, before it is compared."""

Ids: TypeAlias = tuple[int, ...]


class _UnreadIds(NamedTuple):
    """A range of ids that were not decoded yet, and the text after them."""

    start: int
    """The index of the first id, such as `1347`."""
    end: int
    """The index after the last id, such as `1374`."""
    text: str
    r"""The text after these ids, which is known without decoding, such as
    `"\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"`."""


class PromptPast:
    """A prompt, and cached search results in it and in its prefixes.

    Text of a prompt is also in all prompts that continue it, so nothing is searched twice.
    """

    def __init__(self, tokens: TokenText, ids: Ids) -> None:
        """Store the ids; nothing is decoded yet."""
        self.ids = ids
        self.contents: set[int | str | tuple[str, ...]] = set()
        """The ids, headers of turns, and names of all tools that were found in it."""
        self.dropped: dict[str, str] = {}
        """The block of it that the template drops, by what becomes of earlier turns."""
        self.looked: dict[int | str, int] = {}
        """How far it was searched in vain: its ids for one, its text for a dropped block."""
        self._tokens = tokens
        self._text = ""
        self._unread: tuple[_UnreadIds, ...] = (_UnreadIds(0, len(ids), ""),)

    def followed_by(self, ids: Ids, sampled_count: int, text: str) -> PromptPast:
        """Return the past of a prompt that begins with this one.

        After it come `sampled_count` ids of the model, and then this text.
        """
        past, known = PromptPast(self._tokens, ids), len(self.ids)
        # Copies, since several outputs may follow one prompt, each with findings of its own.
        past.contents, past.looked = {*self.contents}, {**self.looked}
        past.dropped = {**self.dropped}
        past._text = self._text
        past._unread = (*self._unread, _UnreadIds(known, known + sampled_count, text))
        return past

    @property
    def text(self) -> str:
        """The prompt's text. Raises TokenizerError."""
        if self._unread:
            decode = self._tokens.decode_between
            texts = (decode(self.ids, start, end) + text for start, end, text in self._unread)
            self._text, self._unread = "".join((self._text, *texts)), ()
        return self._text

    def holds(self, id_: int) -> bool:
        """Whether an id is in it."""
        # The ids of the prompt before this one were searched already.
        if id_ not in self.contents and id_ in self.ids[self.looked.get(id_, 0) :]:
            self.contents.add(id_)
        self.looked[id_] = len(self.ids)
        return id_ in self.contents


class GivenPrompts:
    """Caches the prompts that were returned last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known_pasts: dict[tuple[int, Ids], PromptPast] = {}
        self._length = 0

    def find(self, ids: Ids) -> PromptPast | None:
        """Return the past of a prompt that was returned, or None for other ids."""
        found = self._known_pasts.get(_prompt_key(ids))
        return found if found is not None and found.ids == ids else None

    def keep(self, past: PromptPast) -> None:
        """Cache a prompt that is about to be returned."""
        # Removed and added again, it is the newest: dictionaries keep the order in which keys were
        # added.
        key = _prompt_key(past.ids)
        self._drop(key)
        self._known_pasts[key] = past
        self._length += len(past.ids)
        while self._length > MOST_IDS:
            self._drop(next(iter(self._known_pasts)))

    def _drop(self, key: tuple[int, Ids]) -> None:
        known = self._known_pasts.pop(key, None)
        self._length -= 0 if known is None else len(known.ids)


def _prompt_key(ids: Ids) -> tuple[int, Ids]:
    return len(ids), ids[-KEY_IDS:]


# The stops of an output, as texts and as ids, after content and after calls.


@dataclass(frozen=True, slots=True)
class TurnStop:
    """A text that ends a turn, as a tokenizer writes it."""

    text: str
    """The text, e.g. `"<|im_end|>"`."""
    ids: tuple[int, ...]
    """The tokens of the text, such as `(263,)`; one if it is a token of the vocabulary."""
    eos: int | None
    """The token that completes it, such as `262`: its only or last token, or None if its last
    marker is not a token of the vocabulary."""
    inside: bool
    """Whether it also occurs inside turns, such as `"."` or `"<|end|>"` between channels: an output
    ends there only after content or a call."""


@dataclass(frozen=True)
class TurnStops:
    """The stops of turns, the one that the template writes first."""

    after_content: tuple[TurnStop, ...]
    """The stops of a turn that ends with content, such as the one with the text `"<|im_end|>"`."""
    after_calls: tuple[TurnStop, ...]
    """The stops of a turn that ends with calls, such as the one with the text `"<|im_end|>"`."""

    @cached_property
    def all(self) -> tuple[TurnStop, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.after_content, *self.after_calls)))

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends wherever they occur."""
        return _end_ids(self.all, inside=False)

    @cached_property
    def inside_ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends only once it has content or a call."""
        return tuple(id_ for id_ in _end_ids(self.all, inside=True) if id_ not in self.ids)


def turn_stops(analysis: Analysis, tokens: TokenText) -> TurnStops:
    """Return the stops of a template's turns, as this tokenizer encodes them."""
    texts = analysis.stop_texts
    return TurnStops(
        tuple(_encode_stops(texts.after_content, tokens)),
        tuple(_encode_stops(texts.after_calls, tokens)),
    )


def _encode_stops(texts: tuple[StopText, ...], tokens: TokenText) -> Iterator[TurnStop]:
    for stop in texts:
        # Engines compare tokens, so a stop of several markers is complete with the last one.
        last = tokens.single(stop.last)
        ids = (last,) if last is not None and stop.last == stop.text else tokens.ids(stop.text)
        yield TurnStop(stop.text, tuple(ids), last, stop.inside)


def _end_ids(stops: tuple[TurnStop, ...], *, inside: bool) -> tuple[int, ...]:
    found = (stop.eos for stop in stops if stop.inside is inside)
    return tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))


@dataclass(frozen=True, slots=True)
class MediaTokens:
    """The tokens that stand for an image, a video or a sound of a message."""

    message: int
    """The number of the message, such as `1`."""
    part: int
    """The number of the part in the message's content, such as `1`."""
    kind: MediaKind
    """An image, a video or a sound, such as `MediaKind.IMAGE`."""
    start: int
    """The index of the first of its tokens, such as `39`."""
    end: int
    """The index after the last of its tokens, such as `50`."""
    token_ids: tuple[int, ...]
    """The ids of the placeholder that the template writes, such as
    `(60, 124, 112, 105, 99, 116, 117, 114, 101, 124, 62)` for `<|picture|>`, written in bytes."""


_Fact = TypeVar("_Fact")


class TokenOwner(NamedTuple):
    """The owner of a run of adjacent tokens."""

    length: int
    """The number of tokens in the run, such as `1251` for the list of tools."""
    message: int
    """The index of the message, or -1 if they are the template's own."""
    content: bool
    """Whether they have text of the message, such as `"Hi"`."""
    sampled: bool
    """Whether the model writes them, up to its stop, such as `"<|im_end|>"`."""
    loss: bool
    """Whether a loss counts them."""


@dataclass(frozen=True, repr=False)
class RenderedTokens:
    """Token ids, and the origin of each; all sequences have the same length.

    A token may have characters of two owners. It belongs to the message of its first character; it
    is content if any of its characters is; it is sampled only if all of them are, since a model
    that was given the first part does not write that token.
    """

    token_ids: tuple[int, ...]
    """The ids, in the order of the text, such as `(198, 261, 84, 82, …)`."""
    owners: tuple[TokenOwner, ...]
    """The owners of the tokens, run by run, such as
    `(TokenOwner(1, -1, False, False, False), TokenOwner(6, 0, False, False, False), …)`; the facts
    of each token come from it."""
    notes: tuple[str, ...] = ()
    """The text that a bridge kept and a render of the whole conversation would not have, such as
    `("kept, although the template drops reasoning from the history: of an earlier turn",)`."""
    media: tuple[MediaTokens, ...] = ()
    """The tokens of images, videos and sounds, sorted by position, such as those at `39` to `50`. A
    part without a range of its own in the prompt is left out."""

    def __len__(self) -> int:
        return len(self.token_ids)

    def __repr__(self) -> str:
        """Return how many there are, and how many a loss counts, in one line."""
        return f"<{type(self).__name__}: {len(self)}, {sum(self.loss_mask)} in the loss mask>"

    @cached_property
    def message_indices(self) -> tuple[int, ...]:
        """By token: the index of its message, or -1 if it is the template's own."""
        return _repeat_facts((owner.message, owner.length) for owner in self.owners)

    @cached_property
    def is_content(self) -> tuple[bool, ...]:
        """By token: whether it has text of the message, not only text written around it."""
        return _repeat_facts((owner.content, owner.length) for owner in self.owners)

    @cached_property
    def sampled(self) -> tuple[bool, ...]:
        """By token: whether the model writes it, stop token included and prompt excluded."""
        return _repeat_facts((owner.sampled, owner.length) for owner in self.owners)

    @cached_property
    def loss_mask(self) -> tuple[bool, ...]:
        """By token: whether a loss counts it, by `{% generation %}` if present, else if sampled."""
        return _repeat_facts((owner.loss, owner.length) for owner in self.owners)


def _repeat_facts(stretches: Iterable[tuple[_Fact, int]]) -> tuple[_Fact, ...]:
    """Repeat the fact of each run for its number of tokens."""
    return tuple(chain.from_iterable(starmap(repeat, stretches)))


def own_tokens(attributed: Attributed, tokens: EncodedText, first: int = 0) -> RenderedTokens:
    """Assign each token of a text its owner.

    `first` is the offset of the attributed text within the encoded text.
    """
    owners: list[TokenOwner] = []
    segments = attributed.segments
    at, length = 0, len(tokens.ids)
    for order, segment in enumerate(segments):
        end = segment.end + first
        # All tokens that end in a segment lie inside it, except that the first may begin before it.
        until = max(at, tokens.ending_by(end))
        if until > at:
            whose = segment.message, segment.content, segment.sampled, segment.loss
            owners.append(TokenOwner(until - at, *whose))
        # This token begins in the segment and ends in a later one.
        if until < length and tokens.start(until) < end:
            under = _touched_segments(segments, order, tokens.end(until) - first)
            owners.append(
                TokenOwner(
                    1,
                    segment.message,
                    any(segment.content for segment in under),
                    all(segment.sampled for segment in under),
                    all(segment.loss for segment in under),
                )
            )
            until += 1
        at = until
    return RenderedTokens(tuple(tokens.ids), tuple(owners))


def _touched_segments(segments: Sequence[Segment], at: int, end: int) -> Sequence[Segment]:
    """Return the segments that a token touches, the one at `at` first."""
    last = at + 1
    while last < len(segments) and segments[last].start < end:
        last += 1
    return segments[at:last]

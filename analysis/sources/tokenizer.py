"""Encode and decode with a model's tokenizer; look up its added tokens, end tokens and bytes.

For example, with one token for each byte and the added token `<a>`, whose id is 256,

    tokenizer.text.encode("x<a>")  ->  EncodedText: ids [87, 256], offsets (0, 1) and (1, 4)
    tokenizer.bytes_of(256)        ->  b"<a>"

Expensive parts are lazy: loading a large tokenizer into llguidance takes a second.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from operator import index
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.errors import TokenizerError

from .token_bytes import (
    OpaqueTokens,
    TokenIndex,
    library_complaint,
    opaque_json,
    opaque_tokens,
    token_spelling,
)

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from tokenizers import Encoding, Tokenizer


# Contract of encoding: a text or an id that cannot be encoded or decoded raises an AutoparserError
# that names it, never an exception of the tokenizers library.


class FastTokenizer(Protocol):
    """A fast tokenizer of transformers: it has one of the tokenizers library inside."""

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The one inside."""
        ...


class EncodedText(Struct, frozen=True):
    """The tokens of a text in order, with their ids and offsets.

    A character that makes several tokens is the place of each of them; whitespace that a
    tokenizer leaves out of a token's place belongs to the token after it. Places are looked up
    when they are asked for: to list all of them takes as long as half of the encoding.
    """

    ids: list[int]
    """E.g. `[151644, 872, 198]`."""
    _encoding: Encoding | None
    """The library's encoding, e.g. of 2 tokens for `"hello<tool_call>"`, or None for an empty text.
    """
    _length: int
    """Length of the text, e.g. 16 for that."""
    _first: int = 0
    """Number of tokens of the encoding before the first of these, e.g. 1 for the tokens behind
    `"hello"`."""

    def start(self, at: int) -> int:
        """Return the offset of a token's first character."""
        return min(self._place(at)[0], self.end(at - 1)) if at + self._first else 0

    def end(self, at: int) -> int:
        """Return the offset after a token's last character."""
        return self._length if at == len(self.ids) - 1 else self._place(at)[1]

    def _place(self, at: int) -> tuple[int, int]:
        found = None if self._encoding is None else self._encoding.token_to_chars(at + self._first)
        return found or (self._length, self._length)

    def ending_by(self, place: int) -> int:
        """Count the tokens that end at this offset or before it."""
        if place >= self._length or self._encoding is None:
            return len(self.ids)
        covering = self._encoding.char_to_token(place)
        if covering is None:  # whitespace without a token
            return bisect_right(range(len(self.ids)), place, key=self.end)
        return max(0, covering - self._first)

    def starting_before(self, place: int) -> int:
        """Count the tokens that start before this offset."""
        return bisect_left(range(len(self.ids)), place, key=self.start)

    def behind(self, place: int) -> EncodedText:
        """Return the tokens that end after an offset; their own offsets stay the same."""
        first = self.ending_by(place)
        return replace(self, ids=self.ids[first:], _first=self._first + first)

    def pieces(self, text: str) -> list[str]:
        """Return each token's part of the text; a shared character belongs to the first."""
        ends = [self.end(at) for at in range(len(self.ids))]
        starts = (self.start(at) for at in range(len(self.ids)))
        return [
            text[max(start, before) : end]
            for start, end, before in zip(starts, ends, [0, *ends], strict=False)
        ]


CONTEXT = 8
"""Tokens before an output that are decoded with it: some decoders treat the first token of a text
differently."""


def encode_text(tokenizer: Tokenizer, text: str, *, add_special: bool = False) -> Encoding:
    """Return the tokens of a text. Raises TokenizerError, also where the library panics."""
    try:
        return tokenizer.encode(text, add_special_tokens=add_special)
    except BaseException as error:  # noqa: BLE001 - Rust's panics, too
        raise _cannot_encode(text, library_complaint(error)) from None


class TokenText:
    """Encodes text to ids with offsets, and decodes ids to text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Use a tokenizer as it is; it need not be one that llguidance takes."""
        self._tokenizer = tokenizer
        # Ids known to be in the vocabulary, since checking all of them takes seconds.
        self._known_ids: set[object] = set()
        self.single = lru_cache(maxsize=256)(self._single)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TokenizerError if it cannot be encoded."""
        ids = self._encoding(text).ids
        # Some tokenizers leave out whitespace, so that a text of nothing else has no tokens.
        if text.strip() and not ids:
            raise _cannot_encode(text, "it returns no tokens")
        return ids

    def _encoding(self, text: str) -> Encoding:
        return encode_text(self._tokenizer, text)

    def encode(self, text: str) -> EncodedText:
        """Return the tokens of a text: together their places cover it. Raises TokenizerError."""
        if not text:
            return EncodedText([], None, 0)
        encoding = self._encoding(text)
        ids = encoding.ids
        last = encoding.token_to_chars(len(ids) - 1) if ids else None
        rest = text if last is None else text[last[1] :]
        if rest.strip() or not ids:
            raise _cannot_encode(rest, "no token covers it")
        found = EncodedText(ids, encoding, len(text))
        self._check_known(text, found)
        return found

    def _check_known(self, text: str, encoded: EncodedText) -> None:
        unknown = self._unknown
        if unknown is None or unknown not in encoded.ids:
            return
        for id_, piece in zip(encoded.ids, encoded.pieces(text), strict=True):
            # A text that spells the unknown token is correctly encoded as that token.
            if id_ == unknown and piece != self._unknown_token:
                raise _cannot_encode(piece, "it has only the unknown token for it")

    @cached_property
    def _unknown_token(self) -> str | None:
        token: object = getattr(self._tokenizer.model, "unk_token", None)
        return token if isinstance(token, str) else None

    @cached_property
    def _unknown(self) -> int | None:
        token = self._unknown_token
        return None if token is None else self.single(token)

    def gives_back(self, encoded: EncodedText, text: str, before: Sequence[int]) -> bool:
        """Return whether the tokens of a text, after others, decode to that text."""
        return self._byte_level or self.decode(encoded.ids, before) == text

    @cached_property
    def _byte_level(self) -> bool:
        """Whether every text comes back: each of its bytes has a token, and nothing changes it."""
        from tokenizers import decoders, pre_tokenizers  # noqa: PLC0415 - slow to import

        tokenizer = self._tokenizer
        return (
            tokenizer.normalizer is None
            and isinstance(tokenizer.decoder, decoders.ByteLevel)
            and all(
                tokenizer.token_to_id(letter) is not None
                for letter in pre_tokenizers.ByteLevel.alphabet()
            )
        )

    def decode(self, ids: Sequence[int], before: Sequence[int] = ()) -> str:
        """Return the text of ids that stand after others; special tokens are written out.

        Raises TokenizerError for an id that the vocabulary does not have.
        """
        # Decode only a few earlier ids, so that a call's time does not grow with the output.
        context = list(before[-CONTEXT:])
        try:
            head = self._tokenizer.decode(context, skip_special_tokens=False) if context else ""
            text = self._tokenizer.decode([*context, *ids], skip_special_tokens=False)
        except BaseException as error:  # noqa: BLE001 - an id beyond its numbers, Rust's panics
            reason = library_complaint(error)
            bad = next((id_ for id_ in ids if not self._has(id_)), None)
            if bad is not None:
                raise _unknown_id(bad) from None
            raise TokenizerError(
                f"the tokenizer cannot decode its tokens ({reason})",
                hint="use the tokenizer of the template's model",
            ) from None
        return text.removeprefix(head)

    def decode_between(self, ids: Sequence[int], start: int, end: int) -> str:
        """Return the text of the ids between two places. Raises as `decode` does."""
        return self.decode(ids[start:end], ids[max(0, start - CONTEXT) : start])

    def check(self, raw_ids: object, what: str, first: int = 0) -> None:
        """Raise TokenizerError if an id is not in the vocabulary, or these are not ids.

        `first` is the place of the first of them in what the caller gave.
        """
        ids: Any = raw_ids
        with suppress(TypeError):  # not a list, or an item that is not a number
            if self._known_ids.issuperset(ids):
                return
            new = set(ids).difference(self._known_ids)
            if all(map(self._has, new)):
                self._known_ids |= new
                return
        if isinstance(raw_ids, str) or not isinstance(raw_ids, Iterable):
            raise TokenizerError(
                f"{type(raw_ids).__name__} is not a list of token ids",
                place=what,
                hint="give a list of integers",
            )
        at, bad = next((at, id_) for at, id_ in enumerate(ids) if not self._has(id_))
        raise _unknown_id(bad, f"{what}[{first + at}]")

    def _single(self, text: str) -> int | None:
        """Return the id of the one token that this text is, or None if it is several."""
        known = self._tokenizer.token_to_id(text)
        if known is not None:
            return known
        try:
            tokens = self._encoding(text).ids if text else []
        except TokenizerError:
            return None
        return tokens[0] if len(tokens) == 1 else None

    def _has(self, id_: Any) -> bool:
        try:
            return self._tokenizer.id_to_token(index(id_)) is not None
        except (TypeError, OverflowError):  # not a number, or negative
            return False


def _unknown_id(id_: object, place: str | None = None) -> TokenizerError:
    return TokenizerError(
        f"the id {id_!r} is not in the vocabulary",
        place=place,
        hint="pass integers that are ids of this tokenizer",
    )


def _cannot_encode(text: str, reason: str) -> TokenizerError:
    broken = next((at for at, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), None)
    if broken is not None:
        before = text[max(0, broken - 20) : broken]
        return TokenizerError(
            f"unpaired surrogate {text[broken]!r} after {before!r}",
            place=f"character {broken} of the prompt",
            hint="no tokenizer encodes it: pass the whole character",
        )
    return TokenizerError(
        f"the tokenizer cannot encode {text[:40]!r} ({reason})",
        hint="use the tokenizer of the template's model",
    )


Eos = int | str | Sequence[int | str]
"""Tokens that end an answer, by id or by text."""

KEPT = 8
"""Tokenizers in llguidance that are cached; the oldest goes first."""

_loaded: dict[str, LLTokenizer] = {}
_lock = Lock()


class AddedToken(Struct, frozen=True):
    """A token that was added to the learned vocabulary."""

    id: int
    """E.g. 151657."""
    text: str
    """E.g. `"<tool_call>"`."""
    special: bool
    """Whether decoding drops it, as a control token, e.g. True for `"</s>"`; others are text."""
    opaque: bool
    """Whether llguidance reaches it by ``<[id]>`` alone, never through its text."""


class ModelTokenizer(Struct, frozen=True, eq=False, weakref=True, dict=True):
    """A tokenizer with all that is derived from it; made by `tokenizer_of`, shared by requests."""

    hf: Tokenizer
    """The tokenizer as given, e.g. `Tokenizer.from_file("model/tokenizer.json")`; it encodes text
    with its added tokens."""
    eos: Eos | None = None
    """The tokens that end an answer, as given, e.g. `"<|im_end|>"`, or None to use llguidance's
    guess."""
    width: int | None = None
    """The width of the model's logits, e.g. 96, where it is known."""
    file: str | None = None
    """The file that it was read from, e.g. `"model/tokenizer.json"`, or None."""

    def ending_with(self, eos: Eos | None, width: int | None) -> ModelTokenizer:
        """Return the tokenizer with other ends or another width; None keeps the own one.

        The same arguments return the same object, since its vocabulary takes a second to read.
        """
        # By their text: wrong ends, which only a later use refuses, may not be hashable.
        key = repr((eos, width))
        known = self._others.get(key)
        if known is None:
            ends = self.eos if eos is None else eos
            other = replace(
                self,
                eos=tuple(ends) if isinstance(ends, list) else ends,
                width=self.width if width is None else width,
            )
            known = self._others.setdefault(key, other)
        return known

    @cached_property
    def _others(self) -> dict[str, ModelTokenizer]:
        return {}

    @cached_property
    def opaque(self) -> OpaqueTokens:
        """The added tokens that are not text in a grammar."""
        # Without an end token, do not guess: that would load the tokenizer into llguidance.
        return opaque_tokens(self.hf, () if self.eos is None else self.eos_ids)

    @cached_property
    def text(self) -> TokenText:
        """The encoder of texts to tokens with offsets, and back."""
        return TokenText(self.hf)

    @cached_property
    def added(self) -> tuple[AddedToken, ...]:
        """The added tokens, in the order of their ids."""
        opaque = self.opaque.texts
        return tuple(
            AddedToken(number, token.content, token.special, number in opaque)
            for number, token in sorted(self.hf.get_added_tokens_decoder().items())
        )

    @cached_property
    def added_by_id(self) -> dict[int, AddedToken]:
        """The added tokens by their ids."""
        return {token.id: token for token in self.added}

    @cached_property
    def vocab_size(self) -> int:
        """Entries of a mask: the vocabulary's, or the model's where its logits are wider."""
        size = max(self.hf.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        if self.width is not None and self.width < size:
            raise TokenizerError(
                f"the vocabulary has {size} tokens, more than the {self.width} asked for",
                file=self.file,
                hint="pass the width of the model's logits, or leave it out",
            )
        return self.width or size

    @property
    def mask_words(self) -> int:
        """How many int32 words a row of a mask has: 32 tokens a word, lowest bit first."""
        return (self.vocab_size + 31) // 32

    @property
    def eos_id(self) -> int:
        """The first of ``eos_ids``."""
        return self.eos_ids[0]

    @cached_property
    def eos_ids(self) -> tuple[int, ...]:
        """The tokens that end an answer; a grammar that is done allows these alone."""
        if self.eos is None:
            # llguidance knows the usual names, and returns 0 if it finds none of them.
            guess = self._in_llguidance(self.hf.to_str(), None).eos_token
            if guess not in self.added_by_id:
                raise TokenizerError(
                    "the tokenizer has no end-of-sequence token",
                    file=self.file,
                    hint="pass its text or its id",
                )
            return (guess,)
        named = [self.eos] if isinstance(self.eos, int | str) else self.eos
        if not named:
            raise TokenizerError("no end-of-sequence token was passed", file=self.file)
        return tuple(dict.fromkeys(map(self._end, named)))

    def _end(self, token: int | str) -> int:
        number = self.hf.token_to_id(token) if isinstance(token, str) else token
        if number is None or self.hf.id_to_token(number) is None:
            raise TokenizerError(f"unknown end-of-sequence token {token!r}", file=self.file)
        return number

    @cached_property
    def ll(self) -> LLTokenizer:
        """The tokenizer in llguidance, which encodes text without opaque tokens (`opaque_json`).

        The same one is loaded once in a process. Raises ``TokenizerError``.
        """
        text, width, ends = self.hf.to_str(), self.vocab_size, self.eos_ids
        key = hashlib.sha256(f"{ends} {width} {text}".encode()).hexdigest()
        # Concurrent requests wait while the first one loads it.
        with _lock:
            if key not in _loaded:
                made = self._in_llguidance(opaque_json(text, self.opaque.texts), list(ends))
                # The dictionary is in the order of loading, so its first key is the oldest.
                while len(_loaded) >= KEPT:
                    del _loaded[next(iter(_loaded))]
                _loaded[key] = made
            return _loaded[key]

    def ll_with(self, slices: Sequence[str]) -> LLTokenizer:
        """Return llguidance's with these slices of the vocabulary; none of them: its own.

        To sort a large vocabulary takes a second, so the same slices are sorted once.
        """
        if not slices:
            return self.ll
        known = self._sliced.get(tuple(slices))
        if known is None:
            known = self._sliced.setdefault(tuple(slices), self.ll.with_slices(list(slices)))
        return known

    @cached_property
    def _sliced(self) -> dict[tuple[str, ...], LLTokenizer]:
        return {}

    def _in_llguidance(self, text: str, ends: list[int] | None) -> LLTokenizer:
        from llguidance import LLTokenizer  # noqa: PLC0415 - only those who decode need it

        try:
            return LLTokenizer(text, n_vocab=self.width, eos_token=ends)
        except ValueError as error:
            raise TokenizerError(
                f"llguidance does not support this tokenizer: {error}",
                file=self.file,
                hint="it supports those that decode to bytes: ByteLevel, or with ByteFallback",
            ) from error

    @cached_property
    def token_bytes(self) -> tuple[bytes, ...]:
        """The exact bytes of every id, or empty if the vocabulary has no such id."""
        return tuple(map(self._spell, range(self.vocab_size)))

    @cached_property
    def piece(self) -> Callable[[int], bytes]:
        """Return the exact bytes of an id, or empty ones if the vocabulary has no such id.

        Each is made when it is asked for: all of a large vocabulary would take a part of a second.
        """
        return cache(self._spell)

    @cached_property
    def _spelling(self) -> Callable[[str], bytes] | None:
        return token_spelling(self.hf)

    def _spell(self, id_: int) -> bytes:
        added = self.added_by_id.get(id_)
        if added is not None:
            return added.text.encode()
        try:
            name = self.hf.id_to_token(id_)
        except OverflowError:  # negative, or larger than any vocabulary
            name = None
        if name is None:
            return b""
        return self.ll.decode_bytes([id_]) if self._spelling is None else self._spelling(name)

    @cached_property
    def index(self) -> TokenIndex:
        """All its tokens by their bytes; made once, a fraction of a second for a large one."""
        return TokenIndex(self.token_bytes)

    def bytes_of(self, token: int) -> bytes:
        """Return the exact bytes of one token; they need not be whole characters.

        Raises ``TokenizerError`` for an id that is out of the vocabulary.
        """
        if not 0 <= token < self.vocab_size:
            raise TokenizerError(
                f"token {token} is not in the vocabulary of {self.vocab_size}",
                file=self.file,
                hint="use the model's own tokenizer",
            )
        return self.piece(token)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of ``text``, added ones among them; nothing is put around it.

        Raises ``TokenizerError`` where it has none for it.
        """
        return self.text.ids(text)

    def encode_plain(self, text: bytes) -> list[int]:
        """Return tokens for ``text`` (any bytes) as a grammar takes them: no opaque one."""
        return self.ll.tokenize_bytes(text)

    def encode_marked(self, text: str) -> list[int]:
        """Return tokens for ``text`` in the middle of an answer: its opaque ones by their ids."""
        tokens: list[int] = []
        for piece in self.opaque.pieces(text):
            tokens += [piece] if isinstance(piece, int) else self.encode_plain(piece.encode())
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of ``tokens``, added ones kept; broken UTF-8 shows as U+FFFD."""
        return b"".join(self.bytes_of(token) for token in tokens).decode(errors="replace")

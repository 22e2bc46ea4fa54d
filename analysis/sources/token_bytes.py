"""Make byte-level tokenizers, and answer questions about the exact bytes of tokens.

A GGUF header and a tiktoken file have the tokens, but not the pre-tokenizer, which splits text into
words: one only names it, the other leaves it to Python code. Masks do not need it; whether a text
is encoded to the same tokens cannot be judged without it. For example, with one token for each
byte and the added token `<a>`,

    opaque_tokens(byte_tokenizer([("<a>", True)])).pieces("x<a>y")  ->  ["x", 256, "y"]

    SearchMarker(b"</a>").read(0, b"x</")  ->  (2, None)     two bytes of it so far
    SearchMarker(b"</a>").read(2, b"a>y")  ->  (4, b"y")     found, and the rest
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import TokenizerError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def byte_level_tokenizer(
    tokens: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    added: Mapping[int, tuple[str, bool]],
    file: str,
) -> Tokenizer:
    """Make a tokenizer of GPT-2's kind, words cut as GPT-2 cuts them.

    ``tokens`` are written in GPT-2's alphabet of bytes; ``added`` gives the texts of the added
    tokens by their ids, and whether they are control tokens. Raises TokenizerError.
    """
    # The added tokens keep their ids only if the model's own vocabulary has them, too.
    vocabulary = {**tokens, **{text: number for number, (text, _) in added.items()}}
    try:
        return _assemble(vocabulary, merges, [added[number] for number in sorted(added)])
    except BaseException as error:  # noqa: BLE001 - bare exceptions, and Rust's panics
        reason = library_complaint(error)
    raise TokenizerError(
        f"no tokenizer can be made of this vocabulary ({reason})",
        file=file,
        hint="give the model's tokenizer.json with --tokenizer",
    )


def library_complaint(error: BaseException) -> str:
    """Return the words of an exception or a panic of a library in Rust; raise any other.

    The class of panics is no `Exception`, as a limit of a worker or an interrupt is none either,
    and is exported under no name.
    """
    if isinstance(error, Exception) or type(error).__name__ == "PanicException":
        return str(error)
    raise error


def byte_tokenizer(added: Iterable[tuple[str, bool]]) -> Tokenizer:
    """Make a tokenizer of one token a byte, and added ones: their texts, and which are control."""
    from tokenizers import pre_tokenizers  # noqa: PLC0415 - slow to import

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return _assemble({sign: number for number, sign in enumerate(alphabet)}, (), added)


def _assemble(
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    added: Iterable[tuple[str, bool]],
) -> Tokenizer:
    from tokenizers import (  # noqa: PLC0415 - slow to import
        AddedToken,
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
    )

    # `Any`, since the stubs do not declare the type of added tokens.
    made: Any = Tokenizer(models.BPE(vocab=dict(vocabulary), merges=list(merges)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    # The library assigns ids in this order to tokens that the vocabulary lacks.
    for text, special in added:
        made.add_tokens([AddedToken(text, special=special, normalized=False)])
    tokenizer: Tokenizer = made
    return tokenizer


# Opaque tokens. llguidance never matches an added token by its text if it is flagged special or
# looks like ``<…>``; only ``<[id]>`` in a grammar matches it. But where a grammar forces text (a
# ``const``, the rest of an ``enum``'s value, a regex without a choice), llguidance tokenizes that
# text, gets the added token, allows it alone, and then rejects it: generation is stuck (llguidance
# 1.9). So such tokens are renamed to text that does not occur. Forced text is then tokenized to
# plain tokens, and all ids stay the same.


OPEN, CLOSE = "\ue000", "\ue001"
"""Characters of the private use area; together with the token's id they stand in no text."""


def opaque_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of the added tokens that llguidance never takes as text.

    llguidance is asked, with a vocabulary of single bytes, which loads in a moment.
    """
    from llguidance import LLTokenizer  # noqa: PLC0415 - slow to import

    added = tokenizer.get_added_tokens_decoder()
    small = byte_tokenizer((token.content, token.special) for token in added.values())
    asked = LLTokenizer(small.to_str())
    found: set[int] = set()
    for number, token in added.items():
        small_id = small.token_to_id(token.content)
        if small_id is not None and asked.is_special_token(small_id):
            found.add(number)
    return frozenset(found)


def opaque_json(text: str, ids: Collection[int]) -> str:
    """Rename the added tokens ``ids`` in a tokenizer's JSON ``text``; all ids stay."""
    document: dict[str, Any] = json.loads(text)
    names: dict[str, str] = {}
    for token in document["added_tokens"]:
        if token["id"] in ids:
            names[token["content"]] = f"<{OPEN}{token['id']}{CLOSE}>"
            token["content"] = names[token["content"]]
            token["special"] = True
            token["normalized"] = False
    model: dict[str, Any] = document["model"]
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]
    vocabulary = model["vocab"]
    if is_mapping(vocabulary):
        model["vocab"] = {names.get(piece, piece): number for piece, number in vocabulary.items()}
    else:
        model["vocab"] = [[names.get(piece, piece), score] for piece, score in vocabulary]
    # Added or truncated tokens have no place in a grammar's text.
    document |= {"post_processor": None, "padding": None, "truncation": None}
    return json.dumps(document, ensure_ascii=False)


# A literal of a grammar is split at opaque tokens, which are written by id: as text they would be
# masked, or allowed and then rejected. If `<a>` is one, with the id 7, `x<a>y` is `x`, 7, `y`.


_MOST = 8192
"""Most texts whose pieces are cached; names of tools are among them."""


class OpaqueTokens(Struct, frozen=True, dict=True):
    """Special tokens that a grammar refers to by id, such as `<tool_call>`; none by default."""

    ids: Mapping[str, int] = field(default_factory=dict[str, int])
    """Ids by text, e.g. `{"<tool_call>": 151657}`."""
    eos: frozenset[int] = frozenset()
    """The ids that end an answer, e.g. `frozenset({151645})`, if the tokenizer names them."""

    @cached_property
    def _known_pieces(self) -> dict[str, Sequence[str | int]]:
        return {}

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # The longest first, since an alternation takes the first that fits.
        longest = sorted(filter(None, self.ids), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest))) if longest else None

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Text by id."""
        return {number: text for text, number in self.ids.items()}

    def pieces(self, text: str) -> Sequence[str | int]:
        """Cut a text as the tokenizer does: its opaque tokens as ids, the rest as text."""
        known = self._known_pieces.get(text)
        if known is None:
            if len(self._known_pieces) >= _MOST:
                self._known_pieces.clear()
            known = self._known_pieces[text] = self._cut_text(text)
        return known

    def _cut_text(self, text: str) -> Sequence[str | int]:
        pieces: list[str | int] = []
        at = 0
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            if match.start() > at:
                pieces.append(text[at : match.start()])
            pieces.append(self.ids[match.group()])
            at = match.end()
        if at < len(text):
            pieces.append(text[at:])
        return pieces


def opaque_tokens(tokenizer: Tokenizer, eos: Iterable[int] = ()) -> OpaqueTokens:
    """List the tokens that quoted text never matches in llguidance, by asking it."""
    added = tokenizer.get_added_tokens_decoder()
    ids = {added[number].content: number for number in opaque_ids(tokenizer)}
    return OpaqueTokens(ids, frozenset(eos))


def byte_letters() -> list[str]:
    """Return GPT-2's letter for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in letters)
    letters.update({byte: chr(256 + at) for at, byte in enumerate(others)})
    return [letters[byte] for byte in range(256)]


def token_spelling(tokenizer: Tokenizer) -> Callable[[str], bytes] | None:
    """Return a decoder from a token's name to its bytes, or None for other decoders.

    llguidance reads them by the same two rules, but only after a second in which it loads the
    whole vocabulary; a server asks for a few tokens at a time.
    """
    decoder = tokenizer.decoder
    state: dict[str, Any] = {} if decoder is None else json.loads(decoder.__getstate__())
    # A single decoder, or a sequence of them.
    steps: list[dict[str, Any]] = state.get("decoders", [state] if state else [])
    kinds = {step["type"] for step in steps}
    if "ByteFallback" in kinds:
        spaces: list[str] = [
            step["pattern"]["String"]
            for step in steps
            if step["type"] == "Replace" and step["content"] == " " and "String" in step["pattern"]
        ]
        return partial(_spell_with_fallback, spaces)
    return _spell_by_letters if "ByteLevel" in kinds else None


_BYTE = re.compile("<0x[0-9A-F]{2}>")


def _spell_with_fallback(spaces: Sequence[str], name: str) -> bytes:
    if _BYTE.fullmatch(name):
        return bytes([int(name[3:5], 16)])
    for space in spaces:
        name = name.replace(space, " ")
    return name.encode()


_BYTES = {letter: byte for byte, letter in enumerate(byte_letters())}


def _spell_by_letters(name: str) -> bytes:
    try:
        return bytes([_BYTES[letter] for letter in name])
    except KeyError:  # a token that no bytes spell
        return name.encode()


class TokenIndex:
    """All tokens of a vocabulary, sorted by their bytes."""

    def __init__(self, token_bytes: tuple[bytes, ...]) -> None:
        self._sorted = sorted((text, token) for token, text in enumerate(token_bytes) if text)
        self._holding: dict[bytes, tuple[tuple[int, bytes], ...]] = {}

    def beginning_with(self, start: bytes) -> Iterator[tuple[int, bytes]]:
        """Return the tokens that begin with ``start``, each with its bytes."""
        for place in range(bisect_left(self._sorted, (start, -1)), len(self._sorted)):
            text, token = self._sorted[place]
            if not text.startswith(start):
                return
            yield token, text

    def equal_to(self, text: bytes) -> Iterator[int]:
        """Return the tokens whose bytes are ``text``."""
        for token, found in self.beginning_with(text):
            if found != text:
                return
            yield token

    def holding(self, part: bytes) -> tuple[tuple[int, bytes], ...]:
        """Return the tokens that hold ``part`` anywhere; every token is looked at, once."""
        if part not in self._holding:
            self._holding[part] = tuple(
                (token, text) for text, token in self._sorted if part in text
            )
        return self._holding[part]


# Markers are searched for in bytes, since a marker may be one added token, or a sequence of plain
# tokens, the first and the last of which may include text around it.


class SearchMarker(Struct, frozen=True):
    """A marker to search for; ``matched`` is the length found so far.

    The search forgets nothing that could still become the marker.
    """

    text: bytes
    """The marker, e.g. `b"</think>"`."""

    def _begun_by(self, seen: bytes, longest: int) -> int:
        """Return the length of the marker's longest beginning, up to one, with which bytes end."""
        fitting = (at for at in range(longest, 0, -1) if seen.endswith(self.text[:at]))
        return next(fitting, 0)

    def read(self, matched: int, more: bytes) -> tuple[int, bytes | None]:
        """Go on from ``matched`` bytes of the marker over ``more``.

        Give the matched length at its end and None; or, where the marker ends in ``more``, its
        whole length and the bytes after it (none left: ``b""``).
        """
        # Most pieces of a text have not even the first byte of a marker.
        if not matched and self.text[:1] not in more:
            return 0, None
        _, found, rest = (self.text[:matched] + more).partition(self.text)
        if found:
            return len(self.text), rest
        return self._begun_by(self.text[:matched] + more, len(self.text) - 1), None

    def overshooting(self, matched: int, index: TokenIndex) -> Iterator[tuple[int, bytes]]:
        """Yield the tokens that complete the marker and continue, each with its rest.

        ``matched`` bytes of the marker stand before the token.
        """
        seen: set[int] = set()
        length = matched
        # The bytes before the token may also end with a shorter beginning of the marker, which the
        # token completes.
        while length:
            for token, text in index.beginning_with(self.text[length:]):
                _, rest = self.read(matched, text)
                if rest and token not in seen:
                    seen.add(token)
                    yield token, rest
            length = self._begun_by(self.text[:length], length - 1)
        # Or it has the whole marker inside.
        for token, text in index.holding(self.text):
            _, rest = self.read(matched, text)
            if rest and token not in seen:
                yield token, rest

"""Check whether a grammar accepts a text, and where and why not, as llguidance runs it.

Where the schema of `days` says integer, a quote is refused:

    {"name": "get_weather", "arguments": {"city": "Oslo", "days": "3"
    refused '"' in the argument "days" of "get_weather", allowed ('-', '0', '1', … '9')
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_nodes import TurnTree

from .call_writer import GrammarError
from .turn_rules import text_without_end

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

    from autoparser.analysis.sources.tokenizer import ModelTokenizer


_BY_ID = re.compile(rb"\xff\[([0-9]+)\]")
_FEW = 8
"""Maximum number of continuations that are followed as far as they are forced."""
_SOME = 64
"""Maximum number of continuations that are listed, by their first tokens."""
_OF_JSON = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}:,]')


class GrammarDialect(StrEnum):
    """The language of a grammar that a text is checked against."""

    LARK = "lark"
    """With a tokenizer made for it, else with all markers as plain text."""
    GBNF = "gbnf"
    """Byte by byte: it knows no tokens."""


class TextAcceptance(Struct, frozen=True):
    """The result of checking a text against a grammar; it is true if the text is accepted."""

    accepted: bool
    """Whether the whole text is accepted, e.g. False for "days": "3" where an integer is due."""
    tokens: int
    """Tokens of the text, e.g. 77; bytes where no tokenizer was given."""
    taken: int
    """How many of them were taken before one was refused, e.g. 74."""
    place: int
    """The character at which the first one that was refused begins, e.g. 74; else the text's
    length."""
    refused: str | None = None
    """The text of the refused token, e.g. a quote in `"days": "3"` where an integer is due, or None
    if the text only ends too early."""
    part: SpanKind | None = None
    """The parser's kind of the last part of the text before that place, e.g.
    `SpanKind.ARGUMENTS`."""
    call: str = ""
    """The function that was being called there, e.g. "get_weather", where its name was read."""
    argument: str = ""
    """The argument of it whose value was being written there, e.g. "days"."""
    completes: str = ""
    """The marker of the format that was complete with the token that was refused, e.g.
    "</think>"."""
    allowed: tuple[str, ...] = ()
    """The allowed continuations, each up to the next choice, e.g. (" to=functions.",
    "<|channel|>"); of more than a few only the first tokens, and none if there are too many."""
    choices: int = 0
    """How many tokens (bytes) may come there, e.g. 11 where an integer begins: ten digits and a
    minus."""
    may_end: bool = False
    """Whether the text may end there, e.g. False inside a call."""

    def __bool__(self) -> bool:
        """Return whether the text is accepted."""
        return self.accepted


class TextTokens(Struct, frozen=True):
    """A text's tokens for llguidance."""

    guidance: LLTokenizer
    """The vocabulary, as llguidance reads it, e.g. `LLTokenizer` of `tokenizer.json`."""
    cut: Callable[[str], Sequence[int]]
    r"""Cuts a text into token ids, e.g. "<think>\n" into [151667, 198]."""
    bytes_of: Callable[[int], bytes]
    r"""Returns the bytes of a token by its id, e.g. b"\n" for 198."""
    ends: frozenset[int] = frozenset()
    """The ids that end an answer, e.g. of <|im_end|>."""


def text_tokens(tokenizer: ModelTokenizer) -> TextTokens:
    """Return the tokens of a model."""
    ends = frozenset(tokenizer.eos_ids)
    return TextTokens(tokenizer.ll, tokenizer.encode, tokenizer.bytes_of, ends)


@cache
def byte_tokens() -> TextTokens:
    """Return the bytes of a text as tokens."""
    from llguidance import LLTokenizer  # noqa: PLC0415 - slow to import

    return TextTokens(
        LLTokenizer("byte"), lambda text: list(text.encode()), lambda byte: bytes([byte])
    )


def accept_text(
    grammar: str,
    dialect: GrammarDialect,
    tokens: TextTokens,
    turn: TurnTree,
    text: str,
    markers: Sequence[str] = (),
) -> TextAcceptance:
    """Check a text against a grammar; `markers` are the format's.

    Raises GrammarError if llguidance does not load the grammar.
    """
    matcher = load_matcher(grammar, dialect, tokens)
    # The engine writes the end of the turn.
    ids = list(tokens.cut(text_without_end(turn.ends, text)))
    taken = _taken_count(matcher, ids, tokens.ends)
    if taken == len(ids) and (matcher.is_accepting() or matcher.is_stopped()):
        whole = len(tokens.cut(text))
        return TextAcceptance(True, whole, whole, len(text))
    # A token may end within a character, whose first bytes are not text yet.
    before = b"".join(map(tokens.bytes_of, ids[:taken])).decode(errors="ignore")
    refused = None
    if taken < len(ids):
        # If the token cuts a character into bytes, report the whole character.
        refused = tokens.bytes_of(ids[taken]).decode(errors="ignore") or text[len(before)]
    allowed, choices = _next(matcher, tokens)
    # The parser knows which part of the format the text was in.
    read = OutputParser(turn).parse(before, complete=False)
    call = read.partial_call
    return TextAcceptance(
        False,
        len(ids),
        taken,
        len(before),
        refused,
        part=read.spans[-1].kind if read.spans else None,
        call=call.name if call else "",
        argument=_argument(call.arguments) if call else "",
        completes=_completed_marker(before, refused or "", markers),
        allowed=allowed,
        choices=choices,
        may_end=matcher.is_accepting(),
    )


def _argument(object_text: str) -> str:
    """Return the member whose value is being written at the end of a JSON object that was begun.

    So ``{"city": "Oslo", "stay": {"days":`` is in ``stay``, and in none before its colon.
    """
    # Only members of the outermost object count, at depth 1.
    depth, text, member = 0, "", ""
    for sign in _OF_JSON.findall(object_text):
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            member = member if depth > 1 else ""
        elif depth == 1 and sign[0] == '"':
            # A whole string ends a value, or is the next key; a begun one is being written.
            whole = sign[1:].endswith('"')
            text, member = sign, "" if whole else member
        elif depth == 1:
            member = text if sign == ":" else ""
    try:
        return str(json.loads(member)) if member and depth else ""
    except ValueError:
        return ""


def _completed_marker(before: str, refused: str, markers: Sequence[str]) -> str:
    """Return the longest marker that the refused text completes, and that was begun before it."""
    text = before + refused
    found = [
        marker for marker in markers if text.endswith(marker) and len(marker) > len(refused) > 0
    ]
    return max(found, key=len, default="")


def load_matcher(grammar: str, dialect: GrammarDialect, tokens: TextTokens) -> LLMatcher:
    """Load a grammar; raises GrammarError if llguidance refuses it."""
    from llguidance import LLMatcher, grammar_from  # noqa: PLC0415 - slow to import

    made = LLMatcher(tokens.guidance, grammar_from(dialect.value, grammar), log_level=0)
    if made.is_error():
        raise GrammarError(f"llguidance rejected the grammar: {made.get_error().splitlines()[0]}")
    return made


def _taken_count(matcher: LLMatcher, ids: Sequence[int], ends: frozenset[int]) -> int:
    """Feed tokens, and count those accepted, including one that ends an answer at an end."""
    for at, token in enumerate(ids):
        if token in ends and matcher.is_accepting() and at + 1 == len(ids):
            return at + 1
        if matcher.is_stopped() or matcher.try_consume_tokens([token]) != 1:
            return at
    return len(ids)


def _next(matcher: LLMatcher, tokens: TextTokens) -> tuple[tuple[str, ...], int]:
    """Return the possible continuations, each as far as it is forced, and their number of tokens.

    Of a token and a longer one that begins with it, the short one is reported.
    """
    if matcher.is_stopped():
        return (), 0
    ends = {tokens.guidance.eos_token, *tokens.ends}
    bias = matcher.compute_logit_bias()
    found = [token for token, allowed in enumerate(bias) if allowed and token not in ends]
    # E.g. in free text, where most tokens may come.
    if len(found) > _FEW * _SOME:
        return (), len(found)
    spelled = {tokens.bytes_of(token): token for token in found}
    shortest = [
        text
        for text in sorted(spelled)
        if not any(text.startswith(other) for other in spelled if other != text)
    ]
    if len(shortest) > _FEW:
        few = shortest if len(shortest) <= _SOME else []
        texts = [text.decode(errors="ignore") for text in few]
        return (tuple(texts) if all(texts) else ()), len(found)
    ways: list[str] = []
    for text in shortest:
        onward = matcher.deep_copy()
        onward.try_consume_tokens([spelled[text]])
        # Go on as long as only one text may come, e.g. from " to" to " to=functions.".
        forced = b"" if onward.is_stopped() else onward.compute_ff_bytes()
        ways.append((text + _spell_tokens(forced, tokens)).decode(errors="ignore"))
    return tuple(way for way in ways if way), len(found)


def _spell_tokens(forced: bytes, tokens: TextTokens) -> bytes:
    """Replace the ids of opaque tokens, as llguidance writes them, by their texts."""
    return _BY_ID.sub(lambda match: tokens.bytes_of(int(match[1])), forced)

"""Check one schema in one format: the grammar accepts exactly the valid arguments.

jsonschema decides what is valid, formats included; llguidance matches the grammar, in Lark and in
GBNF. A grammar that cannot enforce the schema must raise with the keyword; a loosened one must list
what it drops and still accept all valid values.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal, NamedTuple, cast

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from llguidance import LLMatcher, grammar_from

from autoparser import Grammar, Json, Message, OpaqueTokens, OutputParser, Status, ToolCall
from autoparser.analysis.core.schema_document import schemas_in
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.grammar.call_writer import GrammarError
from tests.analysis.grammar.judge import tokenizer
from tests.analysis.grammar.proofs import grammar_for, request_for, turn_without_end
from tests.fuzz.edits import Tally

from .instances import ArgumentMaker, orders
from .left_out import LeftOut, left_out
from .random_schemas import tool_schema

FORMATS = FormatChecker(())
"""jsonschema's checker of formats."""
FORMATS.checkers = dict(Draft202012Validator.FORMAT_CHECKER.checkers)


def _asked_otherwise(name: str, change: Callable[[str], str]) -> None:
    """Ask about another text where this checker is known to be wrong about it."""
    if name in FORMATS.checkers:
        check, raises = FORMATS.checkers[name]
        FORMATS.checkers[name] = (
            lambda text: check(change(text) if isinstance(text, str) else text),
            raises,
        )


for _name in ("iri", "iri-reference"):
    # jsonschema's checker rejects letters beyond U+FFFF.
    _asked_otherwise(_name, lambda text: re.sub("[\U00010000-\U0010ffff]", "é", text))
# The checker accepts literals that RFC 6570 (2.1) excludes: spaces, controls, some signs. It
# rejects a variable (2.3) that begins with a percent-encoded character, and a length (2.4.1) of
# four digits.
_asked_otherwise(
    "uri-template",
    lambda text: (
        "{"
        if re.search(r'[\x00- \x7f-\x9f"<>\\^`|]', text)
        else re.sub(r":[1-9]\d{3}(?=[,}])", ":1", re.sub("%[0-9A-Fa-f]{2}", "a", text))
    ),
)
# The checker mistakes a 0 inside a number for a leading zero.
_asked_otherwise("relative-json-pointer", lambda text: re.sub(r"^[1-9]\d*", "1", text))
for _name in ("date", "date-time"):
    # Python has no year 0, which RFC 3339 allows; it is a leap year like its replacement here.
    _asked_otherwise(_name, lambda text: re.sub("^0000", "0004", text))
# A grammar leaves the length of the whole name to maxLength, as docs/grammar.md says.
_asked_otherwise("hostname", lambda text: text if len(text) <= 253 else "a")

_SPACE = r"\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]"}


def _pattern(_: Any, pattern: str, text: Json, _schema: Json) -> Iterator[ValidationError]:
    """Ask with ECMA-262's white space, as the standard has it: Python's holds controls, too."""
    source = re.sub(r"\\[sS]", lambda found: _CLASSES[found.group()], pattern)
    if isinstance(text, str) and not re.search(source, text, re.ASCII):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


JUDGE: Any = cast(Any, validators).extend(Draft202012Validator, {"pattern": _pattern})
"""jsonschema's validator of schemas."""

TOOL = "book"
CALL_ID = "abcDEF123"
LONGEST = 400
INSTANCES = 20
"""Values that are made for each grammar: it costs more than they do. The same one is asked once."""
WALKS = 10

Form = Literal["lark", "gbnf"]
FORMS: tuple[Form, ...] = ("lark", "gbnf")


class Fault(StrEnum):
    """A fault of a grammar."""

    NOT_LOADED = "llguidance rejected the grammar"
    NOT_VALID = "what the grammar takes is not valid"
    NOT_TAKEN = "what is valid the grammar refuses"
    NOT_READ = "what the grammar takes is not read as a call"
    NOT_NAMED = "the error does not name the tool, the place and the keyword"
    NOT_TOLD = "what is left out is not told, or is not there"
    STUCK = "nothing may follow"
    RAISED = "something raised what no caller expects"


class SchemaFind(NamedTuple):
    """Something wrong, with all that is needed to see it again."""

    format: str
    form: str
    seed: str
    fault: Fault
    schema: dict[str, Json]
    detail: str

    def __str__(self) -> str:
        told = json.dumps({key: self.schema[key] for key in self.schema if key != "$defs"})
        return f"{self.format} {self.form} {self.seed}: {self.fault}\n  {told}\n  {self.detail}"


def told(tally: Tally) -> str:
    """Return the summary line.

    Grammars are schemas in a format and a form, of which some are held to all of their schema, some
    are loosened and tell a keyword that they leave out, some are refused and tell why. Valid values
    are those that a grammar was asked to take; some of them no grammar of the format takes, by the
    reason that the docs give. Walks are random calls that a grammar took, and that were judged.
    """
    counts = tally.counts
    reasons = Counter(
        {reason: counts[reason] for reason in LeftOut if counts[reason]}
    ).most_common()
    left_out = "".join(f", {count} left out since {why}" for why, count in reasons)
    return (
        f"{counts['grammars']} grammars: {counts['held']} held, {counts['loosened']} loosened,"
        f" {counts['refused']} refused; {counts['instances']} valid values{left_out};"
        f" {counts['walks']} walks: {len(tally.finds)} finds"
    )


def trial(name: str, format_: TurnFormat, form: Form, seed: str) -> Tally:
    """Make a schema, a grammar and values from a seed, and ask all questions."""
    asked = SchemaTrial(name, format_, form, seed)
    try:
        asked.ask_all()
    except Exception as error:  # noqa: BLE001 - that nothing else raises is what is tested
        asked.find(Fault.RAISED, f"{type(error).__name__}: {str(error)[:200]}")
    return asked.tally


_SAMPLES: list[dict[str, Json]] = [
    {"a": "x"},
    {"b": 1},
    {"kind": []},
    {"a": "x", "ab": "'y"},
    {"a": ["x", 1], "b": {"a": "x"}},
    {"kind": True, "ab": None},
]
"""Arguments of calls that show a format's notation."""


class SchemaTrial:
    """One schema in one format and form."""

    def __init__(self, name: str, format_: TurnFormat, form: Form, seed: str) -> None:
        self.name, self.format, self.seed = name, format_, seed
        self.form: Form = form
        self.rng = random.Random(seed)
        self.schema = tool_schema(self.rng)
        self.validator: Any = JUDGE(self.schema, format_checker=FORMATS)
        tool: Json = {"name": TOOL, "parameters": self.schema}
        self.tally = Tally(Counter(grammars=1))
        # All calls begin with the prefix that these have.
        begins = takewhile(
            lambda chars: len(set(chars)) == 1,
            zip(*filter(None, map(self._turn, _SAMPLES[:3])), strict=False),
        )
        self.prefix = "".join(chars[0] for chars in begins)
        request, self.begun = request_for(format_, self.prefix, [tool])
        self.grammar = grammar_for(format_, request)
        self.parser = OutputParser(self.grammar.turn)

    def ask_all(self) -> None:
        """Ask all questions."""
        try:
            text = self._text(self.grammar)
        except UnheldKeywordError as error:
            named = error.keyword in self._at(error.pointer.rpartition("/")[0])
            if TOOL not in str(error) or error.keyword not in str(error) or not named:
                self.find(Fault.NOT_NAMED, f"{error} ({error.pointer})")
            self._ask_loosened()
        except (SchemaError, GrammarError) as error:
            self._refused(error)
        else:
            self.tally.counts["held"] += 1
            self._judge(text, sound=True)

    def _text(self, grammar: Grammar) -> str:
        return grammar.lark(OpaqueTokens()) if self.form == "lark" else grammar.gbnf()

    def _refused(self, error: Exception) -> None:
        """Take a refusal; where no value meets the schema, none may."""
        self.tally.counts["refused"] += 1
        if f"of {TOOL}: no value satisfies" in str(error):
            for value in self._valid():
                self.find(Fault.NOT_TAKEN, f"{error}: {value!r}")
                return

    def _at(self, pointer: str) -> dict[str, Json]:
        places = {place: part for part, place in schemas_in(self.schema)}
        return places.get(pointer, {})

    def _ask_loosened(self) -> None:
        looser = replace(self.grammar, loosen=True)
        try:
            text = self._text(looser)
        except (SchemaError, GrammarError) as error:
            if isinstance(error, UnheldKeywordError):
                self.find(Fault.NOT_TOLD, f"not left out: {error}")
            self._refused(error)
            return
        told = looser.loosened(self.form)
        self.tally.counts["loosened"] += 1
        if not told or any(
            loosening.tool != TOOL or loosening.keyword not in loosening.pointer
            for loosening in told
        ):
            self.find(Fault.NOT_TOLD, str(told))
        self._judge(text, sound=not told)

    def _judge(self, text: str, *, sound: bool) -> None:
        """Check which arguments a grammar accepts."""
        loaded = (
            LLMatcher.grammar_from_lark(text) if self.form == "lark" else grammar_from("gbnf", text)
        )
        matcher = LLMatcher(tokenizer(), loaded, log_level=0)
        if matcher.is_error():
            self.find(Fault.NOT_LOADED, matcher.get_error().strip().splitlines()[0][:300])
            return
        for value in self._valid():
            self._ask(matcher, value)
        if sound:
            walks = [self._walk(matcher) for _ in range(WALKS)]
            for call in dict.fromkeys(filter(None, walks)):
                self._judge_call(call)

    def _valid(self) -> Iterator[dict[str, Json]]:
        made = ArgumentMaker(self.rng, self.schema, odd=True)
        values = (made.meeting() for _ in range(INSTANCES))
        for value in {json.dumps(value): value for value in values}.values():
            if isinstance(value, dict) and self.validator.is_valid(value):
                yield value

    def _ask(self, matcher: LLMatcher, value: dict[str, Json]) -> None:
        """Ask about a valid value that the format can carry."""
        refused = ""
        for order in orders(value):
            assert isinstance(order, dict)
            turn = self._turn(order)
            if turn is None or not turn.startswith(self.prefix[: self.begun]):
                return
            text = turn[self.begun :]
            read = self.parser.parse(text).tool_calls
            if [json.loads(call.arguments) for call in read if call.status is Status.OK] != [value]:
                return
            fresh, tokens = matcher.deep_copy(), [*text.encode()]
            if fresh.try_consume_tokens(tokens) == len(tokens) and fresh.is_accepting():
                self.tally.counts["instances"] += 1
                return
            refused = refused or text
        self.tally.counts["instances"] += 1
        assert self.format.calls is not None
        reason = left_out(self.format.calls, value, self.schema)
        if reason is not None:
            self.tally.counts[reason] += 1
            return
        self.find(Fault.NOT_TAKEN, f"{value!r}, written {refused!r}")

    def _turn(self, arguments: dict[str, Json]) -> str | None:
        message = Message(calls=(ToolCall(TOOL, arguments, id=CALL_ID),))
        try:
            return turn_without_end(self.format, message)
        except RefusedMessageError:
            return None

    def _walk(self, start: LLMatcher) -> str:
        """Write a call at random; nothing where it does not end."""
        matcher = start.deep_copy()
        taken = [*self.prefix[self.begun :].encode()]
        done = matcher.try_consume_tokens(taken)
        del taken[done:]
        wish = b""
        while len(taken) < LONGEST and not (matcher.is_accepting() and self.rng.random() < 0.5):
            mask = matcher.compute_bitmask()
            allowed = [at for at in range(256) if mask[at // 8] >> at % 8 & 1]
            if not allowed:
                if not matcher.is_accepting():
                    self.find(Fault.STUCK, f"behind {bytes(taken)!r}")
                    return ""
                break
            token = next(iter(wish), -1)
            if token not in allowed:
                wish = self._wish() if self.rng.random() < 0.04 else b""
                token = _likely(allowed, len(taken), self.rng)
            else:
                wish = wish[1:]
            if not matcher.consume_token(token):
                self.find(Fault.STUCK, f"behind {bytes(taken)!r}: {matcher.get_error()[:200]}")
                return ""
            taken.append(token)
        return bytes(taken).decode() if len(taken) < LONGEST else ""

    @cached_property
    def _written(self) -> list[str]:
        return [*filter(None, map(self._turn, _SAMPLES))]

    def _wish(self) -> bytes:
        """Return a part of the format's markup: free text with it might be parsed differently.

        As much of it is written as the grammar takes.
        """
        written = self.rng.choice(self._written)
        at = self.rng.randrange(len(written))
        return written[at : at + self.rng.randint(1, 24)].encode()

    def _judge_call(self, text: str) -> None:
        parsed = self.parser.parse(text)
        self.tally.counts["walks"] += 1
        for call in parsed.tool_calls:
            if call.status is not Status.OK:
                self.find(Fault.NOT_READ, f"{call.status}: {text!r}")
                return
            error = next(self.validator.iter_errors(json.loads(call.arguments)), None)
            if error is not None:
                self.find(Fault.NOT_VALID, f"{error.message} in {call.arguments}, from {text!r}")
                return

    def find(self, fault: Fault, detail: str) -> None:
        self.tally.finds.append(
            SchemaFind(self.name, self.form, self.seed, fault, self.schema, detail)
        )


_CLOSING = b"\"'}])>/"


def _likely(allowed: list[int], written: int, rng: random.Random) -> int:
    """Choose a byte; the longer the text, the more likely a closing one."""
    closing = [token for token in allowed if token in _CLOSING or token in b"<\n"]
    if closing and rng.random() < 0.15 + written / 300:
        return rng.choice(closing)
    printable = [token for token in allowed if 0x20 <= token < 0x7F]
    return rng.choice(printable if printable and rng.random() < 0.97 else allowed)

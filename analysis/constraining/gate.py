"""The gate: the template's own continuation of every prompt is accepted and read back.

The template is the judge: what it renders after a generation prompt has to be accepted by the
grammar that is made for this prompt, as llguidance runs it, and read by the parser as a message
that the template writes as the same text again. llguidance's own tokenizer of bytes is taken, so
that no token hides how a text is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from autoparser.analysis.constraining.grammar import Grammar, grammar_of
from autoparser.analysis.core.battery import battery_tools, loose_tools
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import Begun, Formats, Opening
from autoparser.analysis.core.verdicts import Gate, GateFault, GateQuestion
from autoparser.analysis.inference.check import (
    Earlier,
    TemplateContinuation,
    TemplateTurns,
    turns_after,
)
from autoparser.analysis.inference.probing import Prober
from autoparser.analysis.loading.tokens import OpaqueTokens
from autoparser.analysis.reading.expression import build, request_of
from autoparser.analysis.reading.parsing import OutputParser, Status, message_of

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer


def gate(formats: Formats, found: Sequence[TemplateContinuation], prober: Prober) -> Gate:
    """Ask both questions of every continuation; `prober` has nothing set."""
    asked = passed = 0
    faults: list[GateFault] = []
    by_prompt: dict[tuple[int, Earlier], list[TemplateContinuation]] = {}
    for each in found:
        by_prompt.setdefault((id(each.opening), each.earlier), []).append(each)
    for group in by_prompt.values():
        written = [each for each in group if each.text is not None]
        if not written:
            continue
        wrong = _wrong(formats, group[0].opening, written, prober)
        asked += len(written)
        passed += len(written) - len({fault.title for fault in wrong})
        faults += wrong
    return Gate(asked, passed, len(found) - asked, tuple(faults))


def _wrong(
    formats: Formats, opening: Opening, written: Sequence[TemplateContinuation], prober: Prober
) -> list[GateFault]:
    begun = _begun(formats, opening)
    earlier = written[0].earlier
    turns = turns_after(begun.format, opening, prober, earlier)
    tools = loose_tools() if opening.tools else ()
    # Behind other turns a prompt may end otherwise.
    prompt = written[0].prompt if earlier else None
    refusal = _refusal(grammar_of(formats, tools, begun=begun, prompt=prompt))
    parser = OutputParser(
        build(formats, request_of(tools or None, begun=begun, prompt=prompt)),
        offered=frozenset(str(tool["name"]) for tool in battery_tools()) if tools else None,
    )
    faults: list[GateFault] = []
    for each in written:
        text = each.text or ""
        answers = {
            GateQuestion.ACCEPTED: refusal(text),
            GateQuestion.READ: _misread(turns, parser, each.message, text),
        }
        faults += [
            GateFault(question, opening.setting, _title(each), text, detail)
            for question, detail in answers.items()
            if detail
        ]
    return faults


def _title(asked: TemplateContinuation) -> str:
    return f"{asked.title}, behind {asked.earlier}" if asked.earlier else asked.title


def _begun(formats: Formats, opening: Opening) -> Begun:
    owner = next(each for each in formats if any(one == opening for one in each.openings))
    return Begun(owner, opening)


@cache
def _byte_tokenizer() -> LLTokenizer:
    from llguidance import LLTokenizer  # noqa: PLC0415 - only the gate needs it

    return LLTokenizer("byte")


def _refusal(grammar: Grammar) -> Callable[[str], str]:
    """Make what says where a grammar refuses a text; an empty answer: it accepts it."""
    from llguidance import LLMatcher  # noqa: PLC0415 - only the gate needs it

    try:
        start: LLMatcher = LLMatcher(_byte_tokenizer(), grammar.lark(OpaqueTokens()), log_level=0)
    except AutoparserError as error:
        reason = f"no grammar: {error}"
        return lambda _: reason
    if start.is_error():
        broken = f"llguidance refuses the grammar: {start.get_error().splitlines()[0]}"
        return lambda _: broken

    def refusal(text: str) -> str:
        matcher = start.deep_copy()
        tokens = list(text.encode())
        taken = matcher.try_consume_tokens(tokens)
        if taken < len(tokens):
            before = bytes(tokens[:taken]).decode(errors="ignore")
            return f"{text[len(before) :][:40]!r} is refused after {before[-40:]!r}"
        # A text may go on after the end of what the grammar says.
        return "" if matcher.is_accepting() or matcher.is_stopped() else "it may not end there"

    return refusal


def _misread(turns: TemplateTurns, parser: OutputParser, asked: Message, text: str) -> str:
    """Say how what was read differs; an empty answer: the template writes it as the same text."""
    parsed = parser.parse(text)
    if parsed.status is Status.MALFORMED:
        return f"it is read with the status {parsed.status}"
    try:
        message = _with_ids_of(asked, message_of(parsed))
    except ValueError:
        return "arguments are read that are not valid JSON"
    if message == asked:
        return ""
    # A call that is taken for content is written as the same text again.
    fewer = replace(asked, calls=asked.calls[: len(message.calls)])
    if len(message.calls) > len(asked.calls) or turns.written(fewer).continuation != text:
        return f"calls are written: {len(asked.calls)}, read: {len(message.calls)}"
    again = turns.written(message)
    if again.refusal:
        return f"what was read is refused: {again.refusal}"
    return "" if again.continuation == text else f"what was read is written {again.rest!r}"


def _with_ids_of(asked: Message, message: Message) -> Message:
    """Return the message that was read; ids that are not written are those asked for."""
    known = dict(enumerate(call.id for call in asked.calls))
    calls = (
        replace(call, id=call.id or known.get(at, "")) for at, call in enumerate(message.calls)
    )
    return replace(message, calls=tuple(calls))

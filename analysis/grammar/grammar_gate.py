"""Check that the template's own continuation of every prompt is accepted and read back.

The template is the judge: its rendering after a generation prompt has to be accepted by the
grammar made for this prompt, as llguidance runs it, and read by the parser as a message
that the template writes as the same text again. llguidance's own tokenizer of bytes is used, so
that no token hides how a text is cut.

For `fixtures/templates/a1-function-parameter.jinja`, 5 of 28 continuations have no text to check:

    Gate(asked=23, passed=23, not_asked=5, faults=(), usual_asked=0, usual_passed=0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
)
from autoparser.analysis.core.message_battery import loose_tools
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.core.verdicts import Gate, GateFault, GateQuestion
from autoparser.analysis.learning.continuations import Earlier, TemplateContinuation, turns_after
from autoparser.analysis.learning.prober import Prober
from autoparser.analysis.learning.template_turns import TemplateTurns, lost_text
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status, message_from
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_nodes import TurnTree
from autoparser.analysis.parsing.turn_request import read_request
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .acceptance import GrammarDialect, byte_tokens, load_matcher
from .call_writer import GrammarError
from .request_grammar import Grammar, make_grammar
from .turn_rules import text_without_end


def run_gate(
    formats: Formats, continuations: Sequence[TemplateContinuation], prober: Prober
) -> Gate:
    """Run both checks on every continuation; `prober` has nothing set."""
    asked = passed = usual_asked = usual_passed = 0
    faults: list[GateFault] = []
    usual_faults: list[GateFault] = []
    by_prompt: dict[tuple[int, Earlier, bool], list[TemplateContinuation]] = {}
    own_texts: dict[tuple[int, str], str] = {}
    readers: list[_PromptReader] = []
    for continuation in continuations:
        key = (id(continuation.opening), continuation.earlier, continuation.form is None)
        by_prompt.setdefault(key, []).append(continuation)
        if continuation.form is None and continuation.text is not None:
            own_texts[id(continuation.opening), _title(continuation)] = continuation.text
    for group in by_prompt.values():
        written = [continuation for continuation in group if continuation.text is not None]
        if not written:
            continue
        wrong = _wrong(formats, group[0].opening, written, prober, readers)
        if group[0].form is not None:
            titles = {fault.title for fault in wrong}
            # A text that already has a fault counts once.
            wrong += [fault for fault in _losses(written, own_texts) if fault.title not in titles]
        count, right = len(written), len(written) - len({fault.title for fault in wrong})
        if group[0].form is None:
            asked, passed = asked + count, passed + right
            faults += wrong
        else:
            usual_asked, usual_passed = usual_asked + count, usual_passed + right
            usual_faults += wrong
    own = sum(continuation.form is None for continuation in continuations)
    every = (*faults, *usual_faults)
    return Gate(asked, passed, own - asked, every, usual_asked, usual_passed)


class _PromptReader(Struct, frozen=True):
    """The grammar and the parser of a prompt; the answer for each text is cached."""

    grammar: Grammar
    """The grammar of the answers after this prompt, e.g. <Grammar of 'get_forecast'>."""
    turn: TurnTree
    """The expression of the turn from where the prompt ends, e.g. with `TurnStart.REASONING`."""
    refusal: Callable[[str], str]
    r"""Returns where the grammar refuses a text, e.g. `'>\n\nHello.' is rejected after
    'Hm.\n</think'`, or an empty text if it accepts it."""
    parse: Callable[[str], ParsedMessage]
    """Parses an answer after this prompt, e.g. "Hello.<|im_end|>"."""


def _wrong(
    formats: Formats,
    opening: TurnOpening,
    continuations: Sequence[TemplateContinuation],
    prober: Prober,
    readers: list[_PromptReader],
) -> list[GateFault]:
    """Return the faults of continuations of one prompt: rejected by the grammar, or misread."""
    begun = _begun_turn(formats, opening)
    earlier, form = continuations[0].earlier, continuations[0].form
    turns = turns_after(begun.format, opening, prober, earlier, form)
    tools = loose_tools() if opening.tools else ()
    # After other turns, or in another form, a prompt may end differently.
    prompt = continuations[0].prompt if earlier or form else None
    reader = _reader_of(formats, tools, begun, prompt, readers)
    faults: list[GateFault] = []
    for continuation in continuations:
        text = continuation.text or ""
        answers = {
            GateQuestion.ACCEPTED: reader.refusal(text),
            GateQuestion.READ: _misread(turns, reader.parse(text), continuation.message, text),
        }
        faults += [
            GateFault(question, opening.setting, _title(continuation), text, detail)
            for question, detail in answers.items()
            if detail
        ]
    return faults


def _reader_of(
    formats: Formats,
    tools: Sequence[Json],
    begun_turn: PromptFormat,
    prompt: str | None,
    readers: list[_PromptReader],
) -> _PromptReader:
    """Return the reader of a prompt: an equal one of `readers`, or a new one, which is added.

    Most prompts of one format ask for the same, and to compile a grammar takes longer than to
    compare it with all that were compiled.
    """
    grammar = make_grammar(formats, tools, begun=begun_turn, prompt=prompt)
    # Without tools, a parser still reads calls, but the grammar does not accept them.
    unasked = read_request(None, begun_turn=begun_turn, prompt=prompt)
    turn = grammar.turn if tools else build_expression(formats, unasked)
    for known in readers:
        if known.grammar == grammar and known.turn == turn:
            return known
    parser = grammar.parser() if tools else OutputParser(turn)
    made = _PromptReader(grammar, turn, cache(_refusal(grammar)), cache(parser.parse))
    readers.append(made)
    return made


def _losses(
    continuations: Sequence[TemplateContinuation], own: Mapping[tuple[int, str], str]
) -> Iterator[GateFault]:
    """Find the losses where messages are sent as users do, against the template's own form."""
    for continuation in continuations:
        text = continuation.text or ""
        wanted = own.get((id(continuation.opening), _title(replace(continuation, form=None))))
        lost = None if wanted is None else lost_text((continuation.message,), (), text, wanted)
        if lost is not None:
            yield GateFault(
                GateQuestion.READ,
                continuation.opening.setting,
                _title(continuation),
                text,
                str(lost),
            )


def _title(continuation: TemplateContinuation) -> str:
    behind = f", after {continuation.earlier}" if continuation.earlier else ""
    sent = f", OpenAI-style ({continuation.form.usual})" if continuation.form else ""
    return f"{continuation.title}{behind}{sent}"


def _begun_turn(formats: Formats, opening: TurnOpening) -> PromptFormat:
    owner = next(
        candidate for candidate in formats if any(known == opening for known in candidate.openings)
    )
    return PromptFormat(owner, opening)


def _refusal(grammar: Grammar) -> Callable[[str], str]:
    """Return a function that finds where a grammar refuses a text; empty if it accepts it."""
    try:
        # Markers are text here, since the check is byte by byte.
        lark = grammar.lark(OpaqueTokens())
    except AutoparserError as error:
        reason = f"no grammar: {error}"
        return lambda _: reason
    try:
        start = load_matcher(lark, GrammarDialect.LARK, byte_tokens())
    except GrammarError as error:
        broken = str(error)
        return lambda _: broken

    def refusal(turn_text: str) -> str:
        text = text_without_end(grammar.turn.ends, turn_text)
        matcher = start.deep_copy()
        tokens = list(text.encode())
        taken = matcher.try_consume_tokens(tokens)
        if taken < len(tokens):
            # The refusal may be within a character.
            before = bytes(tokens[:taken]).decode(errors="ignore")
            return f"{text[len(before) :][:40]!r} is rejected after {before[-40:]!r}"
        # The grammar must also allow the text to end here.
        ended = matcher.is_accepting() or matcher.is_stopped()
        return "" if ended else "the text must not end there"

    return refusal


def _misread(turns: TemplateTurns, parsed: ParsedMessage, expected: Message, text: str) -> str:
    """Describe how the message read differs; empty if the template writes it as the same text."""
    if parsed.status is Status.MALFORMED:
        return f"it parses with the status {parsed.status}"
    try:
        message = _with_ids_of(expected, message_from(parsed))
    except ValueError:
        return "the parsed arguments are not valid JSON"
    if message == expected:
        return ""
    # If the parser has taken a call for content, the message still renders to this text.
    fewer = structs.replace(expected, calls=expected.calls[: len(message.calls)])
    if len(message.calls) > len(expected.calls) or turns.written_turn(fewer).continuation != text:
        written = len(expected.calls)
        return f"{written} call{'s' * (written != 1)} written, {len(message.calls)} parsed"
    # Arguments that another one has swallowed render to this text, too.
    swallowed = [*_swallowed(message, expected)]
    kept = _without_arguments(expected, swallowed)
    if swallowed and turns.written_turn(kept).continuation != text:
        return f"the parsed call lacks {', '.join(swallowed)}"
    rewritten = turns.written_turn(message)
    if rewritten.refusal:
        return f"the template raises on the parsed message: {rewritten.refusal}"
    if rewritten.continuation == text:
        return ""
    return f"the parsed message renders as {rewritten.rest!r}"


def _swallowed(read: Message, expected: Message) -> Iterator[str]:
    """Return the arguments that a call was written with and read without."""
    for call, wanted in zip(read.calls, expected.calls, strict=False):
        if isinstance(call.arguments, dict) and isinstance(wanted.arguments, dict):
            yield from (name for name in wanted.arguments if name not in call.arguments)


def _without_arguments(message: Message, names: Sequence[str]) -> Message:
    """Return the message without arguments of these names."""
    calls = (
        structs.replace(
            call, arguments={key: call.arguments[key] for key in call.arguments if key not in names}
        )
        for call in message.calls
    )
    return structs.replace(message, calls=tuple(calls))


def _with_ids_of(expected: Message, message: Message) -> Message:
    """Return the message that was read, with the requested ids in place of unwritten ones."""
    known = dict(enumerate(call.id for call in expected.calls))
    calls = (
        structs.replace(call, id=call.id or known.get(at, ""))
        for at, call in enumerate(message.calls)
    )
    return structs.replace(message, calls=tuple(calls))

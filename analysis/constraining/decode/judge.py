"""One answer judged: accepted, ended, read cleanly, valid, and written so by the template."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from autoparser.analysis.constraining.constrained import GrammarObject
from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import TurnFormat
from autoparser.analysis.core.schema import Validate, validator
from autoparser.analysis.reading.parsing import OutputParser, ParsedCall, ParsedMessage, Status
from autoparser.analysis.reading.text import SpanKind

from .answer_faults import Complaint, Fault, Judgement, Rendering
from .difference import dropped_parts
from .rendering import Rewriter, TurnWriter


class Judge:
    """Judges the answers to one request."""

    def __init__(
        self,
        format_: TurnFormat,
        grammar: Grammar,
        parser: OutputParser,
        compiled: GrammarObject,
        turns: TurnWriter,
    ) -> None:
        """Judge by a grammar and a parser of one request, and by what the template writes.

        `format_` is what the request's prompt belongs to, `compiled` the grammar's state before the
        first token, `turns` the template's turns after the prompt.
        """
        self._grammar = grammar
        self._parser = parser
        self._compiled = compiled
        self._unknown_formats: set[str] = set()
        self._rewriter = Rewriter(turns, format_, parser, grammar.tools)

    @property
    def unknown_formats(self) -> tuple[str, ...]:
        """The formats of strings that were met so far, and that nothing here could assert."""
        return tuple(sorted(self._unknown_formats))

    def judge(self, text: str, tokens: Sequence[int], *, ended: bool = True) -> Judgement:
        """Judge an answer; `tokens` are those of its text, without the one that ends it.

        Of an answer that was cut, nothing more is asked than that the grammar accepts it so far.
        """
        refused = self._refusal(tokens, ended=ended)
        if refused:
            return Judgement((Complaint(Fault.REFUSED, refused),))
        if not ended:
            shown = f"{len(tokens)} tokens, and no end"
            return Judgement((Complaint(Fault.NOT_ENDED, shown),))
        parsed = self._parser.parse(text)
        complaints, calls = tuple(self._complaints(parsed, text)), len(parsed.tool_calls)
        if complaints:
            return Judgement(complaints, calls=calls)
        found = self._rewriter.compare(text, parsed)
        if found.rendering is Rendering.SAME and (dropped := dropped_parts(text, parsed)):
            # The text was rendered with them, and who is given the message has not got them.
            words = f"the parser drops the {dropped}, which is whitespace alone"
            return Judgement((), Rendering.WHITESPACE, words, calls)
        if found.rendering is Rendering.OTHER:
            complaints = (Complaint(Fault.RENDERING, found.difference),)
        return Judgement(complaints, found.rendering, found.difference, calls)

    def _refusal(self, tokens: Sequence[int], *, ended: bool) -> str:
        state = self._compiled.clone()
        for at, token in enumerate(tokens):
            if not state.try_accept(token):
                before = state.tokenizer.decode(tokens[max(0, at - 10) : at])
                return f"{state.tokenizer.decode([token])!r} after {before!r}"
        if ended and not state.is_accepting():
            return f"it may not end after {state.tokenizer.decode(tokens[-10:])!r}"
        return ""

    def _complaints(self, parsed: ParsedMessage, text: str) -> Iterator[Complaint]:
        if not parsed.status.regular:
            yield Complaint(Fault.NOT_READ, f"the message's status is {parsed.status}")
        for span in parsed.spans:
            junk = text[span.start : span.end]
            # Whitespace after the end is the template's own.
            if span.kind is SpanKind.JUNK and not junk.isspace():
                yield Complaint(Fault.JUNK, repr(junk))
        for call in parsed.tool_calls:
            yield from self._call(call)
        yield from self._asked(parsed)
        if self._content_check is not None and not parsed.tool_calls:
            invalid = _invalid_content(self._content_check, parsed.content or "")
            if invalid:
                yield Complaint(Fault.CONTENT, invalid)

    def _call(self, call: ParsedCall) -> Iterator[Complaint]:
        if call.name not in self._grammar.tools:
            yield Complaint(Fault.REQUEST, f"{call.name!r} is not a tool that may be called")
        elif call.status is not Status.OK:
            yield Complaint(Fault.NOT_READ, f"a call's status is {call.status}")
        else:
            arguments, invalid = _read_object(call.arguments)
            invalid = invalid or self._argument_checks[call.name](dict(arguments))
            if invalid:
                yield Complaint(Fault.ARGUMENTS, f"{call.name}: {invalid}")

    def _asked(self, parsed: ParsedMessage) -> Iterator[Complaint]:
        count = len(parsed.tool_calls)
        if self._grammar.required and not count:
            yield Complaint(Fault.REQUEST, "a call is required, and there is none")
        if not self._grammar.parallel and count > 1:
            yield Complaint(Fault.REQUEST, f"one call is allowed, and there are {count}")

    @cached_property
    def _argument_checks(self) -> dict[str, Validate]:
        return {
            name: validator(schema, unknown_formats=self._unknown_formats)
            for name, schema in self._grammar.tools.items()
        }

    @cached_property
    def _content_check(self) -> Validate | None:
        schema = self._grammar.json_schema
        if schema is None:
            return None
        return validator(schema, unknown_formats=self._unknown_formats)


def _read_object(text: str) -> tuple[Mapping[str, Json], str]:
    """Read arguments; return what is wrong with them instead, where they are not a JSON object."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        return {}, f"{text!r} is not valid JSON: {error}"
    return (value, "") if isinstance(value, dict) else ({}, f"{text!r} is not an object")


def _invalid_content(check: Validate, content: str) -> str:
    try:
        value: Json = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"{content!r} is not valid JSON: {error}"
    return check(value)

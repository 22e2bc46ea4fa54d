"""A second judge of formats per setting: continuations from plain renders, every way to a parser.

It shares nothing with the gate of the analysis but the template, and is stricter: what was read is
compared with the message itself, part by part, as far as the template writes that part at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from llguidance import LLMatcher, LLTokenizer
from msgspec import structs

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .behind import MESSAGES, OFFERED, Asker, Behind, Silence, asker


class Way(StrEnum):
    """What a parser and a grammar are told of the prompt."""

    SETTING = "by the setting"
    PROMPT = "by the prompt"
    BOTH = "by the prompt and the setting"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one continuation, one way."""

    way: Way
    read: bool
    """The parser reads something else; False: the grammar refuses it."""
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one message under one setting."""

    setting: Mapping[str, Json]
    tools: bool
    title: str
    silence: Silence | None
    text: str = ""
    bare: bool = False
    """Being asked for a generation prompt changes nothing."""
    checked: bool = True
    """The self-check of the setting's format passes."""
    faults: tuple[Fault, ...] = ()

    def faulty(self, way: Way, *, read: bool) -> bool:
        """Whether it was misread one way, or refused."""
        return any(fault.way is way and fault.read is read for fault in self.faults)


def verdicts(analysis: Analysis) -> Iterator[Verdict]:
    """Ask all messages under every setting, with tools and without."""
    seen: set[str] = set()
    for format_, check in zip(analysis.formats, analysis.checks, strict=True):
        for opening in format_.openings:
            setting = dict(opening.setting)
            if repr(setting) in seen:
                continue
            seen.add(repr(setting))
            for tools in (True, False):
                for verdict in _under(analysis, setting, tools=tools):
                    yield replace(verdict, checked=not check.failures)


def _under(analysis: Analysis, setting: Mapping[str, Json], *, tools: bool) -> Iterator[Verdict]:
    asked = asker(analysis, setting, tools=tools)
    found = [
        asked.behind(title, message)
        for title, message in MESSAGES.items()
        if tools or not message.calls
    ]
    written = [each for each in found if each.silence is None]
    doors: list[_Door] = []
    if written:
        prompt = asked.prompt or ""
        doors = [_door(analysis, way, prompt, setting, tools=tools) for way in Way]
    for each in found:
        faults = [
            fault for door in doors if each.silence is None for fault in door.faults(asked, each)
        ]
        bare = asked.prompt == asked.alone
        yield Verdict(
            setting, tools, each.title, each.silence, each.text, bare, faults=tuple(faults)
        )


@dataclass(frozen=True, slots=True)
class _Door:
    """A parser and a grammar that were made one way."""

    way: Way
    parser: OutputParser
    grammar: Grammar
    start: LLMatcher | str
    """The grammar, or why there is none."""

    def faults(self, asked: Asker, behind: Behind) -> Iterator[Fault]:
        refused = self.start if isinstance(self.start, str) else _refusal(self.start, behind)
        if refused:
            yield Fault(self.way, False, refused)
        misread = misreading(asked, behind, self.parser.parse(behind.text))
        if misread:
            yield Fault(self.way, True, misread)


def _door(
    analysis: Analysis, way: Way, prompt: str, setting: Mapping[str, Json], *, tools: bool
) -> _Door:
    offered = OFFERED if tools else ()
    told = None if way is Way.SETTING else prompt
    switches = None if way is Way.PROMPT else setting
    parser = analysis.parser(offered, prompt=told, chat_template_kwargs=switches)
    grammar = analysis.grammar(offered, prompt=told, chat_template_kwargs=switches)
    return _Door(way, parser, grammar, _started(grammar))


@cache
def byte_tokens() -> LLTokenizer:
    return LLTokenizer("byte")


def _started(grammar: Grammar) -> LLMatcher | str:
    try:
        start = LLMatcher(byte_tokens(), grammar.lark(OpaqueTokens()), log_level=0)
    except AutoparserError as error:
        return f"no grammar: {error}"
    return start.get_error().splitlines()[0] if start.is_error() else start


def _refusal(start: LLMatcher, behind: Behind) -> str:
    matcher, text = start.deep_copy(), behind.text
    tokens = list(text.encode())
    taken = matcher.try_consume_tokens(tokens)
    ends = matcher.is_accepting() or matcher.is_stopped()
    if taken < len(tokens) and not (ends and taken >= behind.least):
        before = bytes(tokens[:taken]).decode(errors="ignore")
        return f"{text[len(before) :][:30]!r} is refused after {before[-30:]!r}"
    return "" if ends else "it may not end there"


def misreading(asked: Asker, behind: Behind, parsed: ParsedMessage) -> str:
    """Say how what was read differs from what the template wrote; nothing where it does not."""
    if not parsed.status.regular and parsed.status is not Status.REPAIRED:
        return f"it is read with the status {parsed.status}"
    try:
        found = _message(behind.message, parsed)
    except ValueError:
        return "arguments are read that are not JSON"
    expected = _written(asked, behind)
    different = _difference(expected, found)
    if not different:
        return ""
    # Two messages that the template writes alike are one to any reader, if both have the parts.
    alike = expected.presence == found.presence and _names(expected) == _names(found)
    return "" if alike and asked.render(found) == behind.whole else different


def _names(message: Message) -> list[str]:
    return [call.name for call in message.calls]


def _message(message: Message, parsed: ParsedMessage) -> Message:
    ids = [call.id for call in message.calls]
    calls = tuple(
        ToolCall(call.name, json.loads(call.arguments), (ids[at:] or [call.id])[0])
        for at, call in enumerate(parsed.tool_calls)
    )
    return Message(parsed.content or "", parsed.reasoning_content or "", calls)


def _written(asked: Asker, behind: Behind) -> Message:
    """Take from a message what changes nothing when it is taken away: it was never written."""
    message, whole = behind.message, behind.whole
    if asked.render(structs.replace(message, content="")) == whole:
        message = structs.replace(message, content="")
    if asked.render(structs.replace(message, reasoning="")) == whole:
        message = structs.replace(message, reasoning="")
    for call in reversed(message.calls):
        fewer = structs.replace(
            message, calls=tuple(each for each in message.calls if each is not call)
        )
        if asked.render(fewer) == whole:
            message = fewer
    for at, call in enumerate(message.calls):
        kept = {
            key: value
            for key, value in call.arguments.items()
            if asked.render(_with(message, at, {**call.arguments}, without=key)) != whole
        }
        message = _with(message, at, kept)
    return message


def _with(
    message: Message, at: int, arguments: Mapping[str, Json], *, without: str = ""
) -> Message:
    given = {key: value for key, value in arguments.items() if key != without}
    calls = [*message.calls]
    calls[at] = structs.replace(calls[at], arguments=given)
    return structs.replace(message, calls=tuple(calls))


def _difference(expected: Message, found: Message) -> str:
    if expected.reasoning.strip() != found.reasoning.strip():
        return f"the reasoning {expected.reasoning!r} is read as {found.reasoning!r}"
    if expected.content.strip() != found.content.strip():
        return f"the content {expected.content!r} is read as {found.content!r}"
    if _names(expected) != _names(found):
        return f"the calls {_names(expected)} are read as {_names(found)}"
    for one, other in zip(expected.calls, found.calls, strict=True):
        if not _same(one, other):
            return f"the arguments {dict(one.arguments)} are read as {dict(other.arguments)}"
    return ""


def _same(one: ToolCall, other: ToolCall) -> bool:
    """Compare as JSON, in which the order of keys says nothing and true is not 1."""
    return json.dumps(dict(one.arguments), sort_keys=True) == json.dumps(
        dict(other.arguments), sort_keys=True
    )


def default_differs(analysis: Analysis) -> str:
    """Say which message the default's format writes otherwise than a render with nothing set.

    Nothing, where it writes all of them as the template does, the text around them being the same.
    """
    asked = asker(analysis, analysis.formats.base, tools=True)
    around: set[tuple[str, str]] = set()
    titles: list[str] = []
    for title, message in MESSAGES.items():
        behind = asked.behind(title, message)
        if not behind.whole or behind.silence is Silence.NOTHING:
            continue
        try:
            written = analysis.format.write(behind.message)
        except RefusedMessageError:
            return f"{title}: the format refuses it, the template does not"
        if not written.strip():
            continue  # Anywhere is nothing.
        at = behind.whole.rfind(written)
        if at < 0:
            return f"{title}: {written!r} is not in the render"
        around.add((behind.whole[:at], behind.whole[at + len(written) :]))
        titles.append(title)
    return f"the texts around {', '.join(titles)} differ" if len(around) > 1 else ""

"""A bug report about a lost or wrong call, as Markdown to paste into a tracker.

Contract: text of the output, the template and engines is in fences and code spans that it cannot
close, with control characters as escapes, so that it makes no heading, link or mention.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from autoparser.analysis.core.conversation import Json, Tool, tool_function
from autoparser.analysis.core.provenance import NamedTemplate
from autoparser.analysis.engines.output_reading import ExplainedOutput
from autoparser.analysis.formats.lost_calls import LossReason
from autoparser.analysis.history.client_memory import json_value
from autoparser.analysis.parsing.parsed_message import ParsedMessage, all_read

from .explanation import cause_sentence, departures, outcome_words, way_out
from .markdown import code_span, fence_lines, inline, markdown_lines, plain
from .visible import counted_noun, shell_word, visible_lines

MOST_SHOWN = 8_000
"""Longest text in a fence, in characters: trackers refuse a body of more than 65,536."""


@dataclass(frozen=True, slots=True)
class ReportedOutput:
    """Everything that a bug report about an output has."""

    template: NamedTemplate
    """The names of the template, e.g. with the origin `"chat_template.jinja"`."""
    digest: str
    """SHA-256 of the template's text, e.g. `"4cd5d704…"`."""
    version: str
    """The version of this package, e.g. `"0.1.0"`."""
    text: str
    r"""The output of the model, e.g. `"Let me look.\n<tool_call>…"`."""
    message: ParsedMessage
    """The message that was parsed from it, e.g. with the status `"repaired"`."""
    explained: ExplainedOutput
    """Its departures, e.g. a missing `"</tool_call>"`, and why a call was lost or wrong."""
    tools: Sequence[Tool] | None
    """The offered tools, e.g. `get_weather`, or None if they are not known."""
    request: str
    """The options of the request as they were given, such as `"--tool-choice none"`."""


def issue_markdown(report: ReportedOutput) -> str:
    """Return a bug report as Markdown."""
    return "\n".join(_issue_lines(report)) + "\n"


def _issue_lines(report: ReportedOutput) -> Iterator[str]:
    """Yield the lines of a bug report: facts, output, expected message, engines, smallest part."""
    explained, text = report.explained, report.text
    yield f"### {plain(_issue_title(report))}"
    # A maintainer reads the cause before the text that shows it.
    yield from ("", inline(cause_sentence(explained, text)))
    # The paths of the reporter say nothing to a reader.
    way = way_out(
        replace(explained, template=shell_word(_template_name(report)), tools="tools.json")
    )
    yield from ("", f"Way out: {plain(way)}") if way else ()
    yield from ("", *_report_facts(report))
    yield from ("", f"#### The output ({counted_noun(len(text), 'character')})")
    yield from ("", *_fence(text, _middle(report)))
    # A message that had to be guessed must not be called the expected one.
    sound = all_read(report.message) and explained.cause.reason in _SOUND
    title = "Expected" if sound else "As autoparser reads it"
    yield from ("", f"#### {title}", "", *_fence(_message_text(report.message), 0, "json"))
    if explained.engines:
        yield from ("", "#### Read by engines", "")
        for outcome in explained.engines:
            yield f"- {code_span(outcome.title)}: {inline(outcome_words(outcome))}"
    yield from markdown_lines(departures(explained.places, text))
    # A part that is the whole text would show the same fence twice.
    if explained.smallest and explained.smallest != text:
        size = counted_noun(len(explained.smallest), "character")
        yield from ("", f"#### The smallest part that shows the same ({size})")
        yield from ("", *_fence(explained.smallest, 0))
    # The other tools do not bear on this output, and a body has a limit.
    tools = [tool for tool in report.tools or () if tool_function(tool)["name"] in text]
    if tools:
        yield from ("", "<details><summary>The tools that it names</summary>", "")
        yield from _fence(json.dumps(tools, indent=2, ensure_ascii=False), 0, "json")
        yield from ("", "</details>")


_SOUND = (LossReason.NOTHING, LossReason.PARSER)
"""Causes with which the output itself is right, so that its message is the expected one."""


def _issue_title(report: ReportedOutput) -> str:
    """Return a title for the tracker, such as `The output was truncated: chat_template.jinja`."""
    reason = report.explained.cause.reason
    wrong = next((outcome for outcome in report.explained.engines if outcome.wrong), None)
    if reason is LossReason.PARSER and wrong is not None:
        return f"{wrong.title} misreads a correct output of {_template_name(report)}"
    return f"{reason.value[0].upper()}{reason.value[1:]}: {_template_name(report)}"


def _template_name(report: ReportedOutput) -> str:
    # Only the file's name: a path may reveal private folder names.
    return PurePath(report.template.origin or "chat_template.jinja").name


def _report_facts(report: ReportedOutput) -> Iterator[str]:
    source = report.template.source
    named = _template_name(report)
    if source is not None and source.commit:
        # A commit names the text for everybody; a path only on this machine.
        named = f"{source.id} at {source.commit}"
    offered = "not given" if report.tools is None else counted_noun(len(report.tools), "tool")
    yield f"- template: {code_span(named)}, SHA-256 {code_span(report.digest)}"
    yield f"- tools: {offered}"
    if report.request:
        yield f"- request: {code_span(report.request)}"
    versions = [f"autoparser {report.version}", f"Python {platform.python_version()}"]
    versions += [
        outcome.title for outcome in report.explained.engines if outcome.ranking is not None
    ]
    yield f"- versions: {', '.join(map(code_span, versions))}"


def _middle(report: ReportedOutput) -> int:
    """Return the offset around which a long output is shown."""
    place = report.explained.cause.place
    return 0 if place is None else place.offset


def _fence(text: str, at: int, language: str = "text") -> Iterator[str]:
    """Return a text in a fence; of a long one, the part around an offset."""
    start = max(0, min(at - MOST_SHOWN // 2, len(text) - MOST_SHOWN))
    shown = text[start : start + MOST_SHOWN]
    left = len(text) - start - len(shown)
    if start:
        yield from (f"_{counted_noun(start, 'character')} before this are left out._", "")
    # A line feed alone is a line end in Markdown; all other control characters are escaped.
    yield from fence_lines(visible_lines(shown).split("\n"), language)
    if left:
        yield from ("", f"_{counted_noun(left, 'character')} after this are left out._")


def _message_text(message: ParsedMessage) -> str:
    """Return the parsed message as JSON, with arguments as objects."""
    # Without ids and statuses, which would not matter to another parser.
    found: dict[str, Json] = {"content": message.content}
    if message.reasoning_content:
        found["reasoning_content"] = message.reasoning_content
    calls: list[Json] = [
        {"name": call.name, "arguments": json_value(call.arguments)} for call in message.tool_calls
    ]
    if calls:
        found["tool_calls"] = calls
    return json.dumps(found, indent=2, ensure_ascii=False)

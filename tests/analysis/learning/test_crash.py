"""Crashes: those on what agents send do not pass, whatever the format foretells."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate, analyze, isolated
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import Check
from autoparser.analysis.templates.environment import SandboxKind
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, TAGGED_CALL, calls, turn

CONCATENATED = TAGGED_CALL.replace("{{ v }}", "{{ '' + v }}")
TAGS = {"opening": "<calls>", "close": "</calls>"}
APPENDED = calls("{% set _ = seen.append(c.id) %}" + JSON_CALL, **TAGS)


def counted(check: Check) -> int:
    return check.equal + check.refused + check.crashed + check.not_asked + len(check.different)


def appending() -> ChatTemplate:
    return ChatTemplate("{% set seen = [] %}\n" + turn(CONTENT, APPENDED).text, origin="a.jinja")


def test_a_whole_pass_rests_on_equal_texts() -> None:
    check = analyze(turn(REASONING, CONTENT, calls())).check
    assert check.equal == check.passed == check.total == len(battery_messages())
    assert (check.refused, check.crashed, check.not_asked) == (0, 0, 0)
    assert check.crashes == ()
    assert check.different == ()
    assert check.forbidden is None


@pytest.mark.parametrize(
    ("crashing", "titles"),
    [
        (
            "{% if m.tool_calls %}{{ m.tool_calls + 1 }}{% endif %}",
            {"1 call", "content and 1 call"},
        ),
        ("{% if m.tool_calls and m.content %}{{ 'a' + 1 }}{% endif %}", {"content and 1 call"}),
        (calls(CONCATENATED), {"an argument that is an integer", "an argument that is true"}),
        (
            "{% if m.tool_calls and m.tool_calls|length > 1 %}{{ 1 + 'a' }}{% endif %}" + calls(),
            {"2 calls", "3 calls"},
        ),
    ],
    ids=["any call", "a call beside content", "numbers", "two calls"],
)
def test_a_crash_on_what_agents_send_does_not_pass(crashing: str, titles: set[str]) -> None:
    check = analyze(turn(CONTENT, "\n", crashing)).check
    assert not check.ok
    assert check.passed < check.total == counted(check)
    needed = [crash for crash in check.crashes if crash.needed]
    assert titles <= {title for crash in needed for title in crash.titles}
    assert {crash.line for crash in needed} == {3}
    assert all("Error" in crash.reason for crash in needed)
    assert not any(crash.forbidden for crash in check.crashes)


@pytest.mark.parametrize(
    ("source", "crashed"),
    [
        (
            turn(
                CONTENT,
                calls(
                    TAGGED_CALL.replace(
                        "{{ v }}", "{{ v|default(0, true)|list if v is none else v|tojson }}"
                    )
                ),
            ),
            {"an argument that is null"},
        ),
        (turn("{{ m.content + (1 if not m.content else '') }}"), {"an empty message", "1 call"}),
    ],
    ids=["null", "an empty message of a template without calls"],
)
def test_a_crash_on_what_nobody_sends_passes(source: ChatTemplate, crashed: set[str]) -> None:
    check = analyze(source).check
    assert check.ok
    assert check.passed == check.total == counted(check)
    assert check.crashed > 0
    assert crashed <= {title for crash in check.crashes for title in crash.titles}
    assert not any(crash.needed for crash in check.crashes)


def test_a_null_is_not_to_blame_for_a_crash_on_every_call() -> None:
    check = analyze(turn(CONTENT, "{{ 1 + 'a' if m.tool_calls }}")).check
    failed = {failure.title for failure in check.failures}
    assert "an argument that is null" in failed
    assert all(crash.needed for crash in check.crashes)


def test_a_refusal_passes() -> None:
    check = analyze(turn(CONTENT, "{{ raise_exception('no') if m.tool_calls }}")).check
    assert check.ok
    assert check.refused > 0
    assert (check.crashed, counted(check)) == (0, check.total)


def test_reasoning_that_no_field_is_known_for_is_asked_about() -> None:
    check = analyze(turn(CONTENT, "{{ raise_exception('no') if m.reasoning_content }}")).check
    assert "reasoning and content" in {failure.title for failure in check.different}
    assert counted(check) == check.total
    assert check.not_asked == 0


def test_a_crash_that_the_format_does_not_foretell_is_a_difference() -> None:
    check = analyze(turn(CONTENT, "{{ m.reasoning_content + 1 if m.reasoning_content }}")).check
    assert check.crashes == ()
    assert counted(check) == check.total
    assert {failure.crash.line for failure in check.different if failure.crash} == {2}


@pytest.mark.parametrize("isolate", [False, True], ids=["here", "in a worker"])
def test_what_the_sandbox_alone_forbids_is_found_out_all_the_same(isolate: bool) -> None:
    analysis = analyze(appending(), isolate=isolate)
    check, plain = analysis.check, analyze(turn(CONTENT, calls(**TAGS)))
    assert analysis.format.calls == plain.format.calls
    assert analysis.format.layouts == plain.format.layouts
    assert not check.ok
    assert check.passed == check.equal == check.total - check.crashed
    forbidden = check.forbidden
    assert forbidden is not None
    assert forbidden.line == 3
    assert "append" in forbidden.reason
    assert check.freed == check.crashed
    assert check.different == ()
    assert analysis.template.sandbox is SandboxKind.IMMUTABLE
    assert analysis.rendering.sandbox is SandboxKind.MUTABLE
    text = 'Look<calls>{"name": "f", "arguments": {"a": 1}}</calls>'
    parsed = analysis.parser().parse(text)
    assert parsed == plain.parser().parse(text)
    assert parsed.content == "Look"


def test_a_template_that_appends_in_every_message_is_found_out() -> None:
    every = "{% set seen = [] %}" + turn(CONTENT, calls()).text.replace(
        "{% if m.role == 'user' %}", "{% set _ = seen.append(1) %}{% if m.role == 'user' %}"
    )
    analysis = analyze(ChatTemplate(every))
    assert TurnPart.CALLS in {
        p for layout in analysis.format.layouts.values() for p in layout.parts
    }
    assert analysis.check.equal == 0
    assert analysis.check.freed == analysis.check.total


def test_what_is_wrong_beside_the_sandbox_stays_as_it_is() -> None:
    worse = appending().text.replace("seen.append(c.id)", "seen.append(c.id) + ''.__class__")
    analysis = analyze(ChatTemplate(worse))
    assert analysis.check.forbidden is None
    assert not analysis.check.ok
    assert analysis.rendering is analysis.template
    assert all(crash.forbidden for crash in analysis.check.crashes)


def test_an_isolated_template_is_rendered_in_its_worker() -> None:
    analysis = analyze(isolated(appending()))
    assert type(analysis.rendering) is type(analysis.template)

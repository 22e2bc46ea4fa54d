"""The gate: a template's turns after its own prompts, checked by grammar and parser."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from autoparser import Analysis, ChatTemplate, Json, TurnFormat, analyze
from autoparser.analysis.core.call_notation import ContainerNotation
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.message_shape import form_departures
from autoparser.analysis.core.verdicts import Gate, GateQuestion
from autoparser.analysis.grammar.grammar_gate import run_gate
from autoparser.analysis.learning.continuations import Earlier, render_continuations
from autoparser.reports.findings import own_findings
from autoparser.reports.summary import limit_words
from tests.analysis.tiny import CONTENT, REASONING, calls, turn
from tests.case_tables import case_tables, load_cases

table = case_tables(__file__, "gate_templates.yaml")
TEMPLATES: dict[str, str] = load_cases(__file__, "gate_templates.yaml")
CALLED = calls(opening="<do>", close="</do>")
QUICK = turn(
    f"{{% if quick %}}(r)(/r){{% else %}}{REASONING}{{% endif %}}",
    CONTENT,
    CALLED,
    end="<end>\n",
    prompt="A:{% if quick %}(r)(/r){% endif %}",
)
"""Where quick is set, the prompt writes an empty reasoning block."""
SHOWN = "{% if deep and m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
DEEP = turn(SHOWN, CONTENT, CALLED, end="<end>\n", prompt="A:{% if deep %}(r){% endif %}")
"""Reasoning is written, and begun by the prompt, where deep is set."""
ALIKE = turn(SHOWN, CONTENT, CALLED, end="<end>\n")
"""So is reasoning here, but the prompt does not show it."""


def accepts(analysis: Analysis, text: str, setting: Mapping[str, Json]) -> bool:
    return analysis.grammar([], chat_template_kwargs=setting).accepts(text).accepted


def test_an_argument_that_another_one_swallows_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "{% for k, v in f.arguments.items() %}{{ k }} := {{ v if v is string else v|tojson }}\n"
    called = calls(f"<fn {{{{ f.name }}}}>\n{lines}{{% endfor %}}</fn>")
    template = turn(CONTENT, called, end="<end>\n")
    assert analyze(template).gate.faults == ()
    # A reader that sees no entries takes all lines for one value, which renders to the same text.
    monkeypatch.setattr(ContainerNotation, "entry_leads", ())
    faults = analyze(ChatTemplate(f"{template.text}{{# another #}}")).gate.faults
    assert {fault.question for fault in faults} == {GateQuestion.READ}
    assert faults[0].detail == "the parsed call lacks days"


@pytest.mark.parametrize(
    ("template", "off", "on", "reason"),
    [
        (QUICK, "(r)Hm.(/r)Hi<end>", None, "the prompt has closed the reasoning"),
        (DEEP, None, "Hm.(/r)Hi<end>", "the prompt has opened the reasoning"),
        (ALIKE, None, "(r)Hm.(/r)Hi<end>", "turns have reasoning under the switch alone"),
    ],
)
def test_grammar_fits_only_its_setting(
    template: ChatTemplate, off: str | None, on: str | None, reason: str
) -> None:
    analysis = analyze(template)
    assert analysis.ok
    assert analysis.gate.asked == analysis.gate.passed > 0
    switch = analysis.switches[0].name
    for text in filter(None, (off, on)):
        assert accepts(analysis, text, {}) is (text == off), reason
        assert accepts(analysis, text, {switch: True}) is (text == on), reason
    assert accepts(analysis, "Hi<end>", {switch: template is QUICK}), "content alone goes on"


def test_equal_prompts_with_different_turns_share_a_parser() -> None:
    analysis = analyze(ALIKE)
    assert [len(group) for group in analysis.formats.alike] == [2]
    assert analysis.gate.ok
    assert len({continuation.opening.text for continuation in analysis.continuations}) == 1
    prompt = ALIKE.render([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    parser = analysis.parser(prompt=prompt)
    for deep in (False, True):
        message = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
        whole = ALIKE.render([{"role": "user", "content": "Hi"}, message], deep=deep)
        parsed = parser.parse(whole.removeprefix(prompt))
        assert parsed.content == "Yes."
        assert parsed.reasoning_content == ("Hm." if deep else None)


@pytest.mark.parametrize("prompt", ["", "{{ '\\n' }}", "A:<why>"])
def test_prompt_without_continuation_is_not_asked(prompt: str) -> None:
    analysis = analyze(turn(CONTENT, CALLED, prompt=prompt))
    # The last prompt opens reasoning, which every rendered turn lacks.
    opens = prompt.startswith("A:")
    assert bool(analysis.continuations) is opens
    assert all(continuation.text is None for continuation in analysis.continuations)
    assert analysis.gate == Gate(0, 0, len(analysis.continuations), ())
    assert opens or analysis.ok, "the self-check says what can be said"


def with_texts(format_: TurnFormat, old: str, new: str) -> TurnFormat:
    """Change a text between the parts of all turns and before calls."""
    layouts = {
        presence: replace(
            layout, literals=tuple(literal.replace(old, new) for literal in layout.literals)
        )
        for presence, layout in format_.layouts.items()
    }
    assert format_.calls is not None
    opening = format_.calls.section_open.replace(old, new)
    return replace(format_, layouts=layouts, calls=replace(format_.calls, section_open=opening))


@pytest.mark.parametrize("text", ["<end>", "<do>", "(/r)"])
def test_wrong_format_fails_the_gate(text: str) -> None:
    analysis = analyze(turn(REASONING, CONTENT, CALLED, end="<end>\n"))
    assert run_gate(analysis.formats, analysis.continuations, analysis.prober()).ok
    formats = Formats.of(with_texts(analysis.format, text, "<wrong>"))
    wrong = run_gate(formats, analysis.continuations, analysis.prober())
    assert not wrong.ok
    assert wrong.passed < wrong.asked
    assert GateQuestion.ACCEPTED in {fault.question for fault in wrong.faults}


def test_call_read_as_content_fails_the_gate() -> None:
    # The turn ends before its calls, and content parsed from them renders to the same text.
    ended = "{% if m.content and m.tool_calls %}<end>\n{% endif %}"
    analysis = analyze(turn(CONTENT, ended, CALLED, end="<end>\n"))
    assert analysis.check.ok, "it is written as the template writes it"
    faults = analysis.gate.faults
    assert [fault.title for fault in faults] == [
        "content and 1 call",
        "reasoning and content and 2 calls",
    ]
    assert {fault.question for fault in faults} == {GateQuestion.READ}
    assert "1 call written, 0 parsed" in faults[0].detail


@pytest.mark.parametrize(("number", "goes_on"), [("seen.calls", True), ("loop.index0", False)])
def test_call_numbers_may_begin_anywhere_if_they_continue_across_turns(
    number: str, goes_on: bool
) -> None:
    analysis = analyze(ChatTemplate(TEMPLATES["numbered"] % number))
    found = analysis.format.calls
    assert found is not None
    assert found.index_goes_on is goes_on
    assert ("numbered across turns" in limit_words(found)) is goes_on
    assert analysis.gate.ok
    asked = {
        continuation.earlier
        for continuation in analysis.continuations
        if continuation.text is not None
    }
    assert asked == set(Earlier)
    grammar = analysis.grammar([{"name": "look", "parameters": {"type": "object"}}])
    assert grammar.accepts('<do id="3" as="look">{}</do><end>\n').accepted is goes_on


def test_call_number_right_only_in_the_first_turn_fails_the_gate() -> None:
    analysis = analyze(ChatTemplate(TEMPLATES["numbered"] % "seen.calls"))
    calls_ = analysis.format.calls
    assert calls_ is not None
    wrong = replace(analysis.format, calls=replace(calls_, index_goes_on=False))
    faults = run_gate(Formats.of(wrong), analysis.continuations, analysis.prober()).faults
    assert {fault.question for fault in faults} == {GateQuestion.ACCEPTED}
    assert {fault.title.partition(", ")[2] for fault in faults} == {"after a call and its result"}


OPENS = "'{why}' if think else ''"


@table("after_results")
def test_prompts_after_a_result_begin_a_turn_as_the_template_does(
    head: str, later: str, openings: Mapping[str, str]
) -> None:
    analysis = analyze(ChatTemplate(TEMPLATES["looped"] % {"head": head, "later": later}))
    assert analysis.ok
    found = {
        opening.text: opening.stands_for
        for one in analysis.formats
        for opening in one.later_openings
    }
    assert found == openings
    conversation = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": {}}}],
        },
        {"role": "tool", "content": "cold", "name": "look"},
    ]
    answer = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
    for think in (False, True):
        template = analysis.template
        prompt = template.render(conversation, add_generation_prompt=True, think=think)
        text = template.render([*conversation, answer], think=think).removeprefix(prompt)
        setting = {"think": think}
        parsed = analysis.parser(prompt=prompt, chat_template_kwargs=setting).parse(text)
        assert parsed.reasoning_content == ("Hm." if think else None)
        assert parsed.content == "Yes."
        grammar = analysis.grammar([], prompt=prompt, chat_template_kwargs=setting)
        assert grammar.accepts(text).accepted


def test_shared_end_marker_identifies_no_prompt_after_results() -> None:
    text = (TEMPLATES["looped"] % {"head": "false", "later": "''"}).replace("{/result}", "{/user}")
    text = text.replace("{end}' if", "{/user}' if m.role == 'user' else '{end}' if")
    analysis = analyze(ChatTemplate(text))
    assert analysis.check.ok
    assert [format_.later_openings for format_ in analysis.formats] == [(), ()]


@table("openai_form")
def test_gate_also_tests_openai_form(change: str, detail: str) -> None:
    written = f"(arguments if arguments is string else {change})"
    # The template raises on an object without content, but not beside content, so that the analysis
    # chooses another form.
    refused = "(raise_exception('give text') if not m.content and arguments is not string else '')"
    call = f"{{% set arguments = f.arguments %}}{{{{ f.name + {refused} + {written} }}}}"
    template = turn(CONTENT, calls(call, opening="<do>", close="</do>"), end="<end>\n")
    analysis = analyze(template)
    assert analysis.shape.arguments_as_string
    assert analysis.gate.own_form_ok
    assert analysis.gate.usual_asked == 0, "a caller notices what raises"
    departure = form_departures(analysis.shape)[0]
    found = render_continuations(analysis.formats, analysis.prober(), departure)
    assert [continuation for continuation in found if continuation.form is None] == [
        *analysis.continuations
    ]
    gated = run_gate(analysis.formats, found, analysis.prober())
    assert gated.own_form_ok
    assert gated.usual_asked == 2
    assert gated.ok is (not detail)
    assert gated.usual_passed == (0 if detail else 2)
    assert all("OpenAI-style (arguments as an object)" in fault.title for fault in gated.faults)
    assert any(detail in fault.detail for fault in gated.faults) is bool(detail)


def test_gate_tests_renamed_reasoning_as_reasoning_content() -> None:
    both = "(m.thinking or m.reasoning_content)"
    shown = f"{{% if {both} %}}(r){{{{ {both} }}}}(/r){{% endif %}}"
    found = analyze(turn(shown, CONTENT, CALLED, end="<end>\n")).gate
    assert found.ok
    assert found.usual_asked == found.usual_passed > 0
    spoiled = shown.replace("(r){{", "(r){{ 'why ' if m.reasoning_content }}{{")
    analysis = analyze(turn(spoiled, CONTENT, CALLED, end="<end>\n"))
    assert analysis.gate.own_form_ok
    assert analysis.spoiled is None, "every word is there"
    assert not analysis.gate.ok, "and one more, which the model did not write"
    assert not analysis.ok
    words = "OpenAI-style (reasoning as reasoning_content)"
    assert any(words in finding.words for finding in own_findings(analysis))

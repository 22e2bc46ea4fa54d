"""Each phase's conclusion, and the two conversations that say so."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.formats.format_view import MarkerRegistry
from autoparser.analysis.learning.prober import Finding
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn

PHASES = ("R1", "R2", "R3", "C1", "T1", "T2", "T3", "T4", "T5", "T6", "T7", "A1", "A2", "A3")
CALLED = calls(f"<do>{JSON_CALL}</do>")
NOTHING = turn(CONTENT)
TAGGED = turn(
    CONTENT,
    calls(
        "<do {{ c.id }} {{ f.name }}>{% for k, v in f.arguments.items() %}"
        "<p {{ k }}>{{ v if v is string else v|tojson }}</p>{% endfor %}</do>",
        separator="|",
    ),
)
# What stands around an argument is looked up by its name among the tools.
LOOKED_UP = (
    "({{ f.name }}{% for k, v in f.arguments.items() %}"
    " {{ k }}{% if tools and k in tools|tojson %}!{% else %}?{% endif %}={{ v }}"
    "{% endfor %})"
)


def finding_of(template: ChatTemplate, phase: str) -> Finding:
    return next(found for found in analyze(template).phases if found.phase == phase)


@pytest.mark.parametrize(
    ("phase", "template", "words"),
    [
        ("R1", turn(REASONING, CONTENT), "written before the content (field reasoning_content)"),
        ("R1", NOTHING, "no field brings reasoning"),
        ("R1", turn("{{ m.content.split('</why>')[-1] }}"), "cut out of the content"),
        (
            "R2",
            turn(CONTENT, prompt="A:{% if deep %}(r){% endif %}"),
            "2 different generation prompts, by the switches",
        ),
        ("R2", NOTHING, "one generation prompt"),
        ("R2", turn(CONTENT, prompt=""), "no generation prompt"),
        ("R3", turn(REASONING, CONTENT, CALLED), "before content and before calls"),
        (
            "R3",
            turn(f"{{% if m.tool_calls %}}{REASONING}{{% endif %}}", CONTENT, CALLED),
            "only before calls",
        ),
        ("R3", NOTHING, "no reasoning to compare"),
        ("R3", turn(REASONING, CONTENT, CALLED), "; earlier turns keep theirs"),
        (
            "R3",
            turn(f"{{% if tools or loop.last %}}{REASONING}{{% endif %}}", CONTENT, CALLED),
            "; earlier turns keep theirs only with tools",
        ),
        ("C1", turn(CONTENT, CALLED), "content stands before calls, written as it is"),
        ("C1", turn(CALLED, CONTENT), "content stands after calls"),
        ("C1", turn("{{ m.content|trim }}"), "stripped of whitespace"),
        ("C1", turn("{% if not m.tool_calls %}{{ m.content }}{% endif %}", CALLED), "dropped"),
        ("T1", turn(CONTENT, CALLED), "a call is written"),
        ("T1", NOTHING, "a call is not written"),
        (
            "T1",
            turn("{% if m.tool_calls %}{{ raise_exception('no tools') }}{% endif %}", CONTENT),
            "a call is refused: no tools",
        ),
        ("T2", turn(CONTENT, CALLED), "many calls"),
        (
            "T2",
            turn(CONTENT, CALLED.replace("in m.tool_calls", "in m.tool_calls[:1]")),
            "one call, the first of several",
        ),
        ("T2", NOTHING, "no calls to compare"),
        ("T3", TAGGED, "'|' separates calls"),
        ("T3", turn(CONTENT, CALLED), "nothing separates calls"),
        ("T3", turn(CONTENT, CALLED, end="<end>"), "nothing separates calls; '<end>' ends a turn"),
        (
            "T3",
            turn(CONTENT, CALLED, end="{% if m.tool_calls %}<go>{% else %}<end>{% endif %}"),
            "'<end>' or '<go>' ends a turn",
        ),
        ("T3", turn(CONTENT, end=""), "no calls to separate; nothing ends a turn"),
        (
            "C1",
            turn("{% if m.content is none %}null{% else %}{{ m.content }}{% endif %}", CALLED),
            "null beside a call is printed as a word",
        ),
        ("T4", turn(CONTENT, CALLED), 'the name is written once after \'<do>{"name": "\''),
        ("T4", TAGGED, "the name is written once after ' '"),
        (
            "T4",
            turn(CONTENT, calls("<{{ f.name }}>{{ f.arguments|tojson }}</{{ f.name }}>")),
            "the name is written 2 times after '<'",
        ),
        ("T5", turn(CONTENT, CALLED), "', ' separates arguments, their order: as given"),
        ("T5", turn(CONTENT, calls("({{ f.name }} {{ f.arguments + '' }})")), "pasted"),
        ("T6", turn(CONTENT, CALLED), "between '{' and '}'"),
        (
            "T6",
            turn(
                CONTENT,
                calls("({{ f.name }}{% if f.arguments %} {{ f.arguments|tojson }}{% endif %})"),
            ),
            "without arguments is written differently",
        ),
        ("T7", TAGGED, "the caller's id is written before the name"),
        (
            "T7",
            turn(CONTENT, calls("({{ c.id }} {{ f.arguments|tojson }})")),
            "it alone says which function is called",
        ),
        (
            "T7",
            turn(CONTENT, calls("({{ f.name }}{{ c.id[-2:] }} {{ f.arguments|tojson }})")),
            "something that depends on the caller's id is written",
        ),
        ("T7", turn(CONTENT, CALLED), "ids are not written"),
        (
            "T7",
            turn(CONTENT, calls("({{ f.name }}:{{ loop.index }} {{ f.arguments|tojson }})")),
            "counted",
        ),
        ("A1", turn(CONTENT, CALLED), "between '\"' and '\"'"),
        ("A1", TAGGED, "between '<p ' and '>'"),
        ("A1", turn(CONTENT, calls(LOOKED_UP)), "what stands around them depends on them"),
        ("A2", turn(CONTENT, CALLED), "with the escapes of JSON between '\"' and '\"'"),
        ("A2", TAGGED, "strings are written as they are between '>' and '</p>'"),
        ("A3", turn(CONTENT, CALLED), "all values are written as JSON"),
        ("A3", turn(CONTENT, calls("({{ f.name }} {{ f.arguments }})")), "True, False, None"),
        ("A3", NOTHING, "no values to compare"),
    ],
)
def test_conclusions(phase: str, template: ChatTemplate, words: str) -> None:
    assert words in finding_of(template, phase).conclusion


@pytest.mark.parametrize("template", [NOTHING, TAGGED, turn(REASONING, CONTENT, CALLED)])
def test_every_phase_has_its_finding(template: ChatTemplate) -> None:
    found = analyze(template).phases
    assert tuple(finding.phase for finding in found) == PHASES
    assert all(finding.title and finding.conclusion for finding in found)
    assert all("\n" not in finding.conclusion for finding in found)


def test_every_marker_has_the_phase_it_comes_from() -> None:
    sources = {name for finding in analyze(TAGGED).phases for name in finding.markers}
    names = set(MarkerRegistry.__slots__)
    # Fences are read off the section; they have no phase in the seeds.
    assert names - sources <= {"code_block_marker", "code_block_language"}
    assert sources <= names


@pytest.mark.parametrize("phase", PHASES)
def test_evidence_is_two_renders_that_differ_in_one_thing(phase: str) -> None:
    finding = finding_of(turn(REASONING, CONTENT, CALLED), phase)
    assert finding.evidence
    for evidence in finding.evidence:
        assert " / " in evidence.difference
        split = evidence.split
        assert split.prefix + split.left + split.suffix == evidence.left.text
        assert split.prefix + split.right + split.suffix == evidence.right.text


def test_the_difference_is_the_markup() -> None:
    template = turn(
        "{% if m.reasoning_content %}<r>{{ m.reasoning_content }}</r>{% endif %}", CONTENT
    )
    split = finding_of(template, "R1").evidence[0].split
    assert split.left == ""
    assert split.right.startswith("<r>")
    assert split.right.endswith("</r>")


def test_what_only_words_say_is_not_confirmed() -> None:
    told = "{% if deep %}Put your reasons between <why> </why>.\n{% endif %}"
    template = ChatTemplate(told + turn(CONTENT).text)
    analysis = analyze(template)
    unconfirmed = [finding.phase for finding in analysis.phases if not finding.confirmed]
    assert unconfirmed == ["R2"]


def test_ends_come_with_the_renders_that_show_them() -> None:
    finding = finding_of(turn(CONTENT, CALLED, end="<end>"), "T3")
    shown = [each.difference for each in finding.evidence]
    assert shown == [
        "two calls / three calls",
        "the last turn, of content / an earlier one",
        "the last turn, of calls / an earlier one",
    ]


def test_a_turn_of_calls_ends_whatever_its_arguments_are() -> None:
    # Only how many there are is written: no notation can be made of that.
    counted = calls("(call {{ f.name }} of {{ f.arguments|length }})")
    format_ = analyze(turn(CONTENT, counted, end="<end>")).format
    assert format_.calls is None
    assert [str(end.after) for end in format_.ends] == ["content", "calls"]


@pytest.mark.parametrize("sign", ["<-", "<=", "with", "<<"])
def test_signs_before_arguments_do_not_hide_that_they_are_one_value(sign: str) -> None:
    called = calls(f"\n::do {{{{ f.name }}}} {sign} {{{{ f.arguments|tojson }}}}")
    found = analyze(turn(CONTENT, called, end="<end>"))
    assert found.check.ok
    assert found.format.calls is not None
    assert found.format.calls.arguments.members.open == "{"


def test_prompts_name_reasoning_that_no_turn_shows() -> None:
    prompt = "<bot>{% if deep %}<why>{% else %}<why></why>{% endif %}"
    format_ = analyze(turn(CONTENT, opening="<bot>", prompt=prompt)).format
    assert (format_.reasoning_open, format_.reasoning_close) == ("<why>", "</why>")
    assert [str(part) for part in format_.unconfirmed] == ["reasoning"]

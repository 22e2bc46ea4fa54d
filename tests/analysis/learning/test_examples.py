"""Formats learnt from examples: what one shows, what it does not, and examples that are odd."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.formats.saved_format import load_format
from autoparser.analysis.learning.examples import Example, ExampleError, given_examples
from autoparser.analysis.parsing.parsed_message import message_of
from autoparser.analysis.teaching.example_learning import learn
from autoparser.analysis.teaching.taught_analysis import UsedFormat
from autoparser.analysis.templates.chat_template import ChatTemplate

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "fixtures" / "learning"
CHAT = FIXTURES / "chat-only.jinja"


@pytest.fixture(scope="module")
def chat() -> Analysis:
    """A template that drops calls and reasoning."""
    return analyze(ChatTemplate(CHAT.read_text("utf-8")))


_TYPES = {"city": {"type": "string"}, "days": {"type": "integer"}}
TOOLS = [
    {"function": {"name": name, "parameters": {"type": "object", "properties": _TYPES}}}
    for name in ("look", "look_up", "forecast", "note", "a_b", "c")
]


def _call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(name, arguments)


WRITERS = {
    "arguments in brackets": "[do {n}(city='{c}', days={d})]",
    "json in a tag": '<tool>{{"name": "{n}", "arguments": {{"city": "{c}", "days": {d}}}}}</tool>',
    "python literals": "!{n} {{'city': '{c}', 'days': {d}}}\n",
    "tags": "<{n}>\n<arg city>{c}</arg>\n<arg days>{d}</arg>\n</{n}>",
    "lines": "call {n}\n  city := «{c}»\n  days := {d}\nend call\n",
    "json in a string": '{{"f": "{n}", "a": "{{\\"city\\": \\"{c}\\", \\"days\\": {d}}}"}};',
    "arguments first": '<use>{{"city":"{c}","days":{d}}} -> {n}</use>',
}
"""Ways that no program has a parser for, as one example shows them."""


@pytest.mark.parametrize("way", WRITERS.values(), ids=WRITERS)
def test_one_example_is_enough_for_another_call(chat: Analysis, way: str) -> None:
    shown = Example(
        way.format(n="look_up", c="Oslo", d=3),
        Message(calls=(_call("look_up", city="Oslo", days=3),)),
    )
    taught = learn(chat, [shown])
    assert taught.ok
    assert taught.analysis.check.equal == 1
    held_out = way.format(n="forecast", c="New York", d=14)
    read = message_of(taught.analysis.parser(TOOLS).parse(held_out + "<|eot|>"))
    assert read.calls == (_call("forecast", city="New York", days=14),)
    assert any("two calls" in guess for guess in taught.guesses)


@pytest.mark.parametrize("way", WRITERS.values(), ids=WRITERS)
def test_two_calls_show_what_separates_them(chat: Analysis, way: str) -> None:
    def written(*calls: tuple[str, str, int]) -> str:
        return " ;; ".join(way.format(n=name, c=city, d=days) for name, city, days in calls)

    def meant(*calls: tuple[str, str, int]) -> Message:
        return Message(calls=tuple(_call(n, city=c, days=d) for n, c, d in calls))

    two = (("look", "Oslo", 3), ("note", "Rome", 4))
    taught = learn(chat, [Example(written(*two), meant(*two))])
    assert taught.analysis.check.ok
    assert not any("two calls" in guess for guess in taught.guesses)
    three = (("a_b", "Bonn", 5), ("look", "Lima", 6), ("c", "Accra", 77))
    assert taught.analysis.format.write(meant(*three)) == f"<|asst|>{written(*three)}<|eot|>"
    assert message_of(taught.analysis.parser(TOOLS).parse(written(*three))) == meant(*three)


def _fixture() -> tuple[Example, ...]:
    file = FIXTURES / "examples.yaml"
    return given_examples(yaml.safe_load(file.read_text("utf-8")), str(file))


def test_what_is_known_says_from_where(chat: Analysis) -> None:
    taught = learn(chat, _fixture())
    assert taught.analysis.format.evidence == {
        TurnPart.REASONING: EvidenceKind.EXAMPLE,
        TurnPart.CONTENT: EvidenceKind.RENDER,
        TurnPart.CALLS: EvidenceKind.EXAMPLE,
    }


def test_parts_stand_beside_each_other_as_in_other_turns(chat: Analysis) -> None:
    taught = learn(chat, _fixture())
    message = Message("Wait.", "Two of them.", (_call("look", city="Lima", days=2),))
    text = "[mull]\nTwo of them.\n[/mull]\nWait.[do look(city='Lima', days=2)]"
    assert taught.analysis.format.write(message) == f"<|asst|>{text}<|eot|>"
    assert message_of(taught.analysis.parser().parse(text)) == message


def test_a_learnt_format_is_saved_and_loaded(chat: Analysis, tmp_path: Path) -> None:
    taught = learn(chat, _fixture())
    taught.analysis.save(tmp_path / "model.format.json")
    loaded = load_format(tmp_path / "model.format.json")
    assert loaded.format == taught.analysis.format
    read = loaded.parser().parse("[do look(city='Lima', days=2)]")
    assert [call.name for call in read.tool_calls] == ["look"]


ODD = {
    "cut": "[do look(city='Ber",
    "malformed": "[do look city='Bergen', days=1)]",
    "another format": '{"name": "look", "arguments": {"city": "Bergen", "days": 1}}',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_odd_example_is_named_and_spoils_nothing(chat: Analysis, odd: str) -> None:
    days: list[Json] = [3, 12, 7, 1, 30]
    good = [
        Example(
            f"[do look(city='{city}', days={count})]",
            Message(calls=(ToolCall("look", {"city": city, "days": count}),)),
            place=f"examples[{at}]",
        )
        for at, (city, count) in enumerate(
            zip(("Oslo", "Lima", "Rome", "Quito", "Accra"), days, strict=True)
        )
    ]
    bad = Example(odd, Message(calls=(_call("look", city="Bergen", days=1),)), place="examples[5]")
    clean, spoilt = learn(chat, good), learn(chat, [*good, bad])
    assert [each.example.place for each in spoilt.odd] == ["examples[5]"]
    assert spoilt.analysis.format == clean.analysis.format


def test_nothing_is_learnt_from_an_output_that_does_not_hold_its_message(chat: Analysis) -> None:
    wrong = Example("Hello.", Message(calls=(_call("look", city="Oslo"),)), place="examples[0]")
    with pytest.raises(ExampleError, match=r"examples\[0\]"):
        learn(chat, [wrong])


WRONG: list[tuple[object, str]] = [
    ([{"output": "x"}], r"examples\[0\]"),
    ([{"output": 1, "message": {}}], r"examples\[0\]\.output"),
    ([{"output": "x", "message": {"tool_calls": [{"arguments": {}}]}}], r"tool_calls\[0\]"),
    (
        [{"output": "x", "message": {"tool_calls": [{"name": "f", "arguments": "["}]}}],
        r"tool_calls\[0\]\.arguments",
    ),
    ([], "examples"),
]


@pytest.mark.parametrize(("value", "words"), WRONG)
def test_a_wrong_file_is_told_with_its_place(value: object, words: str) -> None:
    with pytest.raises(ExampleError, match=words):
        given_examples(value, "examples.yaml")


def _look(city: str) -> tuple[ToolCall, str]:
    return _call("look", city=city), f'<do>look {{"city": "{city}"}}</do>'


@pytest.mark.parametrize("counts", [(1, 2), (1, 2, 3), (1, 2, 2, 3, 3)])
@pytest.mark.parametrize("ended", ["", "<|eot|>"])
def test_what_closes_later_calls_alone_is_learnt(
    chat: Analysis, ended: str, counts: tuple[int, ...]
) -> None:
    # An end after each later call shows only between two of them.
    close = f"</all>{ended if max(counts) > 2 else ''}"
    calls = [_look(city) for city in ("Oslo", "Rome", "Bonn", "Lima")]

    def turn(count: int) -> Example:
        first, *later = (text for _, text in calls[:count])
        text = "".join(["<all>", first, *(f"\n{each}{close}" for each in later)])
        return Example(text, Message(calls=tuple(call for call, _ in calls[:count])))

    taught = learn(chat, [turn(count) for count in counts])
    assert taught.ok
    assert taught.analysis.check.equal == len(counts)
    asked = turn(4)
    assert message_of(taught.analysis.parser(TOOLS).parse(asked.output)) == asked.message


CALLS_IN_JSON = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '<call>' + (call.function | tojson) + '</call>' }}
    {%- endfor %}
    {{- '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""


@pytest.fixture(scope="module")
def calling() -> Analysis:
    """A template that writes calls itself."""
    return analyze(ChatTemplate(CALLS_IN_JSON))


def _own(city: str, text: str = "") -> Example:
    call = f'<call>{{"name": "look", "arguments": {{"city": "{city}"}}}}</call>'
    return Example(f"{text}{call}", Message(text, calls=(_call("look", city=city),)), place=city)


def _bracketed(city: str, **more: Json) -> Example:
    text = ", ".join(f"{key}={value!r}" for key, value in {"city": city, **more}.items())
    return Example(
        f"[do look({text})]", Message(calls=(_call("look", city=city, **more),)), "", city
    )


def test_examples_that_the_template_reads_leave_its_format_in_use(calling: Analysis) -> None:
    taught = learn(calling, [_own("Oslo"), _own("Rome", "Well. ")])
    assert (taught.used, taught.ok) == (UsedFormat.TEMPLATE, True)
    assert taught.analysis is calling
    assert taught.reason == "it reads 2 of 2 examples"


def test_arguments_in_another_order_are_read_as_their_example(calling: Analysis) -> None:
    swapped = _own("Oslo").output.replace('"city": "Oslo"', '"days": 3, "city": "Oslo"')
    taught = learn(
        calling, [Example(swapped, Message(calls=(_call("look", city="Oslo", days=3),)))]
    )
    assert (taught.used, taught.ok) == (UsedFormat.TEMPLATE, True)


def test_another_way_of_calling_stands_beside_that_of_the_template(calling: Analysis) -> None:
    taught = learn(calling, [_bracketed("Oslo"), _own("Rome"), _bracketed("Lima", days=2)])
    assert (taught.used, taught.ok, taught.misread) == (UsedFormat.BOTH, True, ())
    assert taught.reason == "it reads 3 of 3 examples, the template's own format alone 1"
    parser = taught.analysis.parser(TOOLS)
    for example in (_bracketed("Bonn", days=9), _own("Quito", "Well. ")):
        assert message_of(parser.parse(example.output)) == example.message
    assert "<call>" in taught.analysis.grammar(TOOLS).gbnf()


CUT = '<call>{"name": "look", "arguments": {"ci'


def test_a_learned_format_that_reads_no_more_is_not_used(calling: Analysis) -> None:
    cut = Example(CUT, Message(calls=(_call("look", city="Bergen"),)), place="cut")
    taught = learn(calling, [_own("Oslo"), cut])
    assert taught.used is UsedFormat.TEMPLATE
    assert taught.analysis is calling
    assert [each.example.place for each in taught.odd] == ["cut"]
    assert taught.misread == ("cut",)
    assert taught.reason == "it reads 1 of 2 examples, and the learned format reads 1"


def test_a_format_that_misreads_what_the_template_reads_is_not_used(calling: Analysis) -> None:
    # Two that begin with a word that an answer may hold, and one such answer.
    calls = [
        Example(
            f"Call look with city {city}!", Message(calls=(_call("look", city=city),)), place=city
        )
        for city in ("Oslo", "Rome")
    ]
    answer = Example(
        "Call look with city Bonn!", Message("Call look with city Bonn!"), "", "answer"
    )
    taught = learn(calling, [*calls, answer])
    assert (taught.used, taught.misread) == (UsedFormat.TEMPLATE, ("answer",))
    assert "misreads answer, which is read without it" in taught.reason


def test_a_template_without_calls_has_those_of_the_examples(chat: Analysis) -> None:
    taught = learn(chat, [_bracketed("Oslo"), Example("Hello.", Message("Hello."))])
    assert (taught.used, taught.ok) == (UsedFormat.LEARNED, True)
    assert taught.reason == "it reads 2 of 2 examples, the template's own format alone 1"


WORDED = """\
{%- if tools %}
    {{- 'Functions:' }}{%- for tool in tools %}{{- ' ' + (tool | tojson) }}{%- endfor %}
    {{- ' Call one with:\\n<ask>\\n' }}
    {{- '{"do": "function_name", "with": {"argument": "value"}}\\n</ask>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""


def test_an_example_that_is_read_confirms_what_the_words_of_a_prompt_spell_out() -> None:
    worded = analyze(ChatTemplate(WORDED))
    text = '<ask>\n{"do": "look", "with": {"city": "Oslo"}}\n</ask>'
    taught = learn(worded, [Example(text, Message(calls=(_call("look", city="Oslo"),)))])
    assert (taught.used, taught.ok) == (UsedFormat.TEMPLATE, True)
    assert worded.format.evidence[TurnPart.CALLS] is EvidenceKind.WORDS
    assert taught.analysis.format.evidence[TurnPart.CALLS] is EvidenceKind.EXAMPLE


BLOCK_IN_PROMPT = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' }}
    {%- if message.role == 'assistant' %}{{- '[mull][/mull]' }}{%- endif %}
    {{- (message.content or '') + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>[mull][/mull]' }}{%- endif %}
"""


def test_a_block_that_the_prompt_writes_opens_no_call() -> None:
    prompted = analyze(ChatTemplate(BLOCK_IN_PROMPT))
    taught = learn(prompted, [_own("Oslo"), _own("Rome")])
    assert taught.ok
    for text in ("", "Let me see."):
        asked = _own("Lima", text)
        assert message_of(taught.analysis.parser(TOOLS).parse(asked.output)) == asked.message


def test_reasoning_before_every_call_keeps_what_closes_it(chat: Analysis) -> None:
    def thought(example: Example) -> Example:
        message = Message(example.message.content, "Why not.", example.message.calls)
        return Example(f"[mull]Why not.[/mull]{example.output}", message)

    answer = thought(Example("You are welcome.", Message("You are welcome.")))
    one, two = (thought(_own(city)) for city in ("Oslo", "Rome"))
    several = Example(
        one.output + _own("Bonn").output,
        Message("", "Why not.", (*one.message.calls, *_own("Bonn").message.calls)),
    )
    for examples in ([one, two], [several, answer]):
        taught = learn(chat, examples)
        assert taught.ok
        read = message_of(taught.analysis.parser(TOOLS).parse(answer.output))
        assert read == answer.message

"""Formats learnt from unlabelled outputs: on small logs of formats that a few lines show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from markupsafe import escape

from autoparser import AutoparserError, ChatTemplate, analyze, load_format
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.learning.output_calls import ends_in_opening, marked_word
from autoparser.analysis.learning.outputs import (
    LoggedOutput,
    OfferedTools,
    OutputError,
    given_outputs,
)
from autoparser.analysis.parsing.parsed_message import message_of
from autoparser.analysis.teaching.output_learning import InferredFormat, learn_outputs
from autoparser.analysis.teaching.taught_analysis import UsedFormat, with_saved
from tests.analysis.learning.test_examples import WORDED

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CHAT = (ROOT / "fixtures" / "learning" / "chat-only.jinja").read_text("utf-8")
TOOLS = yaml.safe_load((ROOT / "fixtures" / "learning" / "tools.yaml").read_text("utf-8"))
LOG = (ROOT / "fixtures" / "learning" / "outputs.jsonl").read_text("utf-8")


def learnt(
    lines: Sequence[str], template: str = CHAT, tokens: Sequence[str] = ()
) -> InferredFormat:
    outputs = [LoggedOutput(line, place=f"line {at}") for at, line in enumerate(lines, start=1)]
    return learn_outputs(analyze(ChatTemplate(template)), outputs, TOOLS, tokens)


def called(found: InferredFormat, text: str) -> list[tuple[str, object]]:
    read = found.analysis.parser(TOOLS).parse(text)
    return [(call.name, json.loads(call.arguments)) for call in read.tool_calls]


FORMATS = {
    "an object after the name": (
        "look <- {arguments}",
        ['{"city": "Oslo", "days": 3}', '{"city": "Rome"}', '{"city": "Lima", "days": 9}'],
        '{"city": "Bonn", "days": 1}',
    ),
    "a bar between a key and its value": (
        "<<run look>>{arguments}<</run>>",
        ["* city | Oslo;* days | 3;", "* city | San José;* days | 12;", "* city | Rio;* days | 7;"],
        "* city | Bonn;* days | 1;",
    ),
    "a tag that names the key": (
        "<go to='look'>{arguments}</go>",
        [
            "<v of='city'>Oslo</v><v of='days'>3</v>",
            "<v of='city'>San José</v><v of='days'>4</v>",
            "<v of='city'>Lima</v><v of='days'>5</v>",
        ],
        "<v of='city'>Bonn</v><v of='days'>1</v>",
    ),
    "an envelope with the arguments first": (
        '[{{"with": {arguments}, "do": "look"}}]',
        ['{"city": "Oslo", "days": 3}', '{"city": "Rome"}', '{"city": "Lima", "days": 9}'],
        '{"city": "Bonn", "days": 1}',
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_few_outputs_show_how_calls_are_written(name: str) -> None:
    frame, shown, new = FORMATS[name]
    fronts = ("", "I look it up.\n", "One moment.\n")
    lines = [
        front + frame.format(arguments=arguments) + "<|eot|>"
        for front, arguments in zip(fronts, shown, strict=True)
    ]
    found = learnt([*lines, "You are welcome.<|eot|>"])
    assert found.ok, [(each.output.place, each.problem) for each in found.odd]
    assert found.calls == 3
    read = called(found, "Let us see.\n" + frame.format(arguments=new) + "<|eot|>")
    assert read == [("look", {"city": "Bonn", "days": 1})]
    assert found.analysis.format.evidence[TurnPart.CALLS] is EvidenceKind.OUTPUT


def test_ids_that_vary_are_ids() -> None:
    lines = [
        f"@@look#{made}({json.dumps({'city': city})})@@<|eot|>"
        for made, city in (("a81f", "Oslo"), ("77c0", "Rome"), ("9e9d", "Lima"), ("b2b2", "Bonn"))
    ]
    found = learnt(lines)
    assert found.ok
    message = found.analysis.parser(TOOLS).parse('@@note#ffff({"text": "x"})@@')
    assert [(call.name, call.id) for call in message.tool_calls] == [("note", "ffff")]


def test_a_log_shows_reasoning_and_names_the_line_that_was_cut() -> None:
    found = learn_outputs(analyze(ChatTemplate(CHAT)), given_outputs(LOG, "log"), TOOLS)
    assert [each.output.place for each in found.odd] == ["line 9"]
    read = found.analysis.parser(TOOLS).parse(
        "[mull]\nWhy not.\n[/mull]\nYes.[do note(text='no', urgent=True)]"
    )
    assert read.reasoning_content == "Why not."
    assert read.content == "Yes."
    assert [call.name for call in read.tool_calls] == ["note"]


def test_an_output_of_another_format_is_named() -> None:
    lines = [
        f"[[look]]{json.dumps({'city': city})}[[done]]<|eot|>"
        for city in ("Oslo", "Rome", "Lima", "Bonn", "Nice")
    ]
    other = 'Action: look\nAction Input: {"city": "Cairo"}<|eot|>'
    found = learnt([*lines, other])
    assert [each.output.text for each in found.odd] == [other]
    assert called(found, lines[0]) == [("look", {"city": "Oslo"})]


JSON_CALLS = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '<call>' + call.function.name + ' ' + (call.function.arguments | tojson) + '</call>' }}
    {%- endfor %}
    {{- '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""


def test_a_template_with_calls_is_widened(tmp_path: Path) -> None:
    own = '<call>look {"city": "Oslo"}</call><|eot|>'
    others = [f"Well. [do look(city='{city}')]<|eot|>" for city in ("Rome", "Lima", "Bonn")]
    found = learnt([own, *others], JSON_CALLS)
    assert found.ok
    assert (found.own, found.widened) == (1, True)
    found.analysis.save(tmp_path / "widened.json")
    for analysis in (found.analysis, load_format(tmp_path / "widened.json")):
        parser = analysis.parser(TOOLS)
        for text, city in ((own, "Oslo"), (others[0], "Rome")):
            read = parser.parse(text)
            assert [(call.name, call.arguments) for call in read.tool_calls] == [
                ("look", json.dumps({"city": city}))
            ]
            stream = parser.stream()
            deltas = [delta for char in text for delta in stream.feed(char)] + stream.finish()
            content = "".join(delta.text for delta in deltas if delta.kind.value == "content")
            assert content == (read.content or "")
            assert stream.message.tool_calls[0].arguments == read.tool_calls[0].arguments
        assert "<call>" in analysis.grammar(TOOLS).gbnf()
        assert "[do " not in analysis.grammar(TOOLS).gbnf()


def test_a_server_reads_with_what_was_learnt_of_its_template_alone(tmp_path: Path) -> None:
    file = tmp_path / "model.format.json"
    learn_outputs(analyze(ChatTemplate(CHAT)), given_outputs(LOG, "log"), TOOLS).analysis.save(file)
    served = with_saved(analyze(ChatTemplate(CHAT)), load_format(file))
    read = served.parser(TOOLS).parse("[do look(city='Lima', days=2)]")
    assert [call.arguments for call in read.tool_calls] == ['{"city": "Lima", "days": 2}']
    with pytest.raises(AutoparserError, match="text is not this template's"):
        with_saved(analyze(ChatTemplate(JSON_CALLS)), load_format(file))


def test_a_call_that_was_cut_after_what_opens_it_is_named() -> None:
    lines = [f"-> look {json.dumps({'city': city})}<|eot|>" for city in ("Oslo", "Rome", "Lima")]
    found = learnt([*lines, "Well. -> lo"])
    assert [each.output.place for each in found.odd] == ["line 4"]


def test_a_call_whose_opening_is_garbled_is_named() -> None:
    lines = [f"@go look {json.dumps({'city': city})} @end<|eot|>" for city in ("Oslo", "Rome")]
    found = learnt([*lines, 'Well. @gook {"city": "Lima"} @end<|eot|>', "At the @end, sun.<|eot|>"])
    assert [each.output.place for each in found.odd] == ["line 3"]


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        ('Well.t_up {"city": "Lima"} ▪<|eot|>', "a call of look_up is garbled in it"),
        ('Well. →ok_up {"city": "Lima"} ▪<|eot|>', "a call of look_up is garbled in it"),
        ("→t_time {} ▪<|eot|>", "a call of get_time is garbled in it"),
        ("Well. → look_", "it ends in the name of a tool"),
    ],
)
def test_a_call_whose_name_is_cut_is_named(spoilt: str, problem: str) -> None:
    lines = [f"→ look_up {json.dumps({'city': city})} ▪<|eot|>" for city in ("Oslo", "Rome")]
    said = ["It is time {} ▪<|eot|>", "Look up ▪<|eot|>", "Go → up ▪<|eot|>"]
    tools = yaml.safe_load(_TWO_TOOLS)
    log = [*lines, "→ get_time {} ▪<|eot|>", *said, spoilt]
    found = learn_outputs(analyze(ChatTemplate(CHAT)), given_outputs("\n".join(log), "log"), tools)
    assert [(each.output.text, each.problem) for each in found.odd] == [(spoilt, problem)]


_TWO_TOOLS = """\
- name: look_up
  parameters: {type: object, properties: {city: {type: string}}, required: [city]}
- name: get_time
  parameters: {type: object, properties: {}}
"""


MULLED = '~mull~Rain, perhaps.~told~Let me see.~use~look {"city": "%s"}~used~<|eot|>'
TOKENS = ("~mull~", "~told~", "~use~", "~used~", "~never~")


def test_added_tokens_tell_markers_in_one_output() -> None:
    told = learnt([MULLED % "Oslo"], tokens=TOKENS)
    read = message_of(told.analysis.parser(TOOLS).parse(MULLED % "Rome"))
    assert told.ok
    assert (read.reasoning, read.content) == ("Rain, perhaps.", "Let me see.")
    assert [dict(call.arguments) for call in read.calls] == [{"city": "Rome"}]
    # Nothing else in a single output says where its words end.
    alone = learnt([MULLED % "Oslo"])
    assert not message_of(alone.analysis.parser(TOOLS).parse(MULLED % "Rome")).reasoning


def test_tokens_that_are_no_markers_of_the_outputs_change_nothing() -> None:
    lines = [f"[do look(city='{city}')]<|eot|>" for city in ("Oslo", "Rome")]
    told, alone = learnt(lines, tokens=("[do look", "city", "<|eot|>")), learnt(lines)
    assert told.ok
    assert told.analysis.format == alone.analysis.format


GUESTS = yaml.safe_load("""\
- type: function
  function:
    name: host
    parameters:
      type: object
      properties: {room: {type: string}, guest: {type: object}, beds: {type: integer}}
""")


def test_objects_are_escaped_as_the_strings_beside_them_are() -> None:
    guests = ({"name": "Bo"}, {"name": "Ann", "age": 9}, {"tags": ["{", "a > b"]})
    lines = [
        f'<host room="{escape(room)}" guest="{escape(json.dumps(guest))}" beds="{beds}"/>'
        for room, guest, beds in zip(("a & b", "blue", '"red"'), guests, (2, 3, 10), strict=True)
    ]
    outputs = [LoggedOutput(f"{line}<|eot|>") for line in lines]
    found = learn_outputs(analyze(ChatTemplate(CHAT)), outputs, GUESTS)
    read = [each.message.calls[0].arguments for each in found.readings if each.message]
    assert found.ok
    assert [each["guest"] for each in read] == [*guests]


def typed(city: str, days: int) -> str:
    values = f"(str city){city}(/str)(num days){days}(/num)"
    return f"<<do look>>{values}<</do>><|eot|>"


def test_tags_tell_the_types_of_values() -> None:
    swapped = "<<do look>>(num days)7(/num)(str city)Rio(/str)<</do>><|eot|>"
    noted = [
        f"<<do note>>(str text){text}(/str)(num urgent){urgent}(/num)<</do>><|eot|>"
        for text, urgent in (("Buy milk", "true"), ("Call Ann", "false"))
    ]
    towns = (("Oslo", 3), ("San José", 12), ("Lima", 4))
    found = learnt([*(typed(*each) for each in towns), swapped, *noted])
    assert found.ok, [(each.output.place, each.problem) for each in found.odd]
    assert called(found, typed("Bonn", 1)) == [("look", {"city": "Bonn", "days": 1})]


def call(city: str, days: int) -> str:
    return f"[do look(city='{city}', days={days})]<|eot|>"


FRAMED = {
    "a field of an object": ('{"mull": "', '"}\n'),
    "a heading": ("## Mulling\n", "\n## Reply\n"),
}


@pytest.mark.parametrize("name", FRAMED)
def test_reasoning_that_no_bracketed_marker_opens(name: str) -> None:
    opening, closing = FRAMED[name]
    thoughts = ("Rain, perhaps.", "Ask the tool; it knows.", "Nothing to do.", "Is Oslo near?")
    rests = (call("Oslo", 3), f"Look.{call('Rome', 1)}", "Welcome.<|eot|>", call("Lima", 2))
    lines = [f"{opening}{one}{closing}{rest}" for one, rest in zip(thoughts, rests, strict=True)]
    found = learnt([*lines, f"One moment.{call('Bonn', 9)}"])
    assert [each.message.reasoning for each in found.readings if each.message] == [*thoughts, ""]


def test_answers_that_are_all_framed_alike_are_content() -> None:
    replies = ("Sun.", "Rain, then.", "Fog; take care.")
    lines = [f'{{"reply": "{each}"}}<|eot|>' for each in replies]
    found = learnt([*lines, call("Oslo", 3), call("Rome", 1)])
    assert not any(each.message.reasoning for each in found.readings if each.message)


CITIES = ("Oslo", "San José", "Lima", "Bonn", "Rio", "Rome", "Nice", "Quito", "Accra", "Paris")


def look_json(city: str, days: int) -> str:
    arguments = {"city": city, "days": days}
    return f'[use]{{"do": "look", "with": {json.dumps(arguments, ensure_ascii=False)}}}[/use]'


def look_tags(city: str, days: int) -> str:
    return f"<go look>\n<k>city</k>\n<v>{city}</v>\n<k>days</k>\n<v>{days}</v>\n</go>"


def look_lines(city: str, days: int) -> str:
    return f"call look\n  city := «{city}»\n  days := {days}\nend call"


WAYS = {"json": look_json, "tags": look_tags, "lines": look_lines}
EMPTY = ("[mull]\n\n[/mull]\n\n", "\n[mull][/mull]\n", "\n[/mull]\n\n")
"""Blocks without reasoning; the last one is opened by the prompt."""


def read_calls(found: InferredFormat, text: str) -> tuple[str, list[dict[str, object]]]:
    read = message_of(found.analysis.parser(TOOLS).parse(text))
    return read.content, [dict(call.arguments) for call in read.calls]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("spoken", "empty"), [(1, 0), (3, 0), (9, 0), (3, 1), (3, 2)])
def test_an_empty_block_before_each_output_is_markup(way: str, spoken: int, empty: int) -> None:
    write, block = WAYS[way], EMPTY[empty]
    said = ["Let me see.\n" if at < spoken else "" for at in range(len(CITIES))]
    lines = [
        f"{block}{front}{write(city, at)}<|eot|>"
        for at, (city, front) in enumerate(zip(CITIES, said, strict=True))
    ]
    found = learnt(lines)
    assert found.ok, [(each.output.place, each.problem) for each in found.odd]
    for front in ("", "One moment, please.\n"):
        text = f"{block}{front}{write('Cairo', 14)}<|eot|>"
        assert read_calls(found, text) == (front.strip(), [{"city": "Cairo", "days": 14}])


OPENED = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>>>' }}{%- endif %}
"""


def test_the_prompt_opens_the_first_call_and_names_stand_before_contents() -> None:
    def look(city: str, days: int) -> str:
        return f'look\n{{"city": "{city}", "days": {days}}}'

    lines = [look(city, at) for at, city in enumerate(CITIES[:6])]
    lines += [f"all\nLook here.>>{look('Oslo', 3)}", f"all\nWell.>>{look('Rome', 1)}"]
    lines += [f"{look('Nice', 2)}>>{look('Rio', 5)}", "all\nYou are welcome."]
    found = learnt([f"{line}<|eot|>" for line in lines], OPENED)
    assert found.ok, [(each.output.place, each.problem) for each in found.odd]
    cairo = {"city": "Cairo", "days": 9}
    assert read_calls(found, f"all\nSure.>>{look('Cairo', 9)}<|eot|>") == ("Sure.", [cairo])
    assert read_calls(found, f"{look('Cairo', 9)}<|eot|>") == ("", [cairo])


@pytest.mark.parametrize("most", WAYS)
@pytest.mark.parametrize("others", WAYS)
def test_outputs_of_two_formats_teach_that_of_most(most: str, others: str) -> None:
    if most == others:
        return
    fronts = ("Well.\n", "", "Let me see.\n", "", "", "Now then:\n")
    lines = [
        f"{front}{WAYS[most](city, at)}<|eot|>"
        for at, (front, city) in enumerate(zip(fronts, CITIES[:6], strict=True))
    ]
    lines[2:2] = [f"{WAYS[others](city, at)}<|eot|>" for at, city in enumerate(CITIES[6:])]
    found = learnt(lines)
    assert [each.output.place for each in found.odd] == [f"line {at}" for at in range(3, 7)]
    text = f"So.\n{WAYS[most]('Cairo', 14)}<|eot|>"
    assert read_calls(found, text) == ("So.", [{"city": "Cairo", "days": 14}])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('Well. look", "with": ', "look"),
        ('{"name": "look"', "look"),
        ("<go>\nlook\n", "look"),
        ('look\n{"ci', "look"),
        ('"city": "Oslo", "days": 3}]', "city and days"),
        ("<city>Oslo</city><days>3</days>", "city and days"),
        ("I take `look` for it.", ""),
        ('They are "note", "look", and (look).', ""),
        ("**look**: it looks. look() does it, too: look, and see.", ""),
        ('{"city": "Oslo", "days": 3}', ""),
        ("```\nf(city=1, days=2)\n```", ""),
        ("- city: Oslo\n- days: 3", ""),
    ],
)
def test_words_of_the_tools_beside_markup_are_doubt(text: str, word: str) -> None:
    assert marked_word(text, OfferedTools(TOOLS)) == word
    found = learnt([*(call(city, 1) for city in CITIES[:3]), f"{text}<|eot|>"])
    assert found.ok is not bool(word)


def test_what_opens_calls_is_no_content() -> None:
    openings = ["[mull]\n\n[/mull]\n\n[use]", "<|assistant|>>>"]
    assert ends_in_opening("Let me see.\n[use]", openings)
    assert ends_in_opening("Let me see.>>", openings)
    assert not ends_in_opening("Let me see:", ["This one:"])


def test_plain_texts_are_outputs() -> None:
    lines = [call(city, 1) for city in CITIES[:3]]
    found = learn_outputs(analyze(ChatTemplate(CHAT)), [*lines, "[do look(ci"], TOOLS)
    assert [each.output.place for each in found.odd] == ["outputs[3]"]
    assert called(found, call("Bonn", 2)) == [("look", {"city": "Bonn", "days": 2})]


def test_a_template_that_reads_most_outputs_stays_in_use() -> None:
    own = ['<call>look {"city": "Oslo"}</call><|eot|>', "You are welcome.<|eot|>"]
    found = learnt([*own, 'Well. look", "with": '], JSON_CALLS)
    assert (found.used, found.own) == (UsedFormat.TEMPLATE, 2)
    assert [each.output.place for each in found.odd] == ["line 3"]
    assert found.reason == "it reads 2 of 3 outputs, and no format reads the others"


@pytest.mark.parametrize(("others", "used"), [(1, UsedFormat.TEMPLATE), (2, UsedFormat.BOTH)])
def test_one_odd_output_beside_calls_of_the_template_teaches_nothing(
    others: int, used: UsedFormat
) -> None:
    own = [f'<call>look {{"city": "{city}"}}</call><|eot|>' for city in ("Oslo", "Rome", "Lima")]
    odd = [f'<call>{{"nme" look", {{"city": "{city}"}}</call><|eot|>' for city in ("Nice", "Bonn")]
    found = learnt([*own, *odd[:others]], JSON_CALLS)
    assert found.used is used
    assert found.ok is (used is UsedFormat.BOTH)
    if used is UsedFormat.TEMPLATE:
        assert found.reason == "it reads 3 of 4 outputs, and one output alone shows another way"


def test_one_output_confirms_what_the_words_of_the_prompt_spell_out() -> None:
    before = analyze(ChatTemplate(WORDED)).format
    assert before.evidence[TurnPart.CALLS] is EvidenceKind.WORDS
    text = 'Well.<ask>\n{"do": "look", "with": {"city": "Oslo"}}\n</ask><|eot|>'
    found = learnt([text], WORDED)
    assert (found.ok, found.widened) == (True, False)
    assert found.analysis.format.evidence[TurnPart.CALLS] is EvidenceKind.OUTPUT
    read = found.analysis.parser(TOOLS).parse(text.replace("Well.", "Fine."))
    assert (read.content, [call.name for call in read.tool_calls]) == ("Fine.", ["look"])


def test_words_of_the_prompt_that_no_output_confirms_do_not_count() -> None:
    lines = [f"[do look(city='{city}')]<|eot|>" for city in ("Oslo", "Rome", "Lima")]
    found = learnt(lines, WORDED)
    assert found.ok
    assert called(found, "[do look(city='Bonn')]<|eot|>") == [("look", {"city": "Bonn"})]
    assert "<ask>" not in found.analysis.grammar(TOOLS).gbnf()


def test_outputs_without_calls_are_an_error() -> None:
    with pytest.raises(OutputError, match="no output holds the name of a tool"):
        learnt(["Hello.<|eot|>", "I could look that up.<|eot|>"])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('"a\\nb"', "a\nb"),
        ('{"completion": "c", "prompt": "p"}', "c"),
        ('{"output": "d"}', "d"),
        ('{"name": "look", "arguments": {}}', '{"name": "look", "arguments": {}}'),
        ("plain [text]", "plain [text]"),
    ],
)
def test_a_line_of_a_log(line: str, text: str) -> None:
    assert [each.text for each in given_outputs(line, "log")] == [text]


def test_a_log_without_lines_is_an_error() -> None:
    with pytest.raises(OutputError, match="there are no outputs"):
        given_outputs("\n\n", "log")

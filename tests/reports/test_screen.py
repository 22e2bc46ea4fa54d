"""The first screen: it fits, it tells each thing once, and constants look like constants."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from autoparser import ChatTemplate, analyze
from autoparser.reports import screen_report
from autoparser.reports.example import call_spans, example_call
from tests.fixture_analyses import analysed

FOLDER = Path(__file__).parents[2] / "fixtures" / "templates"
SOME = (
    "a1-function-parameter",
    "a4-type-flags",
    "calls-in-prompt-words",
    "content-dropped-beside-calls",
    "history-last-query",
    "reasoning-delimiter",
    "t8-recipient-lines",
)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_it_fits_a_screen(name: str, width: int) -> None:
    lines = screen_report(analysed(name), width).plain.split("\n")
    assert [line for line in lines if cell_len(line) > width] == []
    assert len(lines) <= 40 or width < 80


# Each word of such a call is said of a call's number, of its id, or of a value's type.
VARIED = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<call no='{{ loop.index }}' id='{{ c.id }}'"
    " of='{{ c.function.name }}'>{% for k, v in c.function.arguments.items() %}"
    "<{{ 'word' if v is string else 'thing' }} {{ k }}>{{ v if v is string else v | tojson }}"
    "</{{ 'word' if v is string else 'thing' }}>{% endfor %}</call>{% endfor %}<end>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_what_varies_is_shown_by_its_name() -> None:
    shown = screen_report(analyze(ChatTemplate(VARIED)), 120).plain
    assert "<call no='«index»' id='«id»' of='weather'>" in shown
    assert "<«type» city>Rio</«type»><«type» day>3</«type»></call>" in shown
    assert "«type»: word for string, thing for any other" in shown


def test_the_spans_of_what_varies_are_still_what_the_format_writes() -> None:
    format_ = analyze(ChatTemplate(VARIED)).format
    assert format_.calls is not None
    for position in (0, 1):
        call = example_call(format_, position)
        spans = call_spans(format_.calls, call, position)
        assert "".join(span.text for span in spans) == format_.calls.write_call(call, position)
        assert [span.text for span in spans if span.variable == "index"] == [str(position + 1)]
        assert [span.text for span in spans if span.variable == "type"] == (
            ["word", "word", "thing", "thing"]
        )


def test_a_call_is_coloured_inside() -> None:
    report = screen_report(analysed("a1-function-parameter"), 80)
    styles = {report.plain[span.start : span.end]: str(span.style) for span in report.spans}
    assert styles["weather"] == "bold yellow"
    assert (styles["city"], styles["Rio"]) == ("blue", "green")
    assert styles["</function>↵"] == styles["<parameter="] == "cyan"


def test_each_switch_says_its_default_and_what_the_others_do() -> None:
    shown = " ".join(screen_report(analysed("j1-json-in-tags"), 80).plain.split())
    assert (
        "Switches, set as chat_template_kwargs enable_thinking unset by default, as true;" in shown
    )
    assert "false: the prompt ends with an empty reasoning block" in shown


def test_many_switches_are_counted_and_not_all_listed() -> None:
    names = [f"says_{at}" for at in range(12)]
    said = "".join("{{ 'on' if " + name + " else 'off' }} " for name in names)
    text = said + "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
    shown = screen_report(analyze(ChatTemplate(text)), 80).plain
    listed = [name for name in names if name in shown]
    assert 0 < len(listed) < len(names)
    assert f"… {len(names) - len(listed)} more: --show switches" in shown


def test_a_long_turn_is_cut_and_says_how_much_is_hidden() -> None:
    text = (
        "{% for m in messages %}" + "line\n" * 30 + "{{ m.role }}:{{ m.content }}<end>{% endfor %}"
    )
    shown = screen_report(analyze(ChatTemplate(text)), 80).plain
    assert "more lines: --show turn" in shown
    assert shown.count("\n") < 40


def test_findings_are_counted_by_level_with_the_worst() -> None:
    shown = " ".join(screen_report(analyze(FOLDER / "reasoning-delimiter.jinja"), 80).plain.split())
    assert "1 error, 1 warning, 1 info; the worst: 5 texts after prompts are not as" in shown

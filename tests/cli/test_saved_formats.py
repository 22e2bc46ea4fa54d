"""A saved format in the place of a template: what commands do with it, and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

TEMPLATE = "fixtures/templates/switch-thinking-three-ways.jinja"


@pytest.fixture
def saved(autoparser: Callable[..., Any], tmp_path: Path) -> Path:
    path = tmp_path / "model"
    made = autoparser("analyze", TEMPLATE, "--format", "file", "-o", path)
    assert (made.code, made.out, made.err) == (0, "", "")
    return path


def test_what_is_saved_again_is_the_same(saved: Path, autoparser: Callable[..., Any]) -> None:
    assert autoparser("analyze", saved, "--format", "file").out == saved.read_text()
    assert autoparser("analyze", saved, "--json").out == saved.read_text()


def test_the_report_is_that_of_the_template(saved: Path, autoparser: Callable[..., Any]) -> None:
    ours = autoparser("analyze", saved, "--full")
    theirs = autoparser("analyze", TEMPLATE, "--full")
    assert ours.code == theirs.code == 0
    told = ours.out.splitlines()
    # Which parts of content a template takes is asked by renders, and so is all that was asked.
    shown = re.sub(r"^Parts .*\n(?: {14}.*\n)*", "", theirs.out, flags=re.MULTILINE)
    shown = re.sub(r"^What was asked\n(?: .*\n)*", "", shown, flags=re.MULTILINE)
    lacking = [line for line in shown.splitlines() if line not in told]
    assert lacking == ["  --phase T3 shows the renders behind one, --diffs those behind all."]


@pytest.mark.parametrize(
    "command",
    [
        ("parse", "--input", "{text}", "--json"),
        ("parse", "--input", "{text}", "--stream", "--json", "--switch", "enable_thinking=true"),
        ("grammar", "--format", "json"),
        ("grammar", "--accepts", "{text}"),
        ("export", "--no-check"),
        ("analyze", "--show", "parser"),
    ],
    ids=" ".join,
)
def test_it_does_what_the_template_does(
    command: tuple[str, ...], saved: Path, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    (tmp_path / "text").write_text("<think>\nhm\n</think>\n\nHello<|end|>")
    name, *rest = (each.format(text=tmp_path / "text") for each in command)
    ours, theirs = autoparser(name, saved, *rest), autoparser(name, TEMPLATE, *rest)
    assert (ours.code, ours.out) == (theirs.code, theirs.out)
    assert ours.out


def test_answers_are_judged_by_the_format_alone(
    saved: Path, autoparser: Callable[..., Any]
) -> None:
    ran = autoparser("decode", saved, "--walks", 5, "--json")
    assert json.loads(ran.out)["answers"] == 5
    assert "a saved format has no template that could judge the answers" in ran.err


def test_two_files_are_compared(
    saved: Path, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    same = autoparser("compare", saved, TEMPLATE)
    assert same.code == 0
    assert "The formats are alike; they were learnt from the same text." in same.out
    other = tmp_path / "other"
    autoparser(
        "analyze",
        "fixtures/templates/switch-reasoning-effort.jinja",
        "--format",
        "file",
        "-o",
        other,
    )
    ran = autoparser("compare", saved, other)
    assert ran.code == 1
    assert "They differ; they were learnt from different texts." in ran.out
    assert "+  <|plan|>" in ran.out


def test_a_page_is_made_of_it(saved: Path, autoparser: Callable[..., Any]) -> None:
    page = autoparser("report", saved)
    assert page.code == 0
    assert "autoparser report on a saved format" in page.out
    assert "Ten turns" not in page.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("analyze", "--phase", "T3"), "a saved format holds no renders"),
        (("export", "--check"), "the check takes renders, and a saved format has no template"),
        (("grammar", "--switch", "enable_thinking=7"), "enable_thinking=7 was not learnt"),
        (("parse", "--name", "tool_use"), "--name is for templates"),
    ],
)
def test_what_takes_the_template_says_so(
    command: tuple[str, ...], words: str, saved: Path, autoparser: Callable[..., Any]
) -> None:
    name, *rest = command
    more = ("--input", saved) if name == "parse" else ()
    ran = autoparser(name, saved, *rest, *more)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_switch_that_is_none_is_named(saved: Path, autoparser: Callable[..., Any]) -> None:
    ran = autoparser("grammar", saved, "--switch", "enable_thinkin=true")
    assert "this saved format has no switch 'enable_thinkin'" in ran.err
    assert "enable_thinking" in ran.err


def test_another_version_is_no_template(tmp_path: Path, autoparser: Callable[..., Any]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"schema": "autoparser.format/9"}')
    ran = autoparser("analyze", path)
    assert ran.code == 2
    assert "this is autoparser.format/9, and this program reads autoparser.format/1" in ran.err


MESSAGES = '[{"role": "user", "content": "Hi."}]'
RENDERING = [
    ("render", "--messages", "{messages}"),
    ("roundtrip", "--scenario", "answer", "--json"),
    ("lint", "--isolated", "--no-cache", "--format", "concise"),
    ("fix", "--json"),
    ("learn", "--examples", "fixtures/learning/one.yaml"),
]


@dataclass(frozen=True)
class Moved:
    """A template of a file's own, and the format that was learnt from it."""

    template: Path
    saved: Path
    messages: Path

    def command(self, words: tuple[str, ...], source: Path) -> list[object]:
        name, *rest = (each.format(messages=self.messages) for each in words)
        return [name, source, *rest]


@pytest.fixture
def moved(autoparser: Callable[..., Any], tmp_path: Path) -> Moved:
    template, saved, messages = (tmp_path / name for name in ("x.jinja", "x.json", "messages"))
    template.write_text(Path("fixtures/learning/chat-only.jinja").read_text("utf-8"), "utf-8")
    messages.write_text(MESSAGES)
    assert autoparser("analyze", template, "--format", "file", "-o", saved).code == 0
    return Moved(template, saved, messages)


@pytest.mark.parametrize("words", RENDERING, ids=[each[0] for each in RENDERING])
def test_the_template_is_used_where_it_still_is(
    words: tuple[str, ...], moved: Moved, autoparser: Callable[..., Any]
) -> None:
    ours = autoparser(*moved.command(words, moved.saved))
    theirs = autoparser(*moved.command(words, moved.template))
    assert (ours.code, ours.out, ours.err) == (theirs.code, theirs.out, theirs.err)
    assert ours.out


@pytest.mark.parametrize("words", RENDERING, ids=[each[0] for each in RENDERING])
def test_the_template_is_named_where_it_is_elsewhere(
    words: tuple[str, ...], moved: Moved, autoparser: Callable[..., Any]
) -> None:
    command = moved.command(words, moved.saved)
    elsewhere = moved.template.rename(moved.template.with_name("elsewhere"))
    refused = autoparser(*command)
    told = refused.err + refused.out
    assert refused.code == 2
    assert f"the template that it was learnt from, {moved.template}, is not here" in told
    assert "--template PATH" in told
    assert autoparser(*command, "--template", elsewhere).code == 0


@pytest.mark.parametrize("named", [(), ("--template", "{template}")], ids=len)
def test_another_text_is_not_taken_for_the_template(
    named: tuple[str, ...], moved: Moved, autoparser: Callable[..., Any]
) -> None:
    moved.template.write_text(moved.template.read_text("utf-8") + " ", "utf-8")
    more = [each.format(template=moved.template) for each in named]
    ran = autoparser("render", moved.saved, "--messages", moved.messages, *more)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert f"{moved.template} has changed since this was learnt from it" in ran.err


def test_a_template_beside_the_file_is_found_by_its_name(
    moved: Moved, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (moved.template, moved.saved):
        path.rename(folder / path.name)
    ran = autoparser("render", folder / moved.saved.name, "--messages", moved.messages)
    assert (ran.code, ran.err) == (0, "")


def test_it_is_rendered_with_the_special_tokens_of_then(
    tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    template, settings = tmp_path / "chat_template.jinja", tmp_path / "tokenizer_config.json"
    template.write_text("{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}")
    settings.write_text('{"bos_token": "<then>"}')
    saved, messages = tmp_path / "x.json", tmp_path / "messages"
    messages.write_text(MESSAGES)
    autoparser("analyze", tmp_path, "--format", "file", "-o", saved)
    settings.write_text('{"bos_token": "<now>"}')
    assert autoparser("render", saved, "--messages", messages).out == "<then>[Hi.]"


@pytest.mark.parametrize("command", ["lint", "roundtrip"])
def test_a_template_is_not_said_to_be_elsewhere(
    command: str, autoparser: Callable[..., Any]
) -> None:
    ran = autoparser(command, TEMPLATE, "--template", TEMPLATE)
    assert ran.code == 2
    assert "--template says where the template of a saved format is" in ran.err


def test_what_examples_showed_is_asked_of_the_template(
    moved: Moved, autoparser: Callable[..., Any]
) -> None:
    lint = ("lint", "--isolated", "--no-cache", "--select", "AP502", "--format")
    examples = "fixtures/learning/examples.yaml"
    learnt = moved.saved.with_name("learnt")
    made = autoparser("learn", moved.template, "--examples", examples, "-o", learnt)
    assert made.code == 0
    document = json.loads(autoparser(*lint, "json", learnt).out)["templates"][0]
    assert document["evidence"] == {
        "reasoning": "example",
        "content": "render",
        "calls": "example",
    }
    # The model calls, and nobody tells it which tools there are.
    (finding,) = document["findings"]
    assert (finding["code"], finding["rests_on"]) == ("AP502", {"calls": "example"})
    told = autoparser(*lint, "text", learnt).out
    assert "note not from renders: reasoning, tool calls: examples" in told

    document = json.loads(autoparser(*lint, "json", moved.template).out)["templates"][0]
    assert (document["evidence"], document["findings"]) == ({"content": "render"}, [])


def test_a_survey_has_a_row_for_a_format(
    moved: Moved, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    records = tmp_path / "records"
    survey = ("survey", "--jobs", "1", "--records", records)
    assert autoparser(*survey, moved.saved, moved.template).code == 0
    ours, theirs = (json.loads(each) for each in records.read_text().splitlines())
    assert ours["round_trip"] == theirs["round_trip"] != {}
    records.unlink()
    assert autoparser(*survey, moved.saved, "--reports", tmp_path / "pages").code == 0
    assert len(list((tmp_path / "pages").glob("*.html"))) == 2  # the index, and its page
    records.unlink()
    moved.template.unlink()
    formats = tmp_path / "formats"
    formats.mkdir()
    moved.saved.rename(formats / "x.format.json")
    assert autoparser(*survey, formats, "--lint").code == 0
    (alone,) = (json.loads(each) for each in records.read_text().splitlines())
    assert (alone["round_trip"], alone["findings"]) == ({}, None)
    assert alone["check"] == theirs["check"]


def test_a_log_is_read_without_the_template(
    moved: Moved, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    log = tmp_path / "log"
    prompt = autoparser("render", moved.saved, "--messages", moved.messages).out
    turns = [
        {"prompt": prompt, "completion": "Yes."},
        {"prompt": f"{prompt}No.", "completion": "Well."},
    ]
    log.write_text("".join(f"{json.dumps(each)}\n" for each in turns))
    theirs = autoparser("roundtrip", moved.template, "--log", log)
    moved.template.unlink()
    ours = autoparser("roundtrip", moved.saved, "--log", log)
    assert (ours.code, ours.out) == (theirs.code, theirs.out) == (0, theirs.out)


def test_formats_are_compared_in_every_form(
    saved: Path, moved: Moved, autoparser: Callable[..., Any]
) -> None:
    found = json.loads(autoparser("compare", saved, moved.saved, "--format", "json").out)
    schema = json.loads(Path("docs/compare.schema.json").read_text("utf-8"))
    jsonschema.validate(found, schema)
    assert (found["equal"], found["renders"], found["findings"]) == (False, None, None)
    names = [each["name"] for each in found["format"]]
    page = autoparser("compare", saved, moved.saved, "--format", "html").out
    table = autoparser("compare", saved, moved.saved, "--format", "markdown").out
    assert len(names) > 3
    assert not [each for each in names if each not in page]
    assert "Formats compared: they differ" in table
    assert table.count("| ") > len(names)
    same = autoparser("compare", saved, saved, "--format", "html")
    assert (same.code, "The formats are alike" in same.out) == (0, True)

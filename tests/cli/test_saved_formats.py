"""A saved format in the place of a template: what commands do with it, and what they refuse."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from .conftest import Run

TEMPLATE = "fixtures/templates/switch-thinking-three-ways.jinja"
OTHER = "fixtures/templates/switch-reasoning-effort.jinja"


def saved_format(autoparser: Run, template: str | Path, path: Path) -> Path:
    made = autoparser("analyze", template, "--format", "file", "-o", path)
    assert (made.code, made.out, made.err) == (0, "", "")
    return path


@pytest.fixture
def saved(autoparser: Run, tmp_path: Path) -> Path:
    return saved_format(autoparser, TEMPLATE, tmp_path / "model")


def test_a_format_that_is_saved_again_is_the_same(saved: Path, autoparser: Run) -> None:
    for form in (("--format", "file"), ("--json",)):
        assert autoparser("analyze", saved, *form).out == saved.read_text()


def test_the_report_of_a_format_is_that_of_its_template(saved: Path, autoparser: Run) -> None:
    ours, theirs = (autoparser("analyze", each, "--full") for each in (saved, TEMPLATE))
    assert ours.code == theirs.code == 0
    # Which parts of content a template takes is asked by renders, and so is all that was asked.
    shown = re.sub(r"^Parts .*\n(?: {14}.*\n)*", "", theirs.out, flags=re.MULTILINE)
    shown = re.sub(r"^What was asked\n(?: .*\n)*", "", shown, flags=re.MULTILINE)
    lacking = set(shown.splitlines()) - set(ours.out.splitlines())
    assert lacking == {"  --phase T3 shows the renders behind one, --diffs those behind all."}


USES = [
    ("parse", "--input", "TEXT", "--json"),
    ("parse", "--input", "TEXT", "--stream", "--json", "--switch", "enable_thinking=true"),
    ("grammar", "--format", "json"),
    ("grammar", "--accepts", "TEXT"),
    ("export", "--no-check"),
    ("analyze", "--show", "parser"),
]


@pytest.mark.parametrize("use", USES, ids=" ".join)
def test_a_format_does_what_its_template_does(
    use: tuple[str, ...], saved: Path, tmp_path: Path, autoparser: Run
) -> None:
    (tmp_path / "TEXT").write_text("<think>\nhm\n</think>\n\nHello<|end|>")
    name, *rest = (tmp_path / each if each == "TEXT" else each for each in use)
    ours, theirs = autoparser(name, saved, *rest), autoparser(name, TEMPLATE, *rest)
    assert (ours.code, ours.out) == (theirs.code, theirs.out)
    assert ours.out


def test_answers_are_judged_by_the_format_alone(saved: Path, autoparser: Run) -> None:
    ran = autoparser("decode", saved, "--walks", 2, "--json")
    assert json.loads(ran.out)["answers"] == 2
    assert "a saved format has no template that could judge the answers" in ran.err


def test_formats_are_compared_with_templates_and_formats_in_every_form(
    saved: Path, tmp_path: Path, autoparser: Run
) -> None:
    same = autoparser("compare", saved, TEMPLATE)
    assert same.code == 0
    assert "The formats are alike; they were learnt from the same text." in same.out
    other = saved_format(autoparser, OTHER, tmp_path / "other")
    ran = autoparser("compare", saved, other)
    assert ran.code == 1
    assert "They differ; they were learnt from different texts." in ran.out
    assert "+  <|plan|>" in ran.out
    found = json.loads(autoparser("compare", saved, other, "--format", "json").out)
    schema = json.loads(Path("docs/compare.schema.json").read_text("utf-8"))
    jsonschema.validate(found, schema)
    assert (found["equal"], found["renders"], found["findings"]) == (False, None, None)
    names = [each["name"] for each in found["format"]]
    page = html.unescape(autoparser("compare", saved, other, "--format", "html").out)
    table = autoparser("compare", saved, other, "--format", "markdown").out
    assert len(names) > 3
    assert not [each for each in names if each not in page]
    assert "Formats compared: they differ" in table
    assert table.count("| ") > len(names)
    refused = autoparser("compare", saved, other, "--switch", "a=1")
    assert "leave out --switch, or compare the templates" in refused.err


def test_a_page_is_made_of_a_format(saved: Path, autoparser: Run) -> None:
    page = autoparser("report", saved)
    assert page.code == 0
    assert "autoparser report on a saved format" in page.out
    assert "Ten turns" not in page.out


REFUSED = [
    (("analyze", "--phase", "T3"), "a saved format holds no renders"),
    (("export", "--check"), "the check takes renders, and a saved format has no template"),
    (("grammar", "--switch", "enable_thinking=7"), "enable_thinking=7 was not learnt"),
    (("parse", "--input", "README.md", "--name", "tool_use"), "--name is for templates"),
]


@pytest.mark.parametrize(("use", "words"), REFUSED)
def test_what_takes_the_template_is_refused_in_one_line(
    use: tuple[str, ...], words: str, saved: Path, autoparser: Run
) -> None:
    ran = autoparser(use[0], saved, *use[1:])
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert words in ran.err


def test_an_unknown_switch_of_a_format_is_warned_of(saved: Path, autoparser: Run) -> None:
    ran = autoparser("grammar", saved, "--switch", "enable_thinkin=true")
    words = "this saved format has no switch 'enable_thinkin'; did you mean enable_thinking?"
    assert words in ran.err


RENDERING = [
    ("render", "--messages", "MESSAGES"),
    ("roundtrip", "--scenario", "answer", "--json"),
    ("lint", "--isolated", "--no-cache", "--format", "concise"),
    ("fix", "--json"),
    ("learn", "--examples", "fixtures/learning/one.yaml"),
]


@dataclass(frozen=True)
class Moved:
    """A template in a file of its own, and the format that was learned from it."""

    template: Path
    saved: Path
    messages: Path

    def command(self, words: tuple[str, ...], source: Path) -> list[str | Path]:
        name, *rest = (self.messages if each == "MESSAGES" else each for each in words)
        return [name, source, *rest]


@pytest.fixture
def moved(autoparser: Run, tmp_path: Path) -> Moved:
    template, messages = tmp_path / "x.jinja", tmp_path / "messages"
    template.write_text(Path("fixtures/learning/chat-only.jinja").read_text("utf-8"), "utf-8")
    messages.write_text('[{"role": "user", "content": "Hi."}]')
    return Moved(template, saved_format(autoparser, template, tmp_path / "x.json"), messages)


@pytest.mark.parametrize("words", RENDERING, ids=[each[0] for each in RENDERING])
def test_the_template_is_used_where_it_was_and_named_where_it_is_elsewhere(
    words: tuple[str, ...], moved: Moved, autoparser: Run
) -> None:
    ours = autoparser(*moved.command(words, moved.saved))
    assert ours == autoparser(*moved.command(words, moved.template))
    assert ours.out
    elsewhere = moved.template.rename(moved.template.with_name("elsewhere"))
    refused = autoparser(*moved.command(words, moved.saved))
    assert refused.code == 2
    told = f"the template that it was learnt from, {moved.template}, is not here"
    assert told in refused.err + refused.out
    assert autoparser(*moved.command(words, moved.saved), "--template", elsewhere).code == 0


@pytest.mark.parametrize("more", [(), ("--template", "CHANGED")])
def test_a_template_that_has_changed_is_refused(
    more: tuple[str, ...], moved: Moved, autoparser: Run
) -> None:
    moved.template.write_text(moved.template.read_text("utf-8") + " ", "utf-8")
    named = [moved.template if each == "CHANGED" else each for each in more]
    ran = autoparser("render", moved.saved, "--messages", moved.messages, *named)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert f"{moved.template} has changed since this was learnt from it" in ran.err


def test_a_template_beside_the_format_is_found_by_its_name(
    moved: Moved, tmp_path: Path, autoparser: Run
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (moved.template, moved.saved):
        path.rename(folder / path.name)
    ran = autoparser("render", folder / moved.saved.name, "--messages", moved.messages)
    assert (ran.code, ran.err) == (0, "")


def test_a_template_is_rendered_with_the_special_tokens_of_then(
    tmp_path: Path, autoparser: Run
) -> None:
    template, settings = tmp_path / "chat_template.jinja", tmp_path / "tokenizer_config.json"
    template.write_text("{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}")
    settings.write_text('{"bos_token": "<then>"}')
    messages = tmp_path / "messages"
    messages.write_text('[{"role": "user", "content": "Hi."}]')
    saved = saved_format(autoparser, tmp_path, tmp_path / "x.json")
    settings.write_text('{"bos_token": "<now>"}')
    assert autoparser("render", saved, "--messages", messages).out == "<then>[Hi.]"


def test_what_examples_showed_is_asked_of_the_template(moved: Moved, autoparser: Run) -> None:
    lint = ("lint", "--isolated", "--no-cache", "--select", "AP502", "--format")
    learnt = moved.saved.with_name("learnt")
    examples = ("--examples", "fixtures/learning/examples.yaml")
    assert autoparser("learn", moved.template, *examples, "-o", learnt).code == 0
    document = json.loads(autoparser(*lint, "json", learnt).out)["templates"][0]
    evidence = {"reasoning": "example", "content": "render", "calls": "example"}
    assert document["evidence"] == evidence
    # The model calls, and nobody tells it which tools there are.
    (finding,) = document["findings"]
    assert (finding["code"], finding["rests_on"]) == ("AP502", {"calls": "example"})
    told = autoparser(*lint, "text", learnt).out
    assert "note not from renders: reasoning, tool calls: examples" in told
    document = json.loads(autoparser(*lint, "json", moved.template).out)["templates"][0]
    assert (document["evidence"], document["findings"]) == ({"content": "render"}, [])


def test_a_survey_has_a_row_and_a_page_for_a_format(
    moved: Moved, tmp_path: Path, autoparser: Run
) -> None:
    records, pages = tmp_path / "records", tmp_path / "pages"
    survey = ("survey", "--jobs", "1", "--records", records)
    assert autoparser(*survey, moved.saved, moved.template).code == 0
    ours, theirs = (json.loads(each) for each in records.read_text().splitlines())
    assert ours["round_trip"] == theirs["round_trip"] != {}
    records.unlink()
    assert autoparser(*survey, moved.saved, "--reports", pages).code == 0
    assert len(list(pages.glob("*.html"))) == 2, "the index, and its page"
    records.unlink()
    moved.template.unlink()
    formats = tmp_path / "formats"
    formats.mkdir()
    moved.saved.rename(formats / "x.format.json")
    assert autoparser(*survey, formats, "--lint").code == 0
    (alone,) = (json.loads(each) for each in records.read_text().splitlines())
    assert (alone["round_trip"], alone["findings"]) == ({}, None)
    assert alone["check"] == theirs["check"]


def test_a_log_is_read_without_the_template(moved: Moved, tmp_path: Path, autoparser: Run) -> None:
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
    assert (ours.code, ours.out) == (0, theirs.out)

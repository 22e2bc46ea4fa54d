"""A saved format whose template is needed: found where it was or is named; more is in `uses/`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from .conftest import Ran, Run

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

    autoparser: Run
    folder: Path

    def run(self, *words: str | Path) -> Ran:
        return self.autoparser(*(self.folder / each if each in NAMES else each for each in words))


NAMES = ("x.jinja", "x.json", "MESSAGES", "elsewhere", "learned", "log")


@pytest.fixture
def moved(autoparser: Run, tmp_path: Path) -> Moved:
    text = Path("fixtures/learning/chat-only.jinja").read_text("utf-8")
    (tmp_path / "x.jinja").write_text(text, "utf-8")
    (tmp_path / "MESSAGES").write_text('[{"role": "user", "content": "Hi."}]')
    made = Moved(autoparser, tmp_path)
    assert made.run("analyze", "x.jinja", "--format", "file", "-o", "x.json") == Ran(0, "", "")
    return made


@pytest.mark.parametrize("words", RENDERING, ids=[each[0] for each in RENDERING])
def test_the_template_is_used_where_it_was_and_named_where_it_is_elsewhere(
    words: tuple[str, ...], moved: Moved
) -> None:
    name, *rest = words
    ours = moved.run(name, "x.json", *rest)
    assert ours == moved.run(name, "x.jinja", *rest)
    assert ours.out
    template = moved.folder / "x.jinja"
    template.rename(moved.folder / "elsewhere")
    refused = moved.run(name, "x.json", *rest)
    assert refused.code == 2
    told = f"the template that it was learned from, {template}, is not here"
    assert told in refused.err + refused.out
    assert moved.run(name, "x.json", *rest, "--template", "elsewhere").code == 0


@pytest.mark.parametrize("named", [(), ("--template", "x.jinja")])
def test_a_template_that_has_changed_is_refused(named: tuple[str, ...], moved: Moved) -> None:
    template = moved.folder / "x.jinja"
    template.write_text(template.read_text("utf-8") + " ", "utf-8")
    ran = moved.run("render", "x.json", "--messages", "MESSAGES", *named)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert f"{template} has changed since this was learned from it" in ran.err


def test_a_template_beside_the_format_is_found_by_its_name(moved: Moved, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("x.jinja", "x.json"):
        (tmp_path / name).rename(folder / name)
    ran = moved.run("render", folder / "x.json", "--messages", "MESSAGES")
    assert (ran.code, ran.err) == (0, "")


def test_a_template_is_rendered_with_the_special_tokens_of_then(
    tmp_path: Path, autoparser: Run
) -> None:
    template, settings = tmp_path / "chat_template.jinja", tmp_path / "tokenizer_config.json"
    template.write_text("{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}")
    settings.write_text('{"bos_token": "<then>"}')
    saved = tmp_path / "x.json"
    autoparser("analyze", tmp_path, "--format", "file", "-o", saved)
    settings.write_text('{"bos_token": "<now>"}')
    question = ("--messages", "fixtures/debugging/question.yaml")
    assert autoparser("render", saved, *question).out.startswith("<then>[")


def test_a_format_from_before_the_usual_form_was_asked_is_read(
    tmp_path: Path, autoparser: Run
) -> None:
    template, saved = tmp_path / "spoiled.jinja", tmp_path / "x.json"
    table = yaml.safe_load(Path("fixtures/usual_form.yaml").read_text("utf-8"))
    template.write_text(table["arguments reversed"]["template"])
    autoparser("analyze", template, "--format", "file", "-o", saved)
    document = json.loads(saved.read_text("ascii"))
    for check in document["checks"]:
        del check["forms"]
    document["gate"]["faults"] = []
    del document["gate"]["usual_asked"], document["gate"]["usual_passed"]
    saved.write_text(json.dumps(document), "ascii")
    ran = autoparser("analyze", saved)
    assert ran.code == 0
    assert "It wants   arguments as JSON text\n" in ran.out


def test_what_examples_showed_is_asked_of_the_template(moved: Moved) -> None:
    lint = ("lint", "--isolated", "--no-cache", "--select", "AP502", "--format")
    examples = ("--examples", "fixtures/learning/examples.yaml")
    assert moved.run("learn", "x.jinja", *examples, "-o", "learned").code == 0
    document = json.loads(moved.run(*lint, "json", "learned").out)["templates"][0]
    evidence = {"reasoning": "example", "content": "render", "calls": "example"}
    assert document["evidence"] == evidence
    # The model calls, and nobody tells it which tools there are.
    (finding,) = document["findings"]
    assert (finding["code"], finding["rests_on"]) == ("AP502", {"calls": "example"})
    told = moved.run(*lint, "text", "learned").out
    assert "note not from renders: reasoning, tool calls: examples" in told
    document = json.loads(moved.run(*lint, "json", "x.jinja").out)["templates"][0]
    assert (document["evidence"], document["findings"]) == ({"content": "render"}, [])


def test_a_log_is_read_and_a_survey_has_a_row_without_the_template(moved: Moved) -> None:
    prompt = moved.run("render", "x.json", "--messages", "MESSAGES").out
    turns = [
        {"prompt": prompt, "completion": "Yes."},
        {"prompt": f"{prompt}No.", "completion": "Well."},
    ]
    (moved.folder / "log").write_text("".join(f"{json.dumps(each)}\n" for each in turns))
    theirs = moved.run("roundtrip", "x.jinja", "--log", "log")
    (moved.folder / "x.jinja").unlink()
    ours = moved.run("roundtrip", "x.json", "--log", "log")
    assert (ours.code, ours.out) == (0, theirs.out)
    formats, records = moved.folder / "formats", moved.folder / "records"
    formats.mkdir()
    (moved.folder / "x.json").rename(formats / "x.format.json")
    survey = ("survey", "--jobs", "1", "--records", records, formats, "--lint")
    assert moved.run(*survey).code == 0
    (alone,) = (json.loads(each) for each in records.read_text().splitlines())
    assert (alone["round_trip"], alone["findings"]) == ({}, None)

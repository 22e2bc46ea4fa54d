"""Saved formats and documents: kept values, refusals, equal results without Jinja, valid JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser import AutoparserError, ChatTemplate, analyze, load_format, load_template
from autoparser.analysis.core.documents import plain_json
from autoparser.analysis.formats.saved_format import template_of_format
from autoparser.analysis.teaching.taught_analysis import with_saved
from autoparser.errors import TemplateNeededError
from autoparser.formats import analysis_document
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import TEMPLATES, analyzed

from .behavior import ROOT, differing

TABLE = case_tables(__file__, "saved.yaml")
SWITCHED = "switch-thinking-three-ways"
NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
PLAIN = load_cases(__file__, "saved.yaml")["plain"]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_saved_formats_work_without_jinja(share: int, tmp_path: Path) -> None:
    wrong, counts = differing({name: analyzed(name) for name in NAMES[share::32]}, tmp_path)
    assert not any(wrong.values()), wrong
    assert all(counts.values())


@pytest.mark.parametrize("name", [SWITCHED, "calls-in-prompt-words", "a4-type-flags"])
def test_saved_format_keeps_all_but_renders_and_resaves_identically(
    name: str, tmp_path: Path
) -> None:
    analysis, file = analyzed(name), tmp_path / "a.json"
    analysis.save(file)
    saved = load_format(file)
    for part in ("formats", "view", "checks", "gate", "switches", "shape", "stand_ins", "ok"):
        assert getattr(saved, part) == getattr(analysis, part), part
    assert saved.format.evidence == analysis.format.evidence
    assert (saved.sha256, saved.characters) == (analysis.sha256, len(analysis.template.text))
    assert analysis.template.text not in file.read_text()
    phases, own = (
        [(phase.phase, phase.conclusion, phase.kind) for phase in learned.phases]
        for learned in (saved, analysis)
    )
    assert phases == own
    saved.save(tmp_path / "b.json")
    assert file.read_bytes() == (tmp_path / "b.json").read_bytes()


def test_unlearned_setting_is_refused(tmp_path: Path) -> None:
    analysis = analyzed(SWITCHED)
    analysis.save(tmp_path / "a.json")
    saved = load_format(tmp_path / "a.json")
    assert saved.under({"enable_thinking": True}) == analysis.under({"enable_thinking": True})
    new = {"enable_thinking": "entirely new"}
    assert analysis.under(new).opening is not None
    with pytest.raises(TemplateNeededError) as caught:
        saved.parser(chat_template_kwargs=new)
    words = str(caught.value)
    assert 'the format of turns with enable_thinking="entirely new" was not learned' in words
    assert f"autoparser analyze {analysis.template.origin} --format file -o {tmp_path}" in words


def saved_file(folder: Path, change: str = "renders", value: object = 5) -> Path:
    """Save a format and change one place of the file, named by its path."""
    analyze(ChatTemplate(PLAIN)).save(folder / "a.json")
    whole: Any = json.loads((folder / "a.json").read_text())
    *path, last = [int(part) if part.isdecimal() else part for part in change.split(".")]
    at = whole
    for part in path:
        at = at[part]
    at[last] = value
    if value is None:
        del at[last]
    (folder / "a.json").write_text(json.dumps(whole))
    return folder / "a.json"


@pytest.mark.parametrize("name", ["turns", "prober", "rendering", "continuations", "trials"])
def test_methods_that_render_raise_on_a_saved_format(name: str, tmp_path: Path) -> None:
    saved = load_format(saved_file(tmp_path))
    with pytest.raises(TemplateNeededError, match=f"{name} needs renders, and a saved format has"):
        getattr(saved, name)
    assert not hasattr(saved, "nobody_asks_this")


@TABLE("refused")
def test_file_without_a_saved_format_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if case["text"] is not None:
        path.write_text(case["text"])
    with pytest.raises(AutoparserError) as caught:
        load_format(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert case["words"] in str(caught.value)


@TABLE("broken")
def test_broken_format_file_names_the_place(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(AutoparserError) as caught:
        load_format(saved_file(tmp_path, case["place"], case["value"]))
    assert case["words"] in str(caught.value)
    assert "make it again: autoparser analyze TEMPLATE --format file" in str(caught.value)


def test_saved_format_with_its_template_has_the_same_gate(tmp_path: Path) -> None:
    text = (ROOT / "fixtures" / "learning" / "chat-only.jinja").read_text("utf-8")
    template = tmp_path / "x.jinja"
    template.write_text(text, "utf-8")
    analysis = analyze(load_template(template))
    analysis.save(tmp_path / "x.json")
    saved = load_format(tmp_path / "x.json")
    again = with_saved(analyze(template_of_format(saved)), saved)
    assert again.gate == analysis.gate
    assert again.gate.asked
    template.write_text(f"{text} ", "utf-8")
    with pytest.raises(
        TemplateNeededError, match="has changed since the format was learned from it"
    ):
        template_of_format(saved)


DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = json.loads((DOCS / "analysis.schema.json").read_text("utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fixture_documents_fit_the_schema(name: str) -> None:
    analysis = analyzed(name)
    whole: dict[str, Any] = json.loads(json.dumps(analysis.to_dict(), allow_nan=False))
    Draft202012Validator(SCHEMA).validate(whole)
    assert {**whole, "parser": None} == {
        **json.loads(json.dumps(analysis_document(analysis))),
        "parser": None,
    }
    assert (whole["parser"]["calls"] is None) is (analysis.format.calls is None)
    for phase in whole["phases"]:
        for evidence in phase["evidence"]:
            split = evidence["split"]
            for side in ("left", "right"):
                text = split["prefix"] + split[side] + split["suffix"]
                assert text == (evidence[side]["text"] or "")


def test_evidence_messages_render_to_its_text() -> None:
    analysis = analyzed("j1-json-in-tags")
    evidence: Any = analysis_document(analysis)
    evidence = evidence["phases"][0]["evidence"][0]["right"]
    assert not evidence["add_generation_prompt"]
    text = analysis.template.render(evidence["messages"], **evidence["setting"])
    # The tools come before the conversation.
    assert evidence["text"].endswith(text[text.index("user") :])


def test_infinity_is_written_as_a_string() -> None:
    assert plain_json({"weights": [float("inf"), 0.5]}) == {"weights": ["inf", 0.5]}

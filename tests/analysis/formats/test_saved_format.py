"""What a saved format keeps, what it refuses, and what is said of files that are none."""

from __future__ import annotations

import doctest
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from autoparser import (
    AutoparserError,
    ChatTemplate,
    TemplateNeededError,
    analyze,
    load_format,
    load_template,
)
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.formats.format_template import template_of_format
from autoparser.analysis.teaching.taught_analysis import with_saved

from .asking import ROOT

TEMPLATES = ROOT / "fixtures" / "templates"
PLAIN = (
    "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}</u>"
    "{% elif m.role == 'assistant' %}<a>{{ m.content }}</a>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)


def test_all_but_the_renders_is_kept(tmp_path: Path) -> None:
    template = load_template(TEMPLATES / "switch-thinking-three-ways.jinja")
    analysis = analyze(template)
    analysis.save(tmp_path / "a.json")
    saved = load_format(tmp_path / "a.json")
    for name in ("formats", "view", "checks", "gate", "switches", "shape", "stand_ins", "ok"):
        assert getattr(saved, name) == getattr(analysis, name), name
    assert saved.template.sha256 == hashlib.sha256(template.text.encode()).hexdigest()
    assert template.text not in (tmp_path / "a.json").read_text()
    told = [(each.phase, each.conclusion, each.kind) for each in saved.phases]
    assert told == [(each.phase, each.conclusion, each.kind) for each in analysis.phases]


def test_what_is_saved_again_is_the_same_file(tmp_path: Path) -> None:
    for path in sorted(TEMPLATES.glob("*.jinja"))[::30]:
        analyze(load_template(path)).save(tmp_path / "a.json")
        load_format(tmp_path / "a.json").save(tmp_path / "b.json")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_setting_that_was_not_tried_is_refused(tmp_path: Path) -> None:
    analysis = analyze(load_template(TEMPLATES / "switch-thinking-three-ways.jinja"))
    analysis.save(tmp_path / "a.json")
    saved = load_format(tmp_path / "a.json")
    assert saved.under({"enable_thinking": True}) == analysis.under({"enable_thinking": True})
    new = {"enable_thinking": "entirely new"}
    assert analysis.under(new).opening is not None
    with pytest.raises(TemplateNeededError) as caught:
        saved.parser(chat_template_kwargs=new)
    words = str(caught.value)
    assert 'how turns are written with enable_thinking="entirely new" was not learnt' in words
    assert f"autoparser analyze {analysis.template.origin} --format file -o {tmp_path}" in words


@pytest.mark.parametrize("name", ["turns", "prober", "rendering", "continuations", "trials"])
def test_what_takes_renders_says_so(name: str, tmp_path: Path) -> None:
    analyze(ChatTemplate(PLAIN)).save(tmp_path / "a.json")
    saved = load_format(tmp_path / "a.json")
    with pytest.raises(TemplateNeededError, match=f"{name} takes renders, and a saved format has"):
        getattr(saved, name)
    assert not hasattr(saved, "nobody_asks_this")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1, column 2: broken JSON"),
        ("[]", "this is no saved format; pass a file whose schema is autoparser.format/1"),
        ('{"chat_template": ""}', "this is no saved format"),
        ('{"schema": "autoparser.format/9"}', "schema: this is autoparser.format/9"),
        ('{"schema": "autoparser.format/1"}', "this has no template"),
    ],
)
def test_a_file_that_is_none(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(AutoparserError) as caught:
        load_format(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def _changed(folder: Path, change: str, value: object) -> Path:
    """Save a format and change one place of the file, named by its path."""
    analyze(ChatTemplate(PLAIN)).save(folder / "a.json")
    whole: Any = json.loads((folder / "a.json").read_text())
    *path, last = [int(part) if part.isdecimal() else part for part in change.split(".")]
    at = whole
    for part in path:
        at = at[part]
    at[last] = value
    (folder / "a.json").write_text(json.dumps(whole))
    return folder / "a.json"


@pytest.mark.parametrize(
    ("change", "value", "words"),
    [
        ("formats.0.header", 5, "formats[0].header: this is a number"),
        ("formats.0.argument_form", "objekt", "formats[0].argument_form"),
        ("fullest", 7, "fullest is 7, and there are"),
        ("checks", [], "checks: this is empty"),
        ("formats.0.layouts.0.literals", ["a", "b", "c", "d", "e"], "one literal more than parts"),
        ("more", 1, "more: there is no key 'more'"),
    ],
)
def test_a_broken_file_says_where(change: str, value: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(AutoparserError) as caught:
        load_format(_changed(tmp_path, change, value))
    assert words in str(caught.value)
    assert "make it again: autoparser analyze TEMPLATE --format file" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AutoparserError, match="cannot read the file"):
        load_format(tmp_path / "none.json")


def test_each_part_has_its_kind_of_evidence(tmp_path: Path) -> None:
    analyze(load_template(TEMPLATES / "calls-in-prompt-words.jinja")).save(tmp_path / "a.json")
    evidence = load_format(tmp_path / "a.json").format.evidence
    assert evidence[TurnPart.CALLS] is EvidenceKind.WORDS
    assert evidence[TurnPart.CONTENT] is EvidenceKind.RENDER


def test_the_page_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "format-files.md").read_text("utf-8")
    code = "\n".join(re.findall(r"```pycon\n([\s\S]+?)```", page))
    test = doctest.DocTestParser().get_doctest(code, {}, "format-files.md", None, 0)
    told: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed
    assert test.examples
    assert not failed, "".join(told)


def test_a_format_at_its_template_has_the_gate_of_the_analysis(tmp_path: Path) -> None:
    text = (ROOT / "fixtures" / "learning" / "chat-only.jinja").read_text("utf-8")
    template = tmp_path / "x.jinja"
    template.write_text(text, "utf-8")
    analysis = analyze(load_template(template))
    analysis.save(tmp_path / "x.json")
    saved = load_format(tmp_path / "x.json")
    again = with_saved(analyze(template_of_format(saved)), saved)
    assert again.gate == analysis.gate
    assert again.gate.asked

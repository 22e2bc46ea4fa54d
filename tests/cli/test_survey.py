"""The command survey: its table, the file that it goes on from, wrong uses."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
NAMES = ("content-plain", "j1-json-in-tags", "reasoning-none")

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(ROOT / "fixtures" / "templates" / f"{name}.jinja", folder)
    shutil.copy(ROOT / "fixtures" / "broken" / "raises-always.jinja", folder)
    return folder


@pytest.mark.parametrize("width", ["80", "120"])
def test_the_table_is_as_it_was(
    width: str, corpus: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    ran = autoparser("survey", corpus, "--jobs", "1")
    assert (ran.code, ran.err) == (0, "")
    path = SNAPSHOTS / f"survey-{width}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")
    assert all(len(line) <= int(width) for line in ran.out.splitlines())


def test_a_survey_goes_on_where_it_was(corpus: Path, tmp_path: Path, autoparser: Run) -> None:
    kept = tmp_path / "survey.jsonl"
    first = autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    whole = kept.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 4

    # Half of the last line, and the one before it: as if it was interrupted.
    kept.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    again = autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    assert again.err == f"2 of 4 were surveyed before, see {kept}\n"
    assert kept.read_bytes() == whole
    assert again.out == first.out

    third = autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    assert third.err.startswith("4 of 4")
    assert kept.read_bytes() == whole


def test_what_was_changed_is_looked_at_again(corpus: Path, tmp_path: Path, autoparser: Run) -> None:
    kept = tmp_path / "survey.jsonl"
    autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    changed = corpus / "content-plain.jinja"
    changed.write_text(changed.read_text("utf-8") + "{# changed #}", encoding="utf-8")
    ran = autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    assert ran.err.startswith("3 of 4")
    sources = [json.loads(line)["source"] for line in kept.read_text("utf-8").splitlines()]
    assert sources.count(str(changed)) == 2


def test_a_page_is_written(corpus: Path, tmp_path: Path, autoparser: Run) -> None:
    page = tmp_path / "survey.html"
    assert autoparser("survey", corpus, "--format", "html", "-o", page, "--jobs", "1").code == 0
    text = page.read_text(encoding="utf-8")
    assert "<h1>4 templates</h1>" in text
    assert "raises on every conversation" in text


def test_findings_are_counted_where_that_is_asked(
    corpus: Path, tmp_path: Path, autoparser: Run
) -> None:
    kept = tmp_path / "survey.jsonl"
    autoparser("survey", corpus, "--records", kept, "--jobs", "1")
    assert {json.loads(line)["findings"] for line in kept.read_text("utf-8").splitlines()} == {None}
    # What was not asked before is asked now; what cannot be analysed is known already.
    again = autoparser("survey", corpus, "--records", kept, "--lint", "--jobs", "1")
    assert again.err.startswith("1 of 4")
    lines = [json.loads(line) for line in kept.read_text("utf-8").splitlines()][4:]
    assert len(lines) == 3
    for line in lines:
        ran = autoparser("lint", line["source"], "--profile", "strict", "-f", "json", "--exit-zero")
        (linted,) = json.loads(ran.out)["templates"]
        found = Counter(each["severity"] for each in linted["findings"])
        assert {name: count for name, count in line["findings"].items() if count} == found


def test_reports_lie_beside_the_page_that_links_them(
    corpus: Path, tmp_path: Path, autoparser: Run
) -> None:
    shutil.copy(corpus / "content-plain.jinja", corpus / "Content plain!.jinja")
    kept, folder = tmp_path / "survey.jsonl", tmp_path / "new" / "reports"
    use = ("survey", corpus, "--records", kept, "--reports", folder, "--jobs", "1")
    ran = autoparser(*use)
    assert (ran.code, ran.err) == (0, f"the reports begin with {folder / 'index.html'}\n")
    index = (folder / "index.html").read_text("utf-8")
    linked = re.findall(r'<a href="([^"#]+)">([^<]+)</a>', index)
    assert {name for _, name in linked} == {
        "Content plain!.jinja",
        *(f"{name}.jinja" for name in NAMES),
    }
    assert {page for page, _ in linked} == {each.name for each in folder.iterdir()} - {"index.html"}
    for page, name in linked:
        text = (folder / page).read_text("utf-8")
        assert f"<h1>{name}</h1>" in text
        assert '<a href="index.html">' in text
    # A page that is lost is written again, and no other.
    lost = folder / linked[0][0]
    whole = lost.read_text("utf-8")
    lost.unlink()
    assert autoparser(*use).err.startswith("4 of 5")
    assert lost.read_text("utf-8") == whole


@pytest.mark.slow
def test_two_processes_say_the_same(corpus: Path, autoparser: Run) -> None:
    one = autoparser("survey", corpus, "--jobs", "1")
    assert autoparser("survey", corpus, "--jobs", "2").out == one.out


def test_wrong_uses(corpus: Path, tmp_path: Path, autoparser: Run) -> None:
    note = tmp_path / "note.txt"
    note.write_text("mine\n", encoding="utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    uses: list[tuple[tuple[object, ...], str]] = [
        ((), "Missing argument"),
        ((tmp_path / "nowhere",), "there is no file or directory"),
        ((empty,), "there is no template in this directory"),
        ((corpus, "--records", note), "line 1: this is not a line of a survey"),
        ((corpus, "--records", tmp_path / "no" / "s.jsonl"), "cannot be written"),
        ((corpus, "-o", "x", "--records", "x"), "name the same file"),
        ((corpus, "--reports", note), "cannot be written"),
        ((corpus, "--reports", "x", "-f", "html"), "--reports writes the page itself"),
        ((corpus, "--jobs", "0"), "Invalid value for '--jobs'"),
    ]
    for arguments, words in uses:
        ran = autoparser("survey", *arguments)
        assert (ran.code, ran.out) == (2, ""), arguments
        assert words in ran.err
        assert ran.err.count("\n") == 1
    assert note.read_text("utf-8") == "mine\n"

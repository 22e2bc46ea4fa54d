"""The command survey: resuming from its file, and its pages; refusals are in `uses/`."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.overview import survey

from .conftest import ROOT, Run

NAMES = ("content-plain", "reasoning-none")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in NAMES:
        shutil.copy(ROOT / "fixtures" / "templates" / f"{name}.jinja", folder)
    shutil.copy(ROOT / "fixtures" / "broken" / "raises-always.jinja", folder)
    return folder


def records_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_interrupted_survey_resumes_and_repeats_changed_templates(
    corpus: Path, tmp_path: Path, autoparser: Run
) -> None:
    kept = tmp_path / "survey.jsonl"
    use = ("survey", corpus, "--records", kept, "--jobs", "1")
    first = autoparser(*use)
    whole = kept.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 3
    # Half of the last line, as if the run had been interrupted.
    kept.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    again = autoparser(*use)
    assert (again.err, again.out) == (
        f"2 of 3 templates were surveyed before, see {kept}\n",
        first.out,
    )
    assert kept.read_bytes() == whole
    assert autoparser(*use).err.startswith("3 of 3")
    assert kept.read_bytes() == whole
    changed = corpus / "content-plain.jinja"
    changed.write_text(changed.read_text("utf-8") + "{# changed #}", encoding="utf-8")
    assert autoparser(*use).err.startswith("2 of 3")
    assert [record["source"] for record in records_of(kept)].count(str(changed)) == 2


@pytest.fixture
def looked(recorded: Any) -> list[Any]:
    """Return the sources that were analyzed."""
    found: list[Any] = recorded(survey, "surveyed_format")
    return found


def test_equal_templates_are_surveyed_once(
    corpus: Path, tmp_path: Path, autoparser: Run, looked: list[Any]
) -> None:
    for number in range(9):
        shutil.copy(corpus / "content-plain.jinja", corpus / f"copy-{number}.jinja")
    kept = tmp_path / "survey.jsonl"
    use = ("survey", corpus, "--records", kept, "--jobs", "1")
    assert autoparser(*use).out.startswith("12 templates, 11 analyzed")
    names = sorted(Path(source).name for (source,) in looked)
    assert names == ["content-plain.jinja", "raises-always.jinja", "reasoning-none.jinja"]
    assert [record["source"] for record in records_of(kept)] == sorted(map(str, corpus.iterdir()))
    # The same texts in another folder are known, but get their own lines.
    moved = shutil.copytree(corpus, tmp_path / "moved")
    ran = autoparser("survey", moved, kept, "--records", tmp_path / "more.jsonl", "--jobs", "1")
    assert (len(looked), ran.err) == (
        3,
        f"12 of 12 templates were surveyed before, see {tmp_path / 'more.jsonl'}\n",
    )
    assert ran.out.startswith("24 templates, 22 analyzed")
    assert {record["source"] for record in records_of(tmp_path / "more.jsonl")} == {
        *map(str, Path(moved).iterdir())
    }


def test_survey_shards_split_texts_and_join_to_the_whole_summary(
    corpus: Path, tmp_path: Path, autoparser: Run, looked: list[Any]
) -> None:
    for name in NAMES:
        shutil.copy(corpus / f"{name}.jinja", corpus / f"copy-of-{name}.jinja")
    whole = autoparser("survey", corpus, "--jobs", "1").out
    assert len(looked) == 3
    shares = [tmp_path / f"{number}.jsonl" for number in (1, 2, 3)]
    for number, share in enumerate(shares, 1):
        use = ("survey", corpus, "--shard", f"{number}/3", "--records", share, "--jobs", "1")
        assert autoparser(*use).code == 0
    texts = [{record["sha256"] for record in records_of(share)} for share in shares]
    assert sum(map(len, texts)) == len(set().union(*texts)) == 3
    assert len(looked) == 6
    assert autoparser("survey", *shares).out == whole
    assert len(looked) == 6


def test_models_can_be_listed_in_a_file(corpus: Path, tmp_path: Path, autoparser: Run) -> None:
    names = tmp_path / "names.txt"
    named = corpus / "content-plain.jinja"
    names.write_text(f"{named}  # the first\n\n{corpus / 'nowhere.jinja'}\n{named}\n", "utf-8")
    ran = autoparser("survey", "--models", names, "--jobs", "1")
    assert (ran.code, ran.out.splitlines()[0][:24]) == (0, "2 templates, 1 analyzed,")
    assert "nowhere.jinja no such file" in " ".join(ran.out.split())


def test_survey_adds_missing_lint_findings_later(
    corpus: Path, tmp_path: Path, autoparser: Run
) -> None:
    kept = tmp_path / "survey.jsonl"
    use = ("survey", corpus, "--records", kept, "--jobs", "1")
    autoparser(*use)
    assert {entry["findings"] for entry in records_of(kept)} == {None}
    # The record of the template that cannot be analyzed needs no lint to be complete.
    assert autoparser(*use, "--lint").err.startswith("1 of 3")
    for record in records_of(kept)[3:]:
        lint = ("lint", str(record["source"]), "--profile", "strict", "-f", "json", "--exit-zero")
        (linted,) = json.loads(autoparser(*lint).out)["templates"]
        counts = record["findings"]
        assert isinstance(counts, dict)
        found = Counter(finding["severity"] for finding in linted["findings"])
        assert {name: count for name, count in counts.items() if count} == found


@pytest.mark.slow
def test_survey_reports_are_next_to_their_index(
    corpus: Path, tmp_path: Path, autoparser: Run
) -> None:
    shutil.copy(corpus / "content-plain.jinja", corpus / "Content plain!.jinja")
    kept, folder = tmp_path / "survey.jsonl", tmp_path / "new" / "reports"
    use = ("survey", corpus, "--records", kept, "--reports", folder, "--jobs", "1")
    ran = autoparser(*use)
    assert (ran.code, ran.err) == (0, f"Open {folder / 'index.html'}\n")
    index = (folder / "index.html").read_text("utf-8")
    linked = re.findall(r'<a href="([^"#]+)">([^<]+)</a>', index)
    names = {"Content plain!.jinja", *(f"{name}.jinja" for name in NAMES)}
    assert {name for _, name in linked} == names
    assert {page for page, _ in linked} == {path.name for path in folder.iterdir()} - {"index.html"}
    for page, name in linked:
        text = (folder / page).read_text("utf-8")
        # A copy has the page of the first file with its text.
        first = name.replace("content-plain", "Content plain!")
        assert f"<h1>{first}</h1>" in text
        assert '<a href="index.html">' in text
    # Only a lost or truncated page is written again.
    lost = folder / next(page for page, name in linked if name == "reasoning-none.jinja")
    whole = lost.read_text("utf-8")
    for spoil in (lost.unlink, lambda: lost.write_text(whole[:-1], "utf-8")):
        spoil()
        assert autoparser(*use).err.startswith("3 of 4")
        assert lost.read_text("utf-8") == whole

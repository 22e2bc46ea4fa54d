"""Each row of the table of corners in docs/lint.md: its template, and the words that name it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from .conftest import ROOT, Run

BUGS = "tests/analysis/lint/planted/bugs.yaml"
USUAL = "fixtures/usual_form.yaml"
TABLE = yaml.safe_load(Path(__file__).with_name("corners.yaml").read_text("utf-8"))
SOUND = str(TABLE["sound"])


def rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "docs" / "lint.md").read_text("utf-8")
    table = text.split("## At the edges")[1].split("\n## ")[0]
    return re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)` \|$", table, re.MULTILINE)


def template_of(what: str) -> str:
    """Return the template of a row."""
    if what.startswith("a variable"):
        return SOUND.replace("HEAD", "tone == 'grave'").replace("NUMBER", "''")
    if what.startswith("calls numbered"):
        return SOUND.replace("HEAD", "false").replace("NUMBER", "calls.count")
    if what.startswith("arguments reversed"):
        known = yaml.safe_load((ROOT / USUAL).read_text("utf-8"))
        return str(known["arguments reversed"]["template"])
    kind = TABLE["kinds"].get(what, what)
    bugs = yaml.safe_load((ROOT / BUGS).read_text("utf-8"))
    (bug,) = (each for each in bugs if each["kind"] == kind)
    host = (ROOT / "fixtures" / "templates" / f"{bug['in']}.jinja").read_text("utf-8")
    assert host.count(bug["replace"]) == 1
    return host.replace(bug["replace"], bug["with"])


@pytest.mark.parametrize(
    ("what", "by", "words"),
    [
        pytest.param(*row, id=row[0], marks=pytest.mark.slow if at % 4 else ())
        for at, row in enumerate(rows())
    ],
)
def test_a_corner_is_named_as_the_table_says(
    autoparser: Run, tmp_path: Path, what: str, by: str, words: str
) -> None:
    path = tmp_path / "corner.jinja"
    path.write_text(template_of(what), "utf-8")
    asked = by.split(", ")
    for code in asked[: -1 if asked[-1] == "analyze" else None]:
        found = autoparser("lint", path, "--isolated", "--select", code, "--format", "concise")
        assert any(f"{code} [" in line and words in line for line in found.out.splitlines())
    if asked[-1] == "analyze":
        shown = " ".join(autoparser("analyze", path).out.split())
        if words not in shown:
            shown = " ".join(autoparser("analyze", path, "--show", "faults").out.split())
        assert words in shown


def test_there_are_sixteen() -> None:
    assert len(rows()) == 16

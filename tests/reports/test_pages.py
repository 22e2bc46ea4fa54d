"""Whole pages: their sections, their tags, their links, and what a hostile template becomes."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from autoparser import ChatTemplate, analyze, load_template
from autoparser.analysis.formats.format_view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.learning.template_turns import QUESTION
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.overview.comparison import compare_templates
from autoparser.analysis.overview.portrait import portray_template, switch_views
from autoparser.analysis.overview.survey import SURVEY, SurveyCheck, SurveyRecord, summary_of
from autoparser.reports import comparison_page, report_page, survey_page
from tests.analysis.history.vocabularies import tiny
from tests.fixture_analyses import analysed

from .hostile import hostile

FOLDER = Path(__file__).parents[2] / "fixtures" / "templates"
NAMES = (
    "history-last-query",
    "j1-json-in-tags",
    "calls-in-prompt-words",
    "t8-recipient-lines",
    "calls-two-raise",
    "reasoning-cut-from-content",
)
TAGS = frozenset(
    [
        "a",
        "b",
        "body",
        "br",
        "caption",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "head",
        "header",
        "html",
        "i",
        "input",
        "ins",
        "label",
        "li",
        "link",
        "main",
        "meta",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
        "q",
        "rect",
        "script",
        "section",
        "select",
        "small",
        "span",
        "style",
        "summary",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
)
EMPTY = frozenset({"br", "input", "link", "meta"})
SECTIONS = (
    "screen",
    "summary",
    "findings",
    "turn",
    "markers",
    "modes",
    "switches",
    "phases",
    "round-trip",
    "conversation",
    "parser",
    "grammar",
    "masks",
    "check",
    "provenance",
)


class Page(HTMLParser):
    """Reads a page strictly: every tag that is opened is closed, in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()
        self.addresses: set[str] = set()
        self.policy = ""
        self.unnamed: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        given = dict(attrs)
        assert len(given) == len(attrs)
        assert not any(name.startswith("on") or name == "style" for name in given)
        if "id" in given:
            self.ids.append(given["id"] or "")
        if "href" in given:
            self.addresses.add(given["href"] or "")
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        if given.get("role") in ("img", "group") and not given.get("aria-label"):
            self.unnamed.append(tag)
        if tag == "script":
            assert not attrs
            self.scripts.append("")
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def checked(text: str, script: str = "", beside: frozenset[str] = frozenset()) -> Page:
    page = Page(text)
    assert page.scripts == ([script] if script else [])
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = [each for each in page.policy.split("; ") if each.startswith("script-src")]
    assert allowed == ([f"script-src 'sha256-{digest}'"] if script else [])
    assert len(page.ids) == len(set(page.ids))
    assert {f"#{name}" for name in page.ids} >= page.addresses - {"data:,"} - beside
    assert beside <= page.addresses
    assert page.policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in page.policy
    assert page.unnamed == []
    assert all(line.isprintable() for line in text.split("\n"))
    return page


@cache
def page_of(name: str) -> str:
    return report_page(portray_template(analysed(name)), "1.2.3")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole(name: str) -> None:
    page = checked(page_of(name))
    assert set(SECTIONS) <= set(page.ids)
    assert {f"phase-{phase}" for phase in ("R1", "C1", "T7", "A3")} <= set(page.ids)


def test_the_same_template_gives_the_same_page() -> None:
    name = NAMES[0]
    again = report_page(portray_template(analyze(analysed(name).template)), "1.2.3")
    assert again == page_of(name)


def test_a_hostile_template_is_text() -> None:
    analysis = analyze(hostile())
    text = report_page(portray_template(analysis), "1.2.3")
    checked(text)
    assert "&lt;script&gt;document.title=&#34;owned&#34;&lt;/script&gt;" in text
    assert "\\u202e\\u200b\\u115f" in text.replace('</span><span class="sign">', "")
    checked(comparison_page(compare_templates(analysis, analysed("content-plain")), "1"))


def test_a_hostile_corpus_is_text() -> None:
    records = [
        SurveyRecord.failed("<script>x()</script>.jinja", "0", "</td><script>x()</script>"),
        SurveyRecord(
            SURVEY,
            "b\u202e.jinja",
            "1",
            error=None,
            reasoning=ReasoningMode.TAG_BASED,
            content=ContentMode.PLAIN,
            tools=ToolFormat.JSON_NATIVE,
            call="<img src=x onerror=x()>«name»",
            switches=("<b>",),
            check=SurveyCheck(44, 44),
            round_trip={"holds": 3, "ids": 1},
        ),
    ]
    records.append(
        msgspec.structs.replace(records[1], source="c.jinja", findings={Severity.ERROR: 2})
    )
    script = (FOLDER.parents[1] / "reports" / "page_templates" / "survey_index.js").read_text(
        "utf-8"
    )
    checked(survey_page(summary_of(records), records, "1.2.3"), script)
    pages = {"c.jinja": "c-0.html"}
    text = survey_page(summary_of(records), records, "1.2.3", pages)
    checked(text, script, frozenset(pages.values()))
    assert '<a href="c-0.html">c.jinja</a>' in text


def test_with_a_tokenizer_strips_are_tokens_and_masks_are_timed() -> None:
    analysis = analysed("history-last-query")
    portrait = portray_template(
        analysis, tokenizer=tiny("<|im_start|>", "<|im_end|>"), tokenizer_name="tiny"
    )
    text = report_page(portrait, "1.2.3")
    checked(text)
    assert "tokens reused" in text
    assert "masks: median" in text
    assert "There is no tokenizer" not in text


def test_without_a_tokenizer_the_page_says_so() -> None:
    text = page_of(NAMES[0])
    assert "There is no tokenizer, so the strips below are cut into words" in text
    assert "--tokenizer PATH gives one" in text


def test_what_no_render_confirms_says_so() -> None:
    assert "not confirmed" in page_of("calls-in-prompt-words")


def test_every_value_of_a_switch_is_rendered() -> None:
    analysis = analysed("history-last-query")
    views = switch_views(analysis, ())
    asked = [
        (name, value) for each in analysis.switches for name in [each.name] for value in each.values
    ]
    assert [dict(each.setting) for each in views] == [{}, *({name: value} for name, value in asked)]
    for view in views:
        given = {"messages": [{"role": "user", "content": QUESTION}], **view.setting}
        rendered = analysis.template.render_prepared({**given, "add_generation_prompt": True})
        assert rendered.endswith(QUESTION + view.prompt)
    assert len({each.prompt for each in views}) > 1
    section = page_of("history-last-query").partition('id="views"')[2].partition("</section>")[0]
    assert section.count("<details") == 3
    assert switch_views(analysed("content-plain"), ()) == ()


def test_findings_name_their_place() -> None:
    source = "{% for m in messages %}\n  {{- m.role ~ ':' ~ m.content|trim }}\n{% endfor %}"
    text = report_page(portray_template(analyze(ChatTemplate(source, origin="own/x.jinja"))), "1")
    checked(text)
    summaries = text[text.index('id="findings"') :].split("</summary>")
    assert any("<small>own/x.jinja:2:3</small>" in each for each in summaries[:-1])


def test_findings_that_the_usual_profile_of_lint_does_not_show_are_folded() -> None:
    source = "{% for m in messages %}\n  {{- m.role ~ ':' ~ m.content|trim }}\n{% endfor %}"
    portrait = portray_template(analyze(ChatTemplate(source)))
    shown = [
        each for each in portrait.lint.findings if Profile.RELEASE.shows(each.rule, each.severity)
    ]
    folded = len(portrait.lint.findings) - len(shown)
    assert shown
    assert folded > 1
    text = report_page(portrait, "1")
    at_once, _, rest = text[text.index('id="findings"') :].partition(
        f"<summary>{folded} findings not in the profile release</summary>"
    )
    assert at_once.count('<b class="tag">AP') == len(shown)
    assert rest.partition("</section>")[0].count('<b class="tag">AP') == folded
    assert f">{len(shown)} finding" in text[: text.index('id="findings"')]


def test_a_self_check_that_fails_shows_both_texts() -> None:
    source = "{% for m in messages %}{{ m.role }}:{{ m.content|replace('a', 'b') }}\n{% endfor %}"
    text = report_page(portray_template(analyze(ChatTemplate(source))), "1.2.3")
    checked(text)
    assert "the analysis writes" in text
    assert "fixed messages come out otherwise" in text


def test_a_template_that_transformers_refuses_says_so() -> None:
    text = page_of("list-changed")
    assert "self-check 8/47" in text
    assert "39 crash it (line 10: SecurityError" in text
    assert "Transformers refuses this template" in text


def test_pages_of_comparisons() -> None:
    left, right = (
        analyze(load_template(FOLDER / f"{name}.jinja"))
        for name in ("history-last-query", "history-tool-cycle")
    )
    page = checked(comparison_page(compare_templates(left, right), "1.2.3"))
    assert {"summary", "format", "renders", "round-trips"} <= set(page.ids)
    same = comparison_page(compare_templates(left, left), "1.2.3")
    assert "They are the same text; they are alike in what was asked: " in same
    assert "What was asked" in same

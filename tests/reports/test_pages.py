"""Check pages: text is escaped, nothing runs, and no address leaves the page."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from msgspec import structs
from rich.style import Style
from rich.text import Text

from autoparser import ChatTemplate, Message, analyze
from autoparser.analysis.core.verdicts import Failure
from autoparser.analysis.formats.format_view import ContentMode, ReasoningMode, ToolFormat
from autoparser.analysis.learning.template_turns import QUESTION
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import FindingFilter
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.overview.comparison import compare_templates
from autoparser.analysis.overview.portrait import (
    ANY_TEXT,
    plain_prompts,
    portray_template,
    switch_views,
)
from autoparser.analysis.overview.portrait_conversation import PortraitConversation, PortraitStep
from autoparser.analysis.overview.survey import SURVEY, SurveyCheck, SurveyRecord, summarize_records
from autoparser.analysis.teaching.taught_analysis import with_checked_format
from autoparser.reports.blocks import (
    Block,
    ComparedTexts,
    Entries,
    Entry,
    Excerpt,
    Facts,
    Fold,
    Heading,
    Paragraph,
    ShownDifference,
    Table,
    TableColumn,
    TextSide,
    compare_texts,
    link,
    sentence,
    small,
    tag_text,
)
from autoparser.reports.comparison import comparison_page, comparison_report
from autoparser.reports.page_pictures import conversation_section, trace_section
from autoparser.reports.pages import PageTop, address, page
from autoparser.reports.survey import survey_page
from autoparser.reports.template_page import report_page
from autoparser.reports.visible import quote_marker
from tests.analysis.history.renderers import tiny
from tests.case_tables import load_cases
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

from .hostile import hostile

TABLE: dict[str, Any] = load_cases(__file__, "pages.yaml")


class Page(HTMLParser):
    """Reads a page strictly: every tag that is opened is closed, in its place."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: set[str] = set()
        self.policy = ""
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TABLE["tags"]
        found = dict(attrs)
        assert len(found) == len(attrs)
        assert not any(name.startswith("on") or name == "style" for name in found)
        assert found.get("role") not in ("img", "group") or found.get("aria-label")
        self.ids += [found["id"] or ""] if "id" in found else []
        self.addresses |= {found["href"] or ""} if "href" in found else set()
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""
        if tag == "script":
            assert not attrs
            self.scripts.append("")
        if tag not in TABLE["empty"]:
            self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def own_script(name: str) -> str:
    return (files("autoparser.reports") / "page_templates" / name).read_text("utf-8")


TRACED = own_script("traced_lines.js")


def checked(text: str, script: str = "", beside: frozenset[str] = frozenset()) -> Page:
    """Read a page; its links lead to places in it, or to the pages beside it."""
    found = Page(text)
    assert found.scripts == ([script] if script else [])
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = [part for part in found.policy.split("; ") if part.startswith("script-src")]
    assert allowed == ([f"script-src 'sha256-{digest}'"] if script else [])
    assert len(found.ids) == len(set(found.ids))
    assert {f"#{name}" for name in found.ids} >= found.addresses - {"data:,"} - beside
    assert beside <= found.addresses
    assert found.policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in found.policy
    assert all(line.isprintable() for line in text.split("\n"))
    return found


@cache
def page_of(name: str, *, tokens: bool = False) -> str:
    tokenizer = tiny("<|im_start|>", "<|im_end|>") if tokens else None
    portrait = portray_template(analyzed(name), tokenizer=tokenizer)
    return report_page(portrait, "1.2.3")


@pytest.mark.parametrize("name", sampled(TABLE["said"], 7))
def test_page_has_every_section_and_its_sources(name: str) -> None:
    fixture, _, tokens = name.partition(" with ")
    text = page_of(fixture, tokens=bool(tokens))
    assert set(TABLE["sections"]) <= set(checked(text, TRACED).ids)
    assert [words for words in TABLE["said"][name] if words not in text] == []
    assert bool(tokens) == ("Without a tokenizer" not in text)


@pytest.mark.slow
def test_same_template_gives_the_same_page() -> None:
    again = analyze(analyzed("content-plain").template)
    assert report_page(portray_template(again), "1.2.3") == page_of("content-plain")


@pytest.mark.slow
def test_hostile_template_is_escaped() -> None:
    analysis = analyze(hostile())
    text = report_page(portray_template(analysis), "1.2.3")
    checked(text, TRACED)
    assert "&lt;script&gt;document.title=&#34;owned&#34;&lt;/script&gt;" in text
    assert "\\u202e\\u200b\\u115f" in text.replace('</span><span class="sign">', "")
    checked(comparison_page(compare_templates(analysis, analyzed("content-plain")), "1"))


def test_hostile_survey_is_escaped_and_links_its_reports() -> None:
    failed = SurveyRecord.failed("<script>x()</script>.jinja", "0", "</td><script>x()</script>")
    record = SurveyRecord(
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
    )
    other = msgspec.structs.replace(record, source="c.jinja", findings={Severity.ERROR: 2})
    records = [failed, record, other]
    script = own_script("survey_index.js")
    checked(survey_page(summarize_records(records), records, "1.2.3"), script)
    pages = {"c.jinja": "c-0.html"}
    text = survey_page(summarize_records(records), records, "1.2.3", pages)
    checked(text, script, frozenset(pages.values()))
    assert '<a href="c-0.html">c.jinja</a>' in text


@pytest.mark.slow
def test_every_switch_value_is_rendered() -> None:
    analysis = analyzed("history-last-query")
    views = switch_views(analysis, ())
    values = [{switch.name: value} for switch in analysis.switches for value in switch.values]
    assert [dict(view.setting) for view in views] == [{}, *values]
    for view in views:
        question = {"messages": [{"role": "user", "content": QUESTION}], **view.setting}
        rendered = analysis.template.render_prepared({**question, "add_generation_prompt": True})
        assert rendered == view.turn.prompt
    for prompt, setting in (
        (plain_prompt, one)
        for plain_prompt in plain_prompts(analysis)
        for one in plain_prompt.settings
    ):
        question = {"messages": [{"role": "user", "content": "What is the weather in Rio?"}]}
        asked = {**question, **setting, "add_generation_prompt": True}
        assert prompt.text == analysis.template.render_prepared(asked)
    section = page_of("history-last-query").partition('id="views"')[2].partition("</section>")[0]
    assert section.count("<details") == len({view.turn.text for view in views}) + 1 == 2
    assert "The same as with nothing set: " in section
    assert switch_views(analyzed("content-plain"), ()) == ()


@pytest.mark.slow
def test_plain_prompts_are_distinct_with_different_endings_first() -> None:
    source = (
        "{{ 'Today ' ~ date ~ '.' if date is defined }}{% for m in messages %}"
        "<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>"
        "{{ '<think></think>' if thinking is defined and thinking == false }}{% endif %}"
    )
    usual, other, inserted = plain_prompts(analyze(ChatTemplate(source)))
    assert usual.text.endswith("in Rio?\n<assistant>")
    assert usual.settings[0] == {}
    assert (other.text, other.settings) == (usual.text + "<think></think>", ({"thinking": False},))
    assert inserted.text == f"Today {ANY_TEXT}.{usual.text}"
    signs = source.replace("<think></think>", "</think>").replace(
        "== false", "== false else '<think>'"
    )
    text = report_page(portray_template(analyze(ChatTemplate(signs))), "1")
    assert "&lt;assistant<del>&gt;&lt;think&gt;</del>" in text
    assert "&lt;assistant<ins>&gt;&lt;/think&gt;</ins>" in text
    screen = page_of("history-last-query").partition('id="screen"')[2].partition("</section>")[0]
    assert "enable_thinking=true" in screen
    assert screen.count('<div class="side ') == 2


STEP = PortraitStep(1, True, cached=9, rendered=9, reused=9, bridged=9)
BROKEN = replace(STEP, reused=4, note="keeps reasoning")
TALKS = [
    ((STEP, STEP), "always begins with the cached text, and a token bridge reuses as much."),
    ((STEP, replace(STEP, bridged=None)), "always begins with the cached text."),
    ((STEP, BROKEN), "5 tokens of the cache are thrown away. A token bridge continues"),
    ((STEP, BROKEN), "continues the cached tokens unchanged, and keeps reasoning that"),
    ((BROKEN, replace(BROKEN, bridged=None)), "A token bridge avoids 1 of these breaks: it"),
    ((replace(BROKEN, bridged=None), STEP), "thrown away. No token bridge avoids that."),
]


@pytest.mark.parametrize(("steps", "words"), TALKS)
def test_conversation_section_counts_cache_losses_and_bridge_savings(
    steps: tuple[PortraitStep, ...], words: str
) -> None:
    section = conversation_section(PortraitConversation(steps, "tokens"))
    shown = page(PageTop("t", "k", "n", []), section, "1")
    assert words in shown
    assert ("computed from the break on" in shown) == any(step.breaks for step in steps)
    alike = all(step.bridged == step.rendered and not step.breaks for step in steps)
    assert ("rendered again, or by bridge" in shown) == alike


@pytest.mark.slow
def test_findings_have_places_and_strict_ones_are_folded() -> None:
    source = "{% for m in messages %}\n  {{- m.role ~ ':' ~ m.content|trim }}\n{% endfor %}"
    portrait = portray_template(analyze(ChatTemplate(source, origin="own/x.jinja")))
    shown = [FindingFilter(Profile.RELEASE).shows(finding) for finding in portrait.lint.findings]
    folded = shown.count(False)
    text = report_page(portrait, "1")
    checked(text, TRACED)
    head, _, findings = text.partition('id="findings"')
    at_once, _, rest = findings.partition(
        f"<summary>{folded} findings outside the profile release</summary>"
    )
    assert "<small>x.jinja:2:3</small>" in findings
    tag = '<b class="tag">AP'
    assert at_once.count(tag) == sum(shown) > 0
    assert rest.partition("</section>")[0].count(tag) == folded > 1
    assert f">{sum(shown)} finding" in head


@pytest.mark.slow
def test_failed_self_check_shows_both_texts() -> None:
    source = "{% for m in messages %}{{ m.role }}:{{ m.content|replace('a', 'b') }}\n{% endfor %}"
    text = report_page(portray_template(analyze(ChatTemplate(source))), "1.2.3")
    checked(text, TRACED)
    assert "the format predicts" in text
    assert re.search(r'<a href="#check" class="badge bad">\d+/\d+ test messages', text)
    places = [text.index(f'<section id="{name}"') for name in ("findings", "check", "lines")]
    assert places == sorted(places)
    check = text[places[1] :].partition("<details")[0]
    assert '<h2 id="check-title">' in check
    assert "This report is wrong about messages that differ" in text


def test_fewer_self_check_failures_are_better() -> None:
    same = compare_templates(analyzed("content-plain"), analyzed("content-plain"))
    check = same.left.check
    failure = Failure("a call", Message(content="Hi."), "Hi.", "Hi!", "the texts differ")
    twice, once = (
        with_checked_format(same.left, structs.replace(check, failures=(failure,) * count))
        for count in (2, 1)
    )
    more = "".join(comparison_report(structs.replace(same, left=twice, right=once), 100).plain)
    fewer = "".join(comparison_report(structs.replace(same, left=once, right=twice), 100).plain)
    words = f"{{}} of {check.total} messages fail the self-check (before: {{}} of {check.total})"
    assert f"Better: {words.format(1, 2)}" in " ".join(more.split())
    assert f"Worse: {words.format(2, 1)}" in " ".join(fewer.split())


@pytest.mark.slow
def test_comparison_page_shows_differences_or_equality() -> None:
    left, right = (analyzed(name) for name in ("history-last-query", "history-tool-cycle"))
    found = checked(comparison_page(compare_templates(left, right), "1.2.3"))
    assert {"summary", "format", "renders", "round-trips"} <= set(found.ids)
    same = comparison_page(compare_templates(left, left), "1.2.3")
    assert "The texts are identical; equal in everything tested: " in same
    assert "What was tested" in same


# The painter: one block below a heading.


def body(*blocks: Block) -> str:
    text = page(PageTop("t", "k", "n", []), [Heading(Text("H"), "h"), *blocks], "1")
    return text.partition('<h2 id="h-title">H</h2>')[2].partition("</section>")[0].strip()


WRITTEN = TABLE["written"]


def test_words_are_escaped() -> None:
    for words, expected in WRITTEN.items():
        assert body(Paragraph(Text(words))) == f"<p>{expected}</p>"


def test_every_kind_of_block_escapes_markup() -> None:
    bad = '"><script>x()</script>'
    text = Text(bad)
    column = TableColumn(bad, title=bad, bar_of=2)
    pieces = tuple(compare_texts(bad, f"x{bad}"))
    side = TextSide(bad, bad, [Paragraph(text)], label=bad)
    named = sentence(small(bad), tag_text(bad, "q"), quote_marker(bad))
    shown = body(
        Heading(text, lead=bad),
        Facts(((bad, text),), asides=(bad,)),
        Excerpt((text,), label=bad),
        ShownDifference(pieces, label=bad),
        Table(
            (column, column), ((text, Text("1")),) * 2, caption=bad, asides=(bad,) * 2, grouped=True
        ),
        Entries((Entry(bad, text, bad, text, [Paragraph(named)]), Entry(bad, text, bad))),
        ComparedTexts((side, structs.replace(side, error=text)), pieces, bad),
        Fold(text, [Paragraph(named)]),
    )
    assert "<script" not in shown
    assert shown.count("x()") > 30


def test_entry_unfolds_to_two_texts_side_by_side() -> None:
    pieces = tuple(compare_texts("a one b", "a two b"))
    texts = ComparedTexts((TextSide("old"), TextSide("new", "aside")), pieces, "which")
    entry = Entry("title", Text("so"), "T1", blocks=[texts], opened=True, anchor="phase-T1")
    shown = body(Entries((entry, Entry("bare", Text("text"), anchor="phase-T2"))))
    assert 'open><summary><b class="tag">T1</b><span class="what">title</span>' in shown
    assert '<div id="phase-T1">' in shown
    assert '<p class="entry" id="phase-T2"><span class="what">bare</span>' in shown
    left, _, right = shown.partition('<div class="side right">')
    assert "<figcaption>which</figcaption>" in left
    assert "a <del>one</del> b" in left
    assert "<h3>new <small>aside</small></h3>" in right
    assert "a <ins>two</ins> b" in right
    alike = ComparedTexts((TextSide("old"), TextSide("new")), tuple(compare_texts("a", "a")))
    assert "<figcaption>both have the same text" in body(alike)
    assert "same" not in body(structs.replace(alike, sides=alike.sides[:1]))


def test_words_keep_their_styles_and_line_ends_are_marked() -> None:
    words = sentence(quote_marker("<a>"), (" no", "bold red"), " ", link("there", "#x"))
    assert body(Paragraph(words)) == (
        '<p><code class="mark">&lt;a&gt;</code><span class="bold bad"> no</span>'
        ' <a href="#x">there</a></p>'
    )
    shown = body(ShownDifference(tuple(compare_texts("", "a\n<b>"))))
    assert '<ins>a<span class="sign">↵</span>\n&lt;b&gt;</ins>' in shown
    long = "a" * 300
    assert long in body(ShownDifference(tuple(compare_texts(f"{long}b", f"{long}c"))))
    cut = body(ShownDifference(tuple(compare_texts(f"{long * 2}b", f"{long * 2}c"))))
    assert "360 unchanged characters" in cut


ADDRESSES = ("http://example.org", "//x.html", "javascript:alert(1)", "data:text/html,x")


@pytest.mark.parametrize("value", [*ADDRESSES, "../x.html", "x.html/../../y", "x.html.js"])
def test_address_that_leaves_the_page_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="leads out of the page"):
        address(value)
    with pytest.raises(ValueError, match="leads out of the page"):
        body(Paragraph(link("there", value)))


@pytest.mark.parametrize(
    "meta", [{"tag": "img"}, {"tag": "a", "onclick": "x()"}, {"tag": "script"}]
)
def test_words_allow_no_other_element(meta: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="words have no element"):
        body(Paragraph(Text("x", Style(meta=meta))))


def test_page_templates_have_no_handler_and_check_each_address() -> None:
    for name in ("page.jinja", "blocks.jinja", "pictures.jinja"):
        text = (files("autoparser.reports") / "page_templates" / name).read_text("utf-8")
        assert not re.findall(r"\s(?:on\w+|style|src|action)=", text)
        addresses = [part.partition(">")[0] for part in text.split('href="')[1:]]
        assert all(
            found[:6] in ('#main"', "data:,") or "| address }}" in found for found in addresses
        )
        # Only Python marks texts as safe: this package's own style sheet and script.
        assert "safe" not in text
        assert "autoescape" not in text


def test_traced_prompt_links_pieces_to_lines_and_shows_failures() -> None:
    template = ChatTemplate(
        "{% macro turn(m) %}\n<{{ m.role }}>{{ m.content }}{% endmacro %}\n"
        "{% for m in messages %}\n{% if m.content %}\n{{ turn(m) }}\n{% else %}\n-\n{% endif %}\n"
        "{% endfor %}"
    )
    conversation = {"messages": [{"role": "user", "content": '<b onclick="x">\u202e'}]}
    blocks = trace_section(template.step_through(conversation))
    shown = page(PageTop("t", "k", "n", []), blocks, "1")
    lines = set(re.findall(r'id="line-(\d+)"', shown))
    links = re.findall(r'<a href="#line-(\d+)" title="([^"]*)">', shown)
    assert [line for line, _ in links] == ["2", "2", "2", "2", "5"]
    assert unescape(links[1][1]) == "line 2 ← 5: {{ m.role }}"
    assert lines == {str(number) for number in range(1, template.text.count("\n") + 2)}
    idle = re.findall(r'id="line-(\d+)" class="idle"', shown)
    assert "7" in idle
    assert "2" not in idle
    assert "<b onclick" not in shown
    assert "\\u202e" in shown
    trace = ChatTemplate("a{{ messages[0].x.y }}").step_through({"messages": [{}]})
    shown = page(PageTop("t", "k", "n", []), trace_section(trace), "1")
    assert "cannot render the conversation" in shown
    assert ">a</a>" in shown

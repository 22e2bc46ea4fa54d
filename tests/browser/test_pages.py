"""Check pages in a real browser: no foreign scripts, no requests, no overflow.

With axe-core, also by the rules of WCAG; without it, those tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autoparser import analyze
from autoparser.analysis.overview.comparison import compare_templates
from autoparser.analysis.overview.portrait import portray_template
from autoparser.analysis.overview.survey import SurveyLook, summarize_records
from autoparser.reports.comparison import comparison_page
from autoparser.reports.survey import survey_page
from autoparser.reports.template_page import report_page
from autoparser.reports.template_state import ChartBar, bar_chart
from tests.analysis.history.renderers import tiny
from tests.fixture_analyses import TEMPLATES, analyzed
from tests.reports.hostile import hostile


def _report() -> str:
    tokenizer = tiny("<|im_start|>", "<|im_end|>")
    analysis = analyzed("history-last-query")
    return report_page(portray_template(analysis, tokenizer=tokenizer, tokenizer_name="tiny"), "1")


def _survey() -> str:
    names = ("history-last-query", "t8-recipient-lines", "content-plain")
    look = SurveyLook(linted=True)
    records = [look((str(TEMPLATES / f"{name}.jinja"), "")).record for name in names]
    records.append(SurveyLook()(("</td><script>document.title=1</script>", "")).record)
    return survey_page(summarize_records(records), records, "1")


def names_shown(page: Any) -> list[str]:
    """Return the short names of the rows that are visible, in their order."""
    texts = page.locator("table.index tbody tr:visible th").all_inner_texts()
    return [text.rpartition("/")[2].removesuffix(".jinja") for text in texts]


PAGES: dict[str, Callable[[], str]] = {
    "report": cache(_report),
    "hostile": cache(lambda: report_page(portray_template(analyze(hostile())), "1")),
    "comparison": cache(
        lambda: comparison_page(
            compare_templates(analyze(hostile()), analyzed("j1-json-in-tags")), "1"
        )
    ),
    "survey": cache(_survey),
}
SIZES = [(390, "light"), (390, "dark"), (1400, "light"), (1400, "dark")]


@contextmanager
def opened(browser: Any, pages: Path, name: str, **options: Any) -> Any:
    """Open a page; fail on any complaint and on any request but that for the page."""
    file = pages / f"{name}.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    context = browser.new_context(**options)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(file.as_uri())
        page.wait_for_load_state("load")
        yield page
        assert said == []
        assert [url for url in asked if url != file.as_uri() and url != "data:,"] == []
    finally:
        context.close()


def everything_open(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")


CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_pages_are_inert_and_readable(
    browser: Any, pages: Path, name: str, width: int, scheme: str
) -> None:
    with opened(
        browser, pages, name, viewport={"width": width, "height": 900}, color_scheme=scheme
    ) as page:
        title = page.title()
        assert "autoparser" in title
        assert page.evaluate(OVERFLOW) <= 0
        everything_open(page)
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate(CONTRAST) == []
        assert page.locator("iframe, img, object, embed, form, base").count() == 0
        assert page.locator("script").count() == (name != "comparison")
        assert page.locator("[onclick], [onerror], [onload], [style], [srcdoc]").count() == 0
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(246, 247, 249)") == (scheme == "light")
        assert page.title() == title


def test_report_starts_with_a_turn_and_links_its_folded_sections(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report", viewport={"width": 1280, "height": 900}) as page:
        assert page.locator("main > section").first.locator(".turn").is_visible()
        shown = page.locator("main > section:has(> h2)").all()
        first = ["screen", "conversation", "serve", "findings"]
        assert [text.get_attribute("id") for text in shown] == first
        short = page.evaluate("document.documentElement.scrollHeight")
        links = page.locator("nav a")
        assert links.count() == page.locator("main > section").count() > 10
        for link in links.all():
            target = link.get_attribute("href")
            link.click()
            inside = f"main > section{target}, main > section > details[open] > {target}"
            # A click returns before the page has opened the target of its link.
            page.locator(inside).wait_for(state="visible")
        everything_open(page)
        assert page.evaluate("document.documentElement.scrollHeight") > 3 * short
        images = page.get_by_role("img")
        names = [image.get_attribute("aria-label") for image in images.all()]
        assert len(names) > 20
        assert all(names)
        assert any("thrown away" in str(name) for name in names)
        assert any("masks: median" in str(name) for name in names)


def test_keyboard_opens_a_phase_without_scripts(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report", java_script_enabled=False) as page:
        section = page.locator("#phases > details > summary")
        phase = page.locator("#phases details details summary").nth(3)
        assert not page.locator("#phases .sides").first.is_visible()
        for folded in (section, phase):
            folded.focus()
            page.keyboard.press("Enter")
        page.locator("#phases details details[open] .sides").first.wait_for(state="visible")
        page.keyboard.press("Tab")
        assert page.locator("pre:focus").count() == 1


def test_hovering_links_pieces_and_template_lines(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report", viewport={"width": 1280, "height": 900}) as page:
        page.locator("nav a[href^='#lines']").click()
        piece = page.locator("pre.pieces a", has_text="What is the weather in Rio?")
        piece.hover()
        line = page.locator("pre.lines > .marked")
        assert f"#{line.get_attribute('id')}" == piece.get_attribute("href")
        page.locator("nav a").first.hover()
        assert page.locator(".marked").count() == 0
        line = page.locator(str(piece.get_attribute("href")))
        line.hover()
        marked = "".join(page.locator("pre.pieces .marked").all_inner_texts())
        assert "What is the weather in Rio?" in marked
        piece.focus()
        assert page.locator("pre.lines > .marked").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_survey_index_sorts_and_filters(browser: Any, pages: Path, width: int) -> None:
    with opened(browser, pages, "survey", viewport={"width": width, "height": 900}) as page:
        given = names_shown(page)
        column = page.locator("table.index thead th").filter(has_text="warnings")
        at = column.evaluate("cell => cell.cellIndex")
        cells = page.locator(f"table.index tbody tr :nth-child({at + 1} of th, td)")
        for direction in ("ascending", "descending"):
            column.get_by_role("button").click()
            assert column.get_attribute("aria-sort") == direction
            *counts, last = cells.all_inner_texts()
            numbers = [int(count) for count in counts]
            assert numbers == sorted(numbers, reverse=direction == "descending")
            assert len(set(numbers)) > 1
            assert last == ""
        page.get_by_label("Search").fill("CONTENT plain")
        assert names_shown(page) == ["content-plain"]
        assert page.get_by_role("status").inner_text() == "1 of 4 templates"
        page.get_by_label("Search").fill("")
        page.get_by_label("verdict").select_option("not analyzed")
        assert len(names_shown(page)) == 1
        page.get_by_label("verdict").select_option("passes")
        assert set(names_shown(page)) == set(given[:3])


def test_survey_index_is_complete_without_scripts(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "survey", java_script_enabled=False) as page:
        assert len(names_shown(page)) == 4
        assert page.locator(".controls").is_hidden()
        assert page.locator("button").count() == 0


def test_link_to_a_phase_opens_it(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        page.locator("nav a[href^='#markers']").click()
        page.locator("#markers a").first.click()
        page.locator("#phases details details[open]").wait_for(state="attached")


def test_printing_opens_folded_sections(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        closed = page.locator("#phases pre").first
        assert not closed.is_visible()
        page.emulate_media(media="print")
        assert closed.is_visible()
        assert not page.locator("nav").is_visible()
        assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("name", ["report", "survey"])
def test_content_policy_blocks_injected_scripts(browser: Any, pages: Path, name: str) -> None:
    """A page that was tampered with still runs nothing of it and asks for nothing."""
    text = PAGES[name]()
    bad = '<script>document.title = "owned"</script><img src="http://127.0.0.1:9/x">'
    file = pages / "tampered.html"
    file.write_text(text.replace("<h1>", f"{bad}<h1>"), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    answered: list[str] = []
    page.on("requestfinished", lambda request: answered.append(request.url))
    page.goto(file.as_uri())
    assert page.title() != "owned"
    assert [url for url in answered if url.startswith("http")] == []
    context.close()


AXE = os.environ.get("AUTOPARSER_AXE")
"""Where axe-core's `axe.min.js` is; it is not among the dependencies, since it is JavaScript."""
ASK = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(
    fault => [fault.impact, fault.id, fault.nodes[0].html, fault.nodes[0].failureSummary]))"""
needs_axe = pytest.mark.skipif(
    AXE is None, reason="npm pack axe-core, unpack it, and let AUTOPARSER_AXE name its axe.min.js"
)


def faults(page: Any) -> list[list[str]]:
    """Return axe-core's serious and critical faults by WCAG: impact, rule, place, reason."""
    page.evaluate(f"{Path(AXE or '').read_text('utf-8')}; 0")
    return [answer for answer in page.evaluate(ASK) if answer[0] in ("serious", "critical")]


@needs_axe
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_have_no_accessibility_faults(
    browser: Any, pages: Path, name: str, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    # The pages' own policy lets no other script run.
    options = {"viewport": size, "color_scheme": scheme, "bypass_csp": True}
    with opened(browser, pages, name, **options) as page:
        everything_open(page)
        assert faults(page) == []


@needs_axe
def test_accessibility_judge_finds_planted_faults(browser: Any) -> None:
    page = browser.new_page()
    page.set_content("<html><body style='color:#999;background:#aaa'>gray on gray</body></html>")
    assert {fault[1] for fault in faults(page)} >= {"color-contrast", "html-has-lang"}
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_leave_room_for_their_labels(browser: Any, pages: Path, scheme: str) -> None:
    file = pages / "bars.svg"
    words = "crash on a conversation that some agents send"
    file.write_text(
        bar_chart("What is wrong", [ChartBar(words, 9999, 9999), ChartBar(words, 0, 1)]), "utf-8"
    )
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    boxes = page.evaluate(
        "[...document.querySelectorAll('text, rect.whole')].map(part => {"
        " const box = part.getBBox(); return [part.tagName, box.x, box.x + box.width] })"
    )
    fill = page.evaluate("getComputedStyle(document.querySelector('text')).fill")
    page.close()
    assert all(left >= 0 and right <= 900 for _, left, right in boxes), boxes
    # A row is its label, the bar and the count; the title is above them.
    for label, bar, count in zip(boxes[1::3], boxes[2::3], boxes[3::3], strict=True):
        assert label[2] < bar[1] < bar[2] < count[1], boxes
    assert fill == ("rgb(27, 31, 36)" if scheme == "light" else "rgb(230, 237, 243)")

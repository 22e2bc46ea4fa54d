"""Pages in a real browser: nothing runs, nothing is asked for, nothing sticks out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autoparser import analyze, load_template
from autoparser.analysis.overview.comparison import compare_templates
from autoparser.analysis.overview.portrait import portray_template
from autoparser.analysis.overview.survey import SurveyLook, summary_of
from autoparser.reports import comparison_page, report_page, survey_page
from tests.analysis.history.vocabularies import tiny
from tests.reports.hostile import hostile

FOLDER = Path(__file__).parents[2] / "fixtures" / "templates"


def _report() -> str:
    analysis = analyze(load_template(FOLDER / "history-last-query.jinja"))
    tokenizer = tiny("<|im_start|>", "<|im_end|>")
    return report_page(portray_template(analysis, tokenizer=tokenizer, tokenizer_name="tiny"), "1")


def _hostile() -> str:
    return report_page(portray_template(analyze(hostile())), "1")


def _comparison() -> str:
    return comparison_page(
        compare_templates(
            analyze(hostile()), analyze(load_template(FOLDER / "j1-json-in-tags.jinja"))
        ),
        "1",
    )


def _survey() -> str:
    names = ("history-last-query", "t8-recipient-lines", "content-plain")
    records = [
        SurveyLook(linted=True)((str(FOLDER / f"{name}.jinja"), "")).record for name in names
    ]
    records.append(SurveyLook()(("</td><script>document.title=1</script>", "")).record)
    return survey_page(summary_of(records), records, "1")


def names_shown(page: Any) -> list[str]:
    """Return the short names of the rows that are visible, in their order."""
    texts = page.locator("table.index tbody tr:visible th").all_inner_texts()
    return [text.rpartition("/")[2].removesuffix(".jinja") for text in texts]


PAGES: dict[str, Callable[[], str]] = {
    "report": cache(_report),
    "hostile": cache(_hostile),
    "comparison": cache(_comparison),
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
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_nothing_runs_and_nothing_sticks_out(
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
        assert page.locator("iframe, img, object, embed, form, base").count() == 0
        assert page.locator("script").count() == (name == "survey")
        assert page.locator("[onclick], [onerror], [onload], [style], [srcdoc]").count() == 0
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(246, 247, 249)") == (scheme == "light")
        assert page.title() == title


def test_the_sections_are_there_and_the_contents_lead_to_them(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        links = page.locator("nav a")
        assert links.count() == page.locator("main > section").count() > 10
        for at in range(links.count()):
            target = links.nth(at).get_attribute("href")
            links.nth(at).click()
            inside = f"main > section{target}, main > section > details[open] > {target}"
            # A click comes back before the page has opened what its link leads to.
            page.locator(inside).wait_for(state="visible")


def test_a_report_begins_with_a_turn_and_folds_what_is_long(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report", viewport={"width": 1280, "height": 900}) as page:
        assert page.locator("main > section").first.locator(".turn").is_visible()
        opened_sections = page.locator("main > section:has(> h2)")
        assert [each.get_attribute("id") for each in opened_sections.all()] == [
            "screen",
            "findings",
        ]
        short = page.evaluate("document.documentElement.scrollHeight")
        everything_open(page)
        assert page.evaluate("document.documentElement.scrollHeight") > 3 * short


def test_the_keyboard_opens_a_phase_without_any_script(browser: Any, pages: Path) -> None:
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


@pytest.mark.parametrize("width", [390, 1280])
def test_the_index_of_a_survey_sorts_and_filters(browser: Any, pages: Path, width: int) -> None:
    with opened(browser, pages, "survey", viewport={"width": width, "height": 900}) as page:
        given = names_shown(page)
        column = page.locator("table.index thead th").filter(has_text="warnings")
        at = column.evaluate("each => each.cellIndex")
        cells = page.locator(f"table.index tbody tr :nth-child({at + 1} of th, td)")
        for direction in ("ascending", "descending"):
            column.get_by_role("button").click()
            assert column.get_attribute("aria-sort") == direction
            *counts, last = cells.all_inner_texts()
            numbers = [int(each) for each in counts]
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


def test_the_index_is_whole_without_scripts(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "survey", java_script_enabled=False) as page:
        assert len(names_shown(page)) == 4
        assert page.locator(".controls").is_hidden()
        assert page.locator("button").count() == 0


def test_a_link_to_a_phase_opens_it(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        page.locator("nav a[href^='#markers']").click()
        page.locator("#markers a").first.click()
        page.locator("#phases details details[open]").wait_for(state="attached")


def test_print_shows_what_is_closed(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        closed = page.locator("#phases pre").first
        assert not closed.is_visible()
        page.emulate_media(media="print")
        assert closed.is_visible()
        assert not page.locator("nav").is_visible()
        assert page.pdf().startswith(b"%PDF")


CONTRAST = """() => {
    const parts = color => color.match(/[\\d.]+/g).map(Number);
    const over = (top, below) => {
        const a = top[3] ?? 1;
        return [0, 1, 2].map(at => top[at] * a + below[at] * (1 - a));
    };
    const light = rgb => {
        const [r, g, b] = rgb.map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const scale = color => {
        const named = color.match(/color\\(srgb ([^)]+)\\)/);
        if (!named) return parts(color);
        const [r, g, b, a] = named[1].split(/[ \\/]+/).map(Number);
        return [r * 255, g * 255, b * 255, a ?? 1];
    };
    const backOf = element => {
        const chain = [];
        for (let at = element; at; at = at.parentElement)
            chain.push(scale(getComputedStyle(at).backgroundColor));
        return chain.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest('svg, .unseen, .skip')) continue;
        const back = backOf(element);
        let alpha = 1;
        for (let at = element; at; at = at.parentElement)
            alpha *= Number(getComputedStyle(at).opacity);
        const ink = scale(getComputedStyle(element).color);
        const front = over([...ink.slice(0, 3), (ink[3] ?? 1) * alpha], back);
        const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) found.set(element.tagName + '.' + element.className, ratio.toFixed(2));
    }
    return [...found];
}"""
"""Kinds of elements whose text stands out too little from what is behind it, by WCAG 2.2, 1.4.3."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_stands_out(browser: Any, pages: Path, name: str, scheme: str) -> None:
    with opened(browser, pages, name, color_scheme=scheme) as page:
        everything_open(page)
        assert page.evaluate(CONTRAST) == []


def test_plots_have_names(browser: Any, pages: Path) -> None:
    with opened(browser, pages, "report") as page:
        everything_open(page)
        images = page.get_by_role("img")
        assert images.count() > 20
        names = [images.nth(at).get_attribute("aria-label") for at in range(images.count())]
        assert all(names)
        assert any("thrown away" in str(name) for name in names)
        assert any("masks: median" in str(name) for name in names)


@pytest.mark.parametrize("name", ["report", "survey"])
def test_the_policy_stops_what_would_be_in_a_page(browser: Any, pages: Path, name: str) -> None:
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

"""Pages by the rules of WCAG, as axe-core judges them; without it the tests skip, and say so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .test_pages import PAGES, everything_open, opened

AXE = os.environ.get("AUTOPARSER_AXE")
"""Where axe-core's `axe.min.js` is; it is not among the dependencies, since it is JavaScript."""

WEIGHTY = ("serious", "critical")

ASK = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(
    each => [each.impact, each.id, each.nodes[0].html, each.nodes[0].failureSummary]))"""

pytestmark = pytest.mark.skipif(
    AXE is None, reason="npm pack axe-core, unpack it, and let AUTOPARSER_AXE name its axe.min.js"
)


def faults(page: Any) -> list[list[str]]:
    """Return what axe-core finds serious or critical: how much, which rule, where and why."""
    page.evaluate(f"{Path(AXE or '').read_text('utf-8')}; 0")
    return [each for each in page.evaluate(ASK) if each[0] in WEIGHTY]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_no_page_shuts_anybody_out(
    browser: Any, pages: Path, name: str, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    # The pages' own policy lets no other script run.
    options = {"viewport": size, "color_scheme": scheme, "bypass_csp": True}
    with opened(browser, pages, name, **options) as page:
        everything_open(page)
        assert faults(page) == []


def test_the_judge_finds_what_is_wrong(browser: Any) -> None:
    page = browser.new_page()
    page.set_content("<html><body style='color:#999;background:#aaa'>gray on gray</body></html>")
    assert {each[1] for each in faults(page)} >= {"color-contrast", "html-has-lang"}
    page.close()

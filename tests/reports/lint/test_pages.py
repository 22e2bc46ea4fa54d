from __future__ import annotations

from msgspec.structs import replace

from autoparser.analysis.lint.registry import rule_of
from autoparser.reports.lint import page_markdown, rule_page, rules_index

RULE = replace(
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
    assert "A tag such as \\<b> and a `<code>|` span \\| are not markup." in page
    assert "Why it \\*matters\\*." in page
    assert "Second paragraph, on two lines." in page
    assert "````jinja\n```\n{{ x | safe }}\n````" in page
    assert "Write \\[x\\](y)." in page
    assert "Where it fires, nothing more is said of AP101" in page
    assert "| where selected |" in page


def test_the_index_keeps_to_its_cells() -> None:
    (row,) = [line for line in rules_index([RULE]).splitlines() if "AP306" in line]
    assert "span \\| are" in row


def test_a_page_in_a_terminal_tells_the_same() -> None:
    page = rule_page(RULE, 60).plain
    assert "A tag such as <b> and a `<code>|` span | are not markup." in " ".join(page.split())
    for words in ("Second paragraph, on two lines.", "  {{ x | safe }}", "covers", "AP101"):
        assert words in page
    assert "runs only where it is selected" in " ".join(page.split())
    assert all(len(line) <= 60 for line in page.splitlines())

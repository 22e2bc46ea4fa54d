"""Elements: whatever stands in them is text, and no address leaves the page."""

from __future__ import annotations

import pytest

from autoparser.reports.html.element import fragment, h, markup

WRITTEN = [
    ("text", h("p", "a < b & c"), "<p>a &lt; b &amp; c</p>"),
    ("a tag", h("p", "<script>"), "<p>&lt;script&gt;</p>"),
    ("an entity", h("p", "&lt;"), "<p>&amp;lt;</p>"),
    (
        "quotes in an attribute",
        h("p", title="\"><b>'"),
        '<p title="&quot;&gt;&lt;b&gt;&#x27;"></p>',
    ),
    ("a newline in an attribute", h("p", title="a\nb"), '<p title="a↵b"></p>'),
    ("a newline in a text", h("pre", "a\nb"), "<pre>a\nb</pre>"),
    ("an escape", h("p", "\x1b[31m\x00"), "<p>\\x1b[31m\\x00</p>"),
    ("writing direction", h("p", "\u202ea\u2066"), "<p>\\u202ea\\u2066</p>"),
    ("nothing to see", h("p", "\u200b\u115f\ufe0f\u2800"), "<p>\\u200b\\u115f\\ufe0f\\u2800</p>"),
    ("half a character", h("p", "\ud800"), "<p>\\ud800</p>"),
    ("an empty element", h("p", "a", h("br"), "b"), "<p>a<br>b</p>"),
    ("no attribute", h("details", open=False, class_=None), "<details></details>"),
    ("one without a value", h("details", open=True), "<details open></details>"),
    ("a hyphen", h("p", aria_label="a"), '<p aria-label="a"></p>'),
    ("pieces", fragment("a", [h("b", "c"), "d"], None), "a<b>c</b>d"),
]


@pytest.mark.parametrize(
    ("element", "expected"), [w[1:] for w in WRITTEN], ids=[w[0] for w in WRITTEN]
)
def test_what_is_written(element: object, expected: str) -> None:
    assert markup(element) == expected  # type: ignore[arg-type]


REFUSED = [
    {"href": "http://example.org"},
    {"href": "javascript:alert(1)"},
    {"href": "data:text/html,x"},
    {"src": "x.png"},
    {"action": "/"},
    {"onclick": "x()"},
    {"style": "color: red"},
]


@pytest.mark.parametrize("attributes", REFUSED, ids=str)
def test_no_address_and_no_action(attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"leads out|have no attribute"):
        h("a", **attributes)

"""The shell of a page: its head, its contents, its sections, and no way out of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .element import Element, Node, fragment, h, markup

__all__ = ["PageSection", "document"]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page that its contents name."""

    anchor: str
    title: str
    body: Element
    note: str = ""
    """A word on it, beside its title in the contents."""


@cache
def _style() -> str:
    return files("autoparser.reports.html").joinpath("page.css").read_text(encoding="utf-8")


def _policy(style: str) -> str:
    """Allow this very style sheet and nothing else: no script, no request, no form, no frame."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )


def document(title: str, top: Node, sections: Sequence[PageSection], foot: Node) -> str:
    """Write a page that needs nothing but itself."""
    style = _style()
    head = [
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=_policy(style)),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="referrer", content="no-referrer"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", title),
        h("link", rel="icon", href="data:,"),
    ]
    body = h(
        "body",
        h("a", "Skip to the contents of the page", href="#main", class_="skip"),
        h("header", top, class_="top"),
        h("div", _contents(sections), _main(sections), class_="page"),
        h("footer", foot),
    )
    # The style is the page's own text, and the only one that is not escaped.
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        + "\n".join(map(markup, head))
        + f"\n<style>{style}</style>\n</head>\n{markup(body)}\n</html>\n"
    )


def _contents(sections: Sequence[PageSection]) -> Element:
    entries = [
        h(
            "li",
            h(
                "a",
                each.title,
                fragment(" ", h("small", each.note)) if each.note else None,
                href=f"#{each.anchor}",
            ),
        )
        for each in sections
    ]
    return h("nav", h("ul", entries), aria_label="Sections")


def _main(sections: Sequence[PageSection]) -> Element:
    drawn = [
        h(
            "section",
            h("h2", each.title, id=f"{each.anchor}-title"),
            each.body,
            id=each.anchor,
            aria_labelledby=f"{each.anchor}-title",
        )
        for each in sections
    ]
    return h("main", drawn, id="main", tabindex="-1")

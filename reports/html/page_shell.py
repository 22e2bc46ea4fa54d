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
    folded: bool = False
    """Whether a click, a key or a link of the contents opens it."""

    @property
    def place(self) -> str:
        """Where links to it lead; a browser opens what is folded around that."""
        return f"{self.anchor}-inside" if self.folded else self.anchor


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
                href=f"#{each.place}",
            ),
        )
        for each in sections
    ]
    return h("nav", h("ul", entries), aria_label="Sections")


def _main(sections: Sequence[PageSection]) -> Element:
    drawn = [
        h(
            "section",
            _folded(each) if each.folded else (_title(each), each.body),
            id=each.anchor,
            aria_labelledby=f"{each.anchor}-title",
        )
        for each in sections
    ]
    return h("main", drawn, id="main", tabindex="-1")


def _title(section: PageSection) -> Element:
    return h("h2", section.title, id=f"{section.anchor}-title")


def _folded(section: PageSection) -> Element:
    note = h("small", section.note) if section.note else None
    return h(
        "details",
        h("summary", _title(section), note),
        h("div", section.body, id=section.place),
        class_="part printed",
    )

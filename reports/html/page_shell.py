"""The shell of a page: its head, its contents, its sections, and no way out of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files

from .element import Element, Node, fragment, h, markup

__all__ = ["PageScript", "PageSection", "document"]


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


class PageScript(Enum):
    """The scripts that a page may have: files of this package, inlined as they are."""

    SURVEY_INDEX = "survey_index.js"


@cache
def _own_file(name: str) -> str:
    return files("autoparser.reports.html").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow this very style sheet and script and nothing else: no request, no form, no frame."""
    allowed = f" script-src {_digest(script)};" if script else ""
    return (
        f"default-src 'none'; style-src {_digest(style)};{allowed} img-src data:; base-uri 'none';"
        " form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def document(
    title: str,
    top: Node,
    sections: Sequence[PageSection],
    foot: Node,
    script: PageScript | None = None,
) -> str:
    """Write a page that needs nothing but itself; without a script nothing in it can run."""
    style = _own_file("page.css")
    code = "" if script is None else _own_file(script.value)
    head = [
        h("meta", charset="utf-8"),
        h("meta", http_equiv="Content-Security-Policy", content=_policy(style, code)),
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
    # Style and script are files of ours, and the only texts that are not escaped.
    running = f"<script>{code}</script>\n" if code else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        + "\n".join(map(markup, head))
        + f"\n<style>{style}</style>\n</head>\n{markup(body)}\n{running}</html>\n"
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

"""A template whose markers, names and switches try to leave a page's text."""

from __future__ import annotations

from pathlib import Path

from autoparser import ChatTemplate

ORIGIN = "</h1><img src=x onerror=document.title=1>.jinja"


def hostile() -> ChatTemplate:
    text = Path(__file__).with_name("hostile.jinja").read_text("utf-8").replace("\n", "")
    return ChatTemplate(text, name="</title><script>x()</script>", origin=ORIGIN)

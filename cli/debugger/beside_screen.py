"""Two conversations side by side."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Static

from autoparser.analysis.templates.render_trace import RenderTrace
from autoparser.reports import visible
from autoparser.reports.debugger import beside_text

__all__ = ["BesideScreen"]


class BesideScreen(Screen[None]):
    """Their prompts, what each has alone in colour, with the template's lines."""

    CSS = """
    #sides { height: 1fr; }
    #sides VerticalScroll { width: 1fr; }
    .name { height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, names: tuple[str, str], left: RenderTrace, right: RenderTrace) -> None:
        super().__init__()
        self.names = names
        self.traces = left, right

    def compose(self) -> ComposeResult:
        """Draw both panes."""
        with Horizontal(id="sides"):
            for side, name in zip(("left", "right"), self.names, strict=True):
                with VerticalScroll():
                    yield Static(visible(name), classes="name", markup=False)
                    yield Static(id=side)
        yield Footer()

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        texts = beside_text(*self.traces, max(event.size.width // 2 - 3, 20))
        for side, text in zip(("left", "right"), texts, strict=True):
            self.query_one(f"#{side}", Static).update(text)

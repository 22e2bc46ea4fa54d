"""What each switch would change in the prompt of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Static

from autoparser.analysis.overview.debugged_prompts import SwitchedRender
from autoparser.analysis.templates.render_trace import RenderTrace
from autoparser.reports.debugger import switched_text

__all__ = ["SwitchesScreen"]


class SwitchesScreen(Screen[None]):
    """The differences, one below the other."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, trace: RenderTrace, renders: Sequence[SwitchedRender]) -> None:
        super().__init__()
        self.trace = trace
        self.renders = renders

    def compose(self) -> ComposeResult:
        """Draw the pane."""
        with VerticalScroll(id="switched"):
            yield Static(id="changes")
        yield Footer()

    def on_resize(self, event: Resize) -> None:
        """Break the lines anew."""
        others = [(each.name, each.value, each.trace) for each in self.renders]
        width = max(event.size.width - 2, 20)
        self.query_one("#changes", Static).update(switched_text(self.trace, others, width))

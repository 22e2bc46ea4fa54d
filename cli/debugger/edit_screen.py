"""A conversation, edited on the spot."""

from __future__ import annotations

from typing import ClassVar

import yaml
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.overview.debugged_prompts import DebuggedConversation
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.reports import visible

__all__ = ["EditScreen"]

EDITED = "edited"


class EditScreen(Screen[DebuggedConversation | None]):
    """Its messages and tools as YAML; what cannot be read stays here, with the reason."""

    AUTO_FOCUS = "*"
    CSS = """
    #text { height: 1fr; }
    #problem { height: auto; color: $error; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "render_it", "render", priority=True),
        Binding("escape", "dismiss", "back", priority=True),
    ]

    def __init__(self, conversation: DebuggedConversation, template: ChatTemplate) -> None:
        super().__init__()
        self.conversation = conversation
        self.template = template

    def compose(self) -> ComposeResult:
        """Draw the text."""
        yield TextArea(self.conversation.as_yaml(), id="text", show_line_numbers=True)
        yield Static(id="problem", markup=False)
        yield Footer()

    def action_render_it(self) -> None:
        """Give back the conversation as it is now."""
        text = self.query_one("#text", TextArea).text
        try:
            edited = self.conversation.edited(yaml.safe_load(text), EDITED)
        except yaml.YAMLError as error:
            self.query_one("#problem", Static).update(visible(f"broken YAML: {error}"))
        except AutoparserError as error:
            self.query_one("#problem", Static).update(visible(str(error)))
        else:
            self.dismiss(edited)

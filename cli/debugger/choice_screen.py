"""The conversations that can be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import OptionList

from autoparser.analysis.overview.debugged_prompts import DebuggedConversation
from autoparser.reports import visible

__all__ = ["ChoiceScreen"]


class ChoiceScreen(ModalScreen[DebuggedConversation | None]):
    """A list, of which one is given back; None where nothing is chosen."""

    AUTO_FOCUS = "*"
    CSS = """
    ChoiceScreen { align: center middle; }
    #choices { width: 76; max-width: 95%; height: auto; max-height: 80%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "back")]

    def __init__(self, conversations: Sequence[DebuggedConversation]) -> None:
        super().__init__()
        self.conversations = conversations

    def compose(self) -> ComposeResult:
        """Draw the list."""
        rows = [
            Text.assemble((f"{visible(each.name)}  ", "bold"), visible(each.about))
            for each in self.conversations
        ]
        yield OptionList(*rows, id="choices")

    def on_mount(self) -> None:
        """Begin at the first."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give back what was chosen."""
        self.dismiss(self.conversations[event.option_index])

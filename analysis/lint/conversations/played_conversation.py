"""A conversation of the matrix and what the template made of it."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.lint.renders import Render

from .whole_conversation import WholeConversation


@dataclass(frozen=True, slots=True)
class PlayedConversation:
    """A conversation of the matrix and what the template made of it."""

    conversation: WholeConversation
    render: Render

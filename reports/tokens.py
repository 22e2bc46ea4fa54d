"""A prompt's tokens, each under its message, with the loss mask marked.

For example, of a turn with reasoning:

    1 assistant              <|im_start|>·a·s·s·i·s·t·a·n·t·↵·<think>·↵
                  loss text  H·m·.
                  loss       ↵·</think>·↵↵
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, document_json
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.history.rendered_tokens import RenderedTokens

from .blocks import Blocks, Row, blank, prose, rows, sentence
from .terminal import report_text
from .visible import LEGEND, visible

_STYLES = ("cyan", "green", "yellow", "magenta", "blue", "red")
"""Styles of the messages in turn; the template's own text has none of them."""
_OWN_STYLE = "dim"
_SAMPLED = "underline"
_BETWEEN = "·"
_GOES_ON = "‥"
_NAME = 13
"""Cells for the index and the role of a message."""
_LEGEND = (
    f"{_BETWEEN} separates tokens, {_GOES_ON} marks a token that ends inside a character;"
    " loss: written by the model; text: copied from the message"
)


class TokenDocument(JsonDocument, frozen=True):
    """A token and its owner."""

    id: int
    """The token's id, e.g. `28`."""
    text: str
    """The text that it adds, e.g. `"<"`; empty if it only continues a character."""
    message: Count | None
    """The index of the message in the conversation, e.g. `1`; null for the template's own text."""
    role: str | None
    """The role of that message, e.g. `"user"`; null for the template's own text."""
    content: bool
    """Whether the text comes from the message, e.g. `false` for `<|im_start|>`."""
    sampled: bool
    """Whether a model writes it, e.g. `false` for a question."""
    loss: bool
    """Whether it counts in the training loss, e.g. `true` for an answer."""


class TokensDocument(JsonDocument, frozen=True):
    """A render as tokens."""

    template: TemplateDocument
    """The template that was rendered, e.g. from `"chat_template.jinja"`."""
    tokens: tuple[TokenDocument, ...]
    """The tokens in their order, e.g. first that with the text `"<"`."""


def tokens_report(
    tokens: RenderedTokens, pieces: Sequence[str], roles: Sequence[str], width: int
) -> Text:
    """Show every token; `pieces` are their texts, `roles` the messages' roles."""
    loss = sum(tokens.loss_mask)
    content = sum(tokens.is_content)
    head = sentence(
        (f"{len(tokens)}", "bold"), " tokens, ", (f"{loss}", "bold"), " in the loss mask, "
    )
    head = sentence(head, (f"{content}", "bold"), " of the messages' own text")
    drawn: Blocks = [
        *prose(head, indent=0),
        *prose(Text(_LEGEND, style="dim")),
        # Spaces at the edges of tokens have no sign here.
        *prose(Text(LEGEND.partition(",")[0], style="dim")),
        *blank(),
        *rows(list(_token_rows(tokens, pieces, roles)), indent=0, words=False, label=_NAME + 10),
    ]
    return report_text(drawn, width)


def _token_rows(
    tokens: RenderedTokens, pieces: Sequence[str], roles: Sequence[str]
) -> Iterator[Row]:
    last: int | None = None
    kinds = list(zip(tokens.message_indices, tokens.loss_mask, tokens.is_content, strict=True))
    for (message, loss, content), run in groupby(range(len(kinds)), key=kinds.__getitem__):
        # A message has several rows, one for each kind of its tokens.
        name = "" if message == last else _message_label(message, roles)
        last = message
        label = f"{name:{_NAME}} {'loss' if loss else '':4} {'text' if content else ''}"
        style = _OWN_STYLE if message < 0 else _STYLES[message % len(_STYLES)]
        # A token that ends inside a character adds no text.
        shown = [visible(pieces[at]) or _GOES_ON for at in run]
        text = Text(_BETWEEN, style="dim").join(
            Text(piece, style=f"{style} {_SAMPLED}" if loss else style) for piece in shown
        )
        yield label.rstrip(), text


def _message_label(message: int, roles: Sequence[str]) -> str:
    return "template" if message < 0 else visible(f"{message} {roles[message]}")[:_NAME]


def tokens_document(
    tokens: RenderedTokens, pieces: Sequence[str], roles: Sequence[str], template: NamedTemplate
) -> dict[str, Json]:
    """Return every token with its owner, as JSON values."""
    listed = (
        TokenDocument(
            tokens.token_ids[at],
            pieces[at],
            # A negative index marks the template's own text.
            message if message >= 0 else None,
            roles[message] if message >= 0 else None,
            tokens.is_content[at],
            tokens.sampled[at],
            tokens.loss_mask[at],
        )
        for at, message in enumerate(tokens.message_indices)
    )
    return document_json(TokensDocument(named_template(template), tuple(listed)))

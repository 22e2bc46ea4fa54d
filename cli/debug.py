"""``autoparser debug``: a template and its prompt, in the terminal, piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from autoparser.analysis.core.error_words import spelling_hint
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import (
    TokenizerOption,
    ToolsOption,
)
from .request import SwitchOptions, file_value, read_tools, warn_of_switches
from .source import STANDARD_INPUT, TemplateSource


def debug(
    *,
    conversation: Annotated[
        str | None,
        "NAME|FILE",
        "A shipped conversation by its name, or a YAML or JSON file: a list, or {messages:"
        " [...], tools: [...]}. [default: call]",
    ] = None,
    beside: Annotated[
        str | None, "NAME|FILE", "A second conversation, which the key b shows beside the first."
    ] = None,
    tools: ToolsOption = None,
    switch_options: SwitchOptions,
    tokenizer: TokenizerOption = None,
    source: TemplateSource,
    limits: Limits | None = None,
) -> None:
    """Step through a render: which line of the template wrote what.

    Shows the template beside the prompt, and for each piece of the prompt the line that wrote it,
    the conditions that led there, and the values in them. Keys open nested values, show the tokens,
    the loss mask, the effect of each switch and two conversations side by side, and edit the
    conversation; ? lists them. Unknown special tokens appear by name, such as <bos_token>. Needs
    the extra autoparser-chat[debug].

    Exit code: 0, or 2 if it cannot start.
    """
    if not _has_textual():
        raise AutoparserError(
            "the debugger needs the package textual, which is not installed",
            hint="pip install '.[debug]' in a checkout, or use autoparser render --trace",
        )
    if source.source == STANDARD_INPUT or not _has_terminal():
        raise AutoparserError(
            "the debugger needs a terminal to read from and to draw on",
            hint="run it in one, on a file, or use autoparser render --trace",
        )

    from .debugger import DebuggerApp

    source.check()
    template = source.template()
    switches = switch_options.values()
    warn_of_switches(source.label, template, switches)
    template.check_syntax()
    # A template file alone has no special tokens, and many templates fail without them.
    known = wings.rendering_tokens(template, wings.template_suggestions(template))
    template = replace(template, special_tokens=known)
    if limits is not None:
        template = wings.isolated(template, limits)
    offered = None if tools is None else tuple(read_tools(tools))
    shipped = [
        replace(shipped_conversation, switches=switches)
        for shipped_conversation in wings.shipped_conversations()
    ]
    first = _find_conversation(conversation or shipped[0].name, shipped, offered)
    other = None if beside is None else _find_conversation(beside, shipped, offered)
    # The named conversations come first, and a shipped one among them is not repeated.
    named = [chosen for chosen in (first, other) if chosen is not None]
    others = [
        candidate for candidate in shipped if candidate.name not in {given.name for given in named}
    ]
    loaded = source.tokenizer(tokenizer, template, segmenting=True)
    DebuggerApp(source.label, template, [*named, *others], other, loaded).run()


def _has_textual() -> bool:
    try:
        return find_spec("textual") is not None
    # `find_spec` raises ValueError for a loaded module without a spec.
    except ValueError:
        return False


def _has_terminal() -> bool:
    # Textual draws on standard error.
    return sys.stdin.isatty() and sys.stderr.isatty()


def _find_conversation(
    name: str, shipped: Sequence[wings.DebuggedConversation], tools: tuple[wings.Tool, ...] | None
) -> wings.DebuggedConversation:
    """Return the conversation of a name or of a file. Raises AutoparserError."""
    found = next((candidate for candidate in shipped if candidate.name == name), None)
    if found is None and not Path(name).exists():
        names = [candidate.name for candidate in shipped]
        raise AutoparserError(
            "neither a file nor a shipped conversation",
            file=name,
            hint=spelling_hint(name, names, f"pass a file, or choose from {', '.join(names)}"),
        )
    if found is None:
        value = file_value(Path(name), "the conversation")
        found = replace(shipped[0], about="from a file").with_edits(value, name)
    return found if tools is None else replace(found, tools=tools)

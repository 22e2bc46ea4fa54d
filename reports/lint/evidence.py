"""What shows a finding: two texts and where they differ, or one text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.lint.hit import HitEvidence, ShownText
from autoparser.reports.blocks import Blocks, difference, excerpt, prose
from autoparser.reports.difference import LineOrigins, compared
from autoparser.reports.visible import lines, visible

__all__ = ["evidence_lines", "messages_text", "shown_origins", "text_lines"]

HEAD, TAIL = 160, 480
"""Characters of a text that is shown alone; what matters is mostly at its end."""


def evidence_lines(evidence: HitEvidence, indent: int) -> Blocks:
    """Draw evidence; whitespace is visible, and of two texts only where they differ."""
    one, other = evidence.one, evidence.other
    if other is None:
        return [*prose(_label("", one), indent, hang=2), *_alone(one, indent)]
    drawn = [
        *prose(_label("- ", one), indent, hang=2),
        *prose(_label("+ ", other), indent, hang=2),
    ]
    if one.error or other.error:
        for shown in (one, other):
            drawn += _alone(shown, indent)
        return drawn
    if one.text == other.text:
        said, other_said = messages_text(one), messages_text(other)
        if said != other_said:
            drawn += difference(compared(said, other_said), indent)
        drawn += prose(Text("come out alike:", style="dim"), indent)
        return [*drawn, *_alone(one, indent)]
    return [*drawn, *_rendered_difference(one, other, indent)]


def shown_origins(one: ShownText, other: ShownText) -> tuple[LineOrigins, LineOrigins] | None:
    """Return the lines that wrote two texts; None where they are not known."""
    return (one.origins, other.origins) if one.origins and other.origins else None


def _rendered_difference(one: ShownText, other: ShownText, indent: int) -> Blocks:
    pieces = compared(one.text, other.text)
    return difference(pieces, indent, shown_origins(one, other))


def messages_text(shown: ShownText) -> str:
    """Return the conversation as JSON, a message a line; empty where there is none."""
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in shown.messages)


def _label(sign: str, shown: ShownText) -> Text:
    words = Text(f"{sign}{visible(shown.label)}", style="bold")
    if shown.messages:
        roles = [str(each.get("role", "?")) for each in shown.messages]
        words.append(f" ({visible(', '.join(roles))})", style="dim")
    return words


def _alone(shown: ShownText, indent: int) -> Blocks:
    if shown.error:
        return prose(Text(f"raises: {visible(shown.error)}", style="red"), indent + 2)
    return excerpt(text_lines(shown.text), indent + 2)


def text_lines(text: str) -> Iterator[Text]:
    """Return the lines of a text that is shown alone, of a long one its beginning and its end."""
    if not text:
        yield Text("(nothing)", style="dim italic")
    elif len(text) <= HEAD + TAIL:
        yield from lines(text)
    else:
        yield from lines(text[:HEAD])
        yield Text(f"… {len(text) - HEAD - TAIL} more characters", style="dim italic")
        yield from lines(text[-TAIL:])

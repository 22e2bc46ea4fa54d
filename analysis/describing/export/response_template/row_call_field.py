r"""Calls that are literals and slots in a row: the target captures what stands before arguments.

For example, of `<tool_call>\n<function=f>\n…</function>\n</tool_call>`:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> field = row_field(analyze(template).format.calls, r"\A", TurnEnds("", ()))
    >>> print(field.open)
    <tool_call>\s*<function=(?P<name>[^\s{}\[\]<>"']+?)>\s*
    >>> print(field.close)
    \n?</function>\s*</tool_call>
    >>> field.settings["transform"]["function"]
    {'name': '{name}', 'arguments': '{content}'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, Literal, Slot
from autoparser.analysis.describing.export.export_limits import ExportLimit, MessagePiece

from .arguments import ContentParser, arguments_reader
from .framing import CallsField, TurnEnds, framed
from .patterns import WORD, at_most, behind, either, exact, loose, space_at_start
from .value_losses import loaded


def row_field(calls: CallFormat, turn: str, end: TurnEnds) -> CallsField | None:
    """Read each call by the literals around its name; None where the name is not to be found.

    `turn` matches where a turn begins, `end` what ends it.
    """
    if calls.row.count(Slot.ARGUMENTS) != 1:
        return None
    braced = _with_braces(calls)
    reader = arguments_reader(calls.arguments)
    if braced is not None:
        other = arguments_reader(braced.arguments)
        if other.content == "json" and other.weight < max(reader.weight, 1):
            calls, reader = braced, other
    at = calls.row.index(Slot.ARGUMENTS)
    head, tail = calls.row[:at], calls.row[at + 1 :]
    if Slot.NAME not in head and Slot.ID not in head:
        return None
    seam = _seam(calls, head, tail, reader)
    head = head[: at - seam.taken]
    after = (seam.after or _pattern(tail, inner=True)).removesuffix(r"\s*")
    follows = seam.before or _follows(calls, head, after, calls is braced)
    opened, ahead = _captures(calls, head) + follows, _pattern(head) + follows
    first = head[0]
    marked = not isinstance(first, Slot) and bool(first.strip())
    if not marked and not calls.section_open.strip():
        opened, ahead = f"{behind(turn)}{opened}", f"{behind(turn)}{ahead}"
    frame = framed(
        calls,
        opened=opened,
        ahead=ahead,
        marked=marked,
        after=after,
        end=end,
        body_end=_body_end(calls, reader),
    )
    call: dict[str, Json] = {
        "type": "function",
        "function": {"name": "{name}", "arguments": "{content}"},
    }
    if Slot.ID in head:
        call["id"] = "{id}"
    settings: dict[str, Json] = {"content": reader.content}
    content_args = dict(reader.settings)
    if seam.limit is not None and reader.content == "json":
        content_args["allow_non_json"] = True
    if content_args:
        settings["content_args"] = content_args
    return CallsField(
        frame.open,
        frame.ahead,
        frame.close,
        frame.behind,
        {**settings, "repeats": True, "transform": call},
        (
            *reader.limits,
            *([seam.limit] if seam.limit else ()),
            *_ids(tail),
            *(() if marked else _closers(tail)),
        ),
        reader.needs_tools,
        frame.section_close,
        frame.separator,
        not calls.arguments.is_json and not reader.any_names,
    )


def _follows(calls: CallFormat, head: Sequence[str | Slot], after: str, braced: bool) -> str:
    """Look ahead to the arguments, where no literal shows that the name has ended."""
    literal = head[-1]
    if not braced and not isinstance(literal, Slot) and literal.strip():
        return ""
    begins = calls.arguments.write({_KEY: 1}).partition(_KEY)[0].strip()
    begins = begins[:1] if begins.endswith('"') else begins
    return f"(?={either([exact(begins), after])})" if begins else r"(?=\s)"


_KEY = "zkey"


def _body_end(calls: CallFormat, reader: ContentParser) -> str:
    """Match how the arguments always end."""
    if reader.content == "json":
        return "" if reader.limits else exact(calls.arguments.write({_KEY: 1})[-1:])
    return exact(calls.arguments.members.close.strip())


def _ids(tail: Sequence[str | Slot]) -> tuple[ExportLimit, ...]:
    if Slot.ID not in tail:
        return ()
    why = "they stand after the arguments, and the target captures only what opens a call"
    return (ExportLimit(MessagePiece.IDS, why),)


def _closers(tail: Sequence[str | Slot]) -> tuple[ExportLimit, ...]:
    """Say which strings end a call that nothing but its name opens and a mere sign closes."""
    close = Literal.of(tail[0] if tail and not isinstance(tail[0], Slot) else "")
    if not close.core or close.is_marker or close.mark:
        return ()
    why = f"a {close.core[0]} in them ends the call, where the next one seems to follow"
    return (ExportLimit(MessagePiece.STRINGS, why, characters=close.core[0]),)


@dataclass(frozen=True, slots=True)
class _Seam:
    """What stands right around the arguments, calls without any among them."""

    before: str = ""
    after: str = ""
    """In place of what the row has after the arguments; empty: nothing is in its place."""
    taken: int = 0
    """How many pieces of the row `before` stands for."""
    limit: ExportLimit | None = None


def _seam(
    calls: CallFormat, head: Sequence[str | Slot], tail: Sequence[str | Slot], reader: ContentParser
) -> _Seam:
    """Find patterns that hold for a call without arguments, too."""
    empty = calls.empty_row
    if empty is None:
        if not reader.empty and not _is_empty_object(calls.arguments.write({})):
            return _Seam(limit=_NO_ARGUMENTS)
        return _Seam()
    if not reader.empty:
        return _Seam(limit=_NO_ARGUMENTS)
    before = "" if isinstance(head[-1], Slot) else head[-1]
    after = tail[0] if tail and not isinstance(tail[0], Slot) else ""
    last = empty[-1]
    if isinstance(last, Slot) or len(tail) > 1:
        return _Seam() if not before.strip() and not after.strip() else _Seam(limit=_WRITTEN)
    if _squashed(last) == _squashed(before + after):
        return _Seam()
    closer = last.strip()
    if closer and after.rstrip().endswith(closer):
        rest = after.rstrip().removesuffix(closer)
        short = rf"(?=\s*{loose(closer)})"
        called = _pattern(head[: -1 if before else None])
        at_once = rf"(?<={called}\s*){loose(closer)}"
        closing = either([loose(rest + closer), at_once]) if rest.strip() else loose(closer)
        return _Seam(either([loose(before), short]), closing, bool(before))
    return _Seam(limit=_WRITTEN)


_NO_ARGUMENTS = ExportLimit(
    MessagePiece.NO_ARGUMENTS, "what then stands there is no JSON, and comes out as text"
)
_WRITTEN = ExportLimit(
    MessagePiece.NO_ARGUMENTS, "such calls are written in another way than the rest"
)


def _is_empty_object(text: str) -> bool:
    try:
        return loaded(text) == {}
    except ValueError:
        return False


def _squashed(text: str) -> str:
    return "".join(text.split())


def _with_braces(calls: CallFormat) -> CallFormat | None:
    """Take the braces around the arguments for a part of them."""
    at = calls.row.index(Slot.ARGUMENTS)
    if not 0 < at < len(calls.row) - 1 or calls.arguments.members.open:
        return None
    before, after = calls.row[at - 1], calls.row[at + 1]
    if isinstance(before, Slot) or isinstance(after, Slot):
        return None
    if not before.endswith("{") or not after.startswith("}"):
        return None
    row = (*calls.row[: at - 1], before[:-1], Slot.ARGUMENTS, after[1:], *calls.row[at + 2 :])
    members = replace(calls.arguments.members, open="{", close="}", empty="{}")
    return replace(calls, row=row, arguments=replace(calls.arguments, members=members))


def _captures(calls: CallFormat, head: Sequence[str | Slot]) -> str:
    """Match what stands before the arguments, and capture the name and the id in it."""
    named = {Slot.NAME: f"(?P<name>{WORD})", Slot.ID: f"(?P<id>{WORD})"}
    if calls.naming is not None:
        name = f"(?P<name>{WORD if calls.id_row else _PLAIN_WORD})"
        inside = calls.naming.pattern(name, exact, word=WORD, number=r"\d+")
        named[Slot.ID] = f"(?P<id>{inside})"
    return _pattern(head, named)


_PLAIN_WORD = r"""[\w-]*?[^\W\d][\w-]*?"""
"""A name within an id of which no render shows how it is put together: it is not a number."""


def _pattern(
    row: Sequence[str | Slot], named: Mapping[Slot, str] | None = None, *, inner: bool = False
) -> str:
    """Match a piece of a call's row; `inner` says that arguments stand right before it.

    `named` has the patterns that capture a slot where it first stands.
    """
    pieces: list[str] = []
    for at, piece in enumerate(row):
        if not isinstance(piece, Slot):
            space = at_most(space_at_start(piece)) if inner and not at else ""
            pieces.append(space + loose(piece if at else piece.lstrip()))
        elif piece is Slot.INDEX:
            pieces.append(r"\d+")
        else:
            pieces.append(WORD if named is None or piece in row[:at] else named.get(piece, WORD))
    return "".join(pieces)

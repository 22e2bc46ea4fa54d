"""Rules as a structural tag: text goes free, and what stands between two tags obeys a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, Part, Slot
from autoparser.analysis.reading.expression import Turn

from .call_writer import GrammarError
from .json_styles import object_style
from .schema_reader import SchemaReader
from .turn_rules import call_heads


def write_structural_tag(
    turn: Turn, tools: Mapping[str, Json], *, required: bool = False
) -> dict[str, Json]:
    """Write the calls of a turn as the structural tag of OpenAI-compatible servers.

    A tag holds one call. Where the format has a section around its calls, every tag opens and
    closes it. Raises GrammarError for what a tag cannot express, by part.
    """
    calls = turn.strict.calls
    written = any(row.has(Part.CALLS) for row in turn.strict.rows)
    if calls is None or not tools or not written:
        raise GrammarError(
            "there are no calls to write as a structural tag",
            hint="offer tools, to a template that writes calls",
        )
    gaps = list(_gaps(calls))
    if gaps:
        raise GrammarError(
            f"a structural tag cannot express this format: {'; '.join(gaps)}",
            place=gaps[0].partition(":")[0],
            hint="write the grammar as Lark or GBNF",
        )
    structures: list[Json] = [_structure(calls, name, schema) for name, schema in tools.items()]
    triggers: list[Json] = [_trigger(calls, each) for each in call_heads(calls, tuple(tools))[:1]]
    return {
        "type": "structural_tag",
        "structures": structures,
        "triggers": triggers,
        "at_least_one": required,
    }


def _gaps(calls: CallFormat) -> Iterator[str]:
    """Say what a tag cannot express: between begin and end there is JSON and nothing else."""
    arguments = calls.arguments
    if arguments.encoded:
        yield "arguments: they are text inside a JSON string"
    elif not arguments.verbatim and object_style(arguments.members, arguments.values) is None:
        yield "arguments: they are not written as JSON"
    for slot in (Slot.ID, Slot.INDEX):
        if calls.has(slot):
            yield f"{slot}: it differs from call to call"
    if not calls.has(Slot.NAME):
        yield "name: it stands within the id"


def _structure(calls: CallFormat, name: str, schema: Json) -> dict[str, Json]:
    at = calls.row.index(Slot.ARGUMENTS)
    begin = "".join(name if piece is Slot.NAME else str(piece) for piece in calls.row[:at])
    end = "".join(name if piece is Slot.NAME else str(piece) for piece in calls.row[at + 1 :])
    reader = SchemaReader(schema, f"the parameters of {name}")
    found = {"type": "object", **reader.resolved(reader.root)}
    return {
        "begin": calls.section_open + begin,
        "schema": reader.alone(found, order=calls.arguments.members.order),
        "end": end + calls.section_close,
    }


def _trigger(calls: CallFormat, head: str) -> str:
    """Return the trigger with what every tag begins with before it."""
    first = calls.row[0]
    begin = calls.section_open + ("" if isinstance(first, Slot) else first)
    at = begin.find(head)
    return begin[: at + len(head)] if at >= 0 else head

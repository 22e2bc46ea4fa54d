"""The format of a turn, as JSON."""

from __future__ import annotations

from itertools import groupby

from autoparser.analysis.core.conversation import Json, Presence
from autoparser.analysis.core.format import CallFormat, Layout, TurnFormat, joints_of

from .notations import container_document, edges_document, notation_document, row_document
from .plain import plain_mapping


def format_document(format_: TurnFormat) -> dict[str, Json]:
    """Return all that a format says."""
    retention = format_.retention
    return {
        "header": format_.header,
        "openings": [
            {
                "setting": plain_mapping(opening.setting),
                "text": opening.text,
                "written": opening.written.value,
                "tools": opening.tools,
            }
            for opening in format_.openings
        ],
        "layouts": [
            _layout(presence, layout) for presence, layout in sorted(format_.layouts.items())
        ],
        "joints": _joints(format_),
        "calls": None if format_.calls is None else _calls(format_.calls),
        "ends": [
            {"after": end.after.value, "text": end.text, "historic": end.historic}
            for end in format_.ends
        ],
        "stop_strings": list(format_.stop_strings),
        "argument_form": format_.argument_form.value,
        "setting": plain_mapping(format_.setting),
        "reasoning_open": format_.reasoning_open,
        "reasoning_close": format_.reasoning_close,
        "reasoning_cut": format_.reasoning_cut,
        "elsewhere": [*sorted(part.value for part in format_.elsewhere)],
        "unconfirmed": [*sorted(part.value for part in format_.unconfirmed)],
        "retention": {
            "tool_loop": retention.tool_loop,
            "next_user": retention.next_user,
            "answered_loop": retention.answered_loop,
            "next_user_without_tools": retention.next_user_without_tools,
        },
    }


def _presence(presence: Presence) -> dict[str, Json]:
    return {
        "reasoning": presence.reasoning,
        "content": presence.content,
        "calls": presence.calls,
    }


def _layout(presence: Presence, layout: Layout) -> dict[str, Json]:
    return {
        "presence": _presence(presence),
        "parts": [part.value for part in layout.parts],
        "literals": list(layout.literals),
        "edges": {
            "reasoning": edges_document(layout.reasoning),
            "content": edges_document(layout.content),
        },
        "refusal": layout.refusal or None,
    }


def _joints(format_: TurnFormat) -> list[Json]:
    """Return what stands between neighbours, over all layouts in which they are neighbours."""
    return [
        {
            "before": before,
            "after": after,
            "literals": [
                {
                    "text": joint.text,
                    "presences": [_presence(presence) for presence in joint.presences],
                }
                for joint in joints
            ],
        }
        for (before, after), joints in groupby(
            joints_of(format_), key=lambda joint: (joint.before, joint.after)
        )
    ]


def _calls(calls: CallFormat) -> dict[str, Json]:
    arguments = calls.arguments
    return {
        "section_open": calls.section_open,
        "section_close": calls.section_close,
        "separator": calls.separator,
        "row": row_document(calls.row),
        "empty_row": None if calls.empty_row is None else row_document(calls.empty_row),
        "later_close": calls.later_close,
        "index_base": calls.index_base,
        "limit": calls.limit.value,
        "id_row": row_document(calls.id_row),
        "leads": list(calls.leads),
        "free_words": [
            {"piece": word.piece, "start": word.start, "end": word.end} for word in calls.free_words
        ],
        "arguments": {
            "verbatim": arguments.verbatim,
            "encoded": arguments.encoded,
            "margin": arguments.margin,
            "refused": [*sorted(kind.value for kind in arguments.refused)],
            "members": container_document(arguments.members),
            "values": notation_document(arguments.values),
        },
    }

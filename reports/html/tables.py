"""The markers, the modes, the switches, the tools."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.reports.switches import NO_EFFECT, switch_rows, unmoved_words, unset_words
from autoparser.reports.tables import marker_rows
from autoparser.reports.tools_in_prompt import tools_in_prompt_groups, tools_summary
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import lead, table
from .signs import inline
from .styled import styled

__all__ = ["MEANINGS", "markers", "modes", "switches", "tools_in_prompt"]

MEANINGS = {
    "reasoning": {
        "NONE": "no reasoning reaches the text",
        "TAG_BASED": "between two markers",
        "DELIMITER": "from the turn's start up to a marker",
        "FORCED_OPEN": "the generation prompt has opened it",
        "FORCED_CLOSED": "one setting's prompt opens it, another's writes an empty block",
        "TOOLS_ONLY": "only in turns with calls",
    },
    "content": {
        "PLAIN": "nothing stands around it",
        "ALWAYS_WRAPPED": "markers stand around it",
        "WRAPPED_WITH_REASONING": "markers stand around it beside reasoning",
    },
    "tool calls": {
        "NONE": "no call reaches the text",
        "JSON_NATIVE": "a JSON object holds name and arguments",
        "TAG_WITH_JSON": "the name, then the arguments as JSON",
        "TAG_WITH_TAGGED": "the name, then each argument by itself",
    },
    "call id": {
        "NONE": "not written apart from JSON",
        "PRE_FUNC_NAME": "before the function's name",
        "BETWEEN_FUNC_AND_ARGS": "between the name and the arguments",
        "POST_ARGS": "after the arguments",
    },
}


def modes(analysis: LearntFormat) -> Element:
    """List what kind of format this is."""
    view = analysis.view
    given = {
        "reasoning": view.reasoning.value,
        "content": view.content.value,
        "tool calls": view.tools.value,
        "call id": view.call_id.value,
    }
    rows: list[Sequence[Node]] = [
        (name, h("code", mode), MEANINGS[name][mode]) for name, mode in given.items()
    ]
    flags = view.flags
    for name, flag in (
        ("tools in the prompt", flags.supports_tools),
        ("several calls in a turn", flags.supports_parallel_calls),
        ("content must not be null", flags.requires_nonnull_content),
        ("calls in one array", flags.tools_array_wrapped),
    ):
        rows.append((name, h("code", "yes" if flag else "no"), ""))
    return fragment(
        lead("docs/modes.md explains every mode, flag and marker, by templates that show it."),
        table("Modes and flags", ("of", "mode", "meaning"), rows),
    )


def markers(analysis: LearntFormat) -> Element:
    """List every marker, with the phase whose renders show it."""
    rows: list[Sequence[Node]] = [
        (h("code", name), h("code", styled(text)), _phase(phase))
        for phase, name, text in marker_rows(analysis)
    ]
    rows += [
        (h("code", "stop string"), inline(text), _phase(""))
        for text in analysis.formats.united.stop_strings
    ]
    if not rows:
        return lead("None: nothing stands around any part.")
    return fragment(
        lead("Cores alone, without the whitespace at their edges; each with the phase behind it."),
        table("Markers", ("marker", "text", "found by"), rows),
    )


def _phase(phase: str) -> Node:
    return h("a", phase, href=f"#phase-{phase}") if phase else "the end of the turn"


def switches(analysis: LearntFormat) -> Element:
    """List the variables that a caller may set, and what each value changes."""
    rows: list[Sequence[Node]] = []
    for switch in analysis.switches:
        for at, (value, words) in enumerate(switch_rows(analysis, switch)):
            unset = unset_words(switch, analysis.formats)
            name = fragment(h("code", visible(switch.name)), h("br"), h("small", unset))
            again = h("span", visible(switch.name), class_="unseen")
            rows.append((again if at else name, h("code", value), fragment(styled(words))))
    return fragment(
        lead("Variables that a caller may set, and what each value changes.")
        if rows
        else lead("None: no variable changes a render."),
        table("Switches", ("switch", "value", "effect"), rows) if rows else None,
        h("p", f"{NO_EFFECT}: ", styled(unmoved_words(analysis.unmoved)))
        if analysis.unmoved
        else None,
    )


def tools_in_prompt(found: ToolsInPrompt) -> Element:
    """List what of tools does not reach the prompt, and on which of them the template raises."""
    return fragment(
        lead(*styled(tools_summary(found))),
        [
            table(
                title, (title, "tools"), [(name, fragment(styled(words))) for name, words in rows]
            )
            for title, rows in tools_in_prompt_groups(found)
        ],
    )

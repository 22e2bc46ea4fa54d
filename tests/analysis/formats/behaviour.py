"""All that a server asks of a format, asked of an analysis or of a file alike.

Run as a program, it asks it of saved formats.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autoparser import (
    AutoparserError,
    LearntFormat,
    RefusedMessageError,
    load_format,
    response_template,
)
from autoparser.analysis.core.documents import json_of
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.formats.format_document import turn_document
from autoparser.analysis.sources.token_bytes import OpaqueTokens

CHUNK = 3
"""Characters of a chunk of a stream."""

Texts = list[list[str]]
"""The outputs to parse after every generation prompt, in the order of the prompts."""


def openings(learnt: LearntFormat) -> Iterator[tuple[TurnFormat, TurnOpening]]:
    """Go through the generation prompts of all settings."""
    for format_ in learnt.formats:
        for opening in format_.openings:
            yield format_, opening


def behaviour(learnt: LearntFormat, texts: Texts) -> dict[str, Any]:
    """Ask everything; what cannot be had is its error."""
    asked = [
        _with_prompt(learnt, opening, outputs)
        for (_, opening), outputs in zip(openings(learnt), texts, strict=True)
    ]
    return {
        "written": [list(_written(format_)) for format_ in learnt.formats],
        "stops": [list(format_.stop_strings) for format_ in learnt.formats],
        "export": [_export(format_) for format_ in learnt.formats],
        "united": _export(learnt.formats.united),
        "default": _grammars(learnt),
        "prompts": asked,
    }


def _export(format_: TurnFormat) -> list[Any]:
    made = response_template(format_)
    return [made.document, *([each.piece, each.reason, sorted(each.types)] for each in made.limits)]


def _written(format_: TurnFormat) -> Iterator[str]:
    for case in battery_messages():
        try:
            yield format_.write(case.message)
        except RefusedMessageError as error:
            yield f"refused: {error}"


def _with_prompt(
    learnt: LearntFormat, opening: TurnOpening, texts: Sequence[str]
) -> dict[str, Any]:
    tools = list(loose_tools()) if opening.tools else None
    by_setting: dict[str, Any] = {"chat_template_kwargs": opening.setting}
    by_prompt: dict[str, Any] = {"prompt": f"a conversation, and then {opening.text}"}
    found: dict[str, Any] = {}
    for how, request in (("setting", by_setting), ("prompt", by_prompt)):
        begun = learnt.begun(tools, **request)
        parser = learnt.parser(tools, call_ids=1, **request)
        found[how] = {
            # The order of mappings, which `repr` shows, says nothing.
            "begun": [[json_of(turn_document(each.format)), repr(each.opening)] for each in begun],
            "read": [repr(parser.parse(text)) for text in texts],
            "grammars": _grammars(learnt, tools, **request),
        }
    parser = learnt.parser(tools, call_ids=1, **by_setting)
    found["streamed"] = []
    for text in texts:
        stream = parser.stream()
        deltas = [
            delta
            for at in range(0, len(text), CHUNK)
            for delta in stream.feed(text[at : at + CHUNK])
        ]
        deltas += stream.finish()
        found["streamed"].append([repr(deltas), repr(stream.message)])
    return found


def _grammars(learnt: LearntFormat, tools: Any = None, **request: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for lazy in (False, True) if tools else (False,):
        try:
            made = learnt.grammar(tools, lazy=lazy, **request)
        except AutoparserError as error:
            found[f"refused, lazy={lazy}"] = str(error)
            continue
        for name, write in (
            ("gbnf", made.gbnf),
            ("lark", lambda made=made: made.lark(OpaqueTokens())),
            ("tag", made.structural_tag),
            ("triggers", lambda made=made: list(made.triggers)),
        ):
            try:
                found[f"{name}, lazy={lazy}"] = write()
            except AutoparserError as error:
                found[f"{name}, lazy={lazy}"] = str(error)
        found[f"tokens, lazy={lazy}"] = [*made.preserved_tokens, *made.stop_strings]
    return found


def main(folder: Path) -> None:
    """Answer every `NAME.texts.json` of a folder from `NAME.format.json`."""
    for asked in sorted(folder.glob("*.texts.json")):
        name = asked.name.removesuffix(".texts.json")
        learnt = load_format(folder / f"{name}.format.json")
        found = behaviour(learnt, json.loads(asked.read_text()))
        (folder / f"{name}.found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

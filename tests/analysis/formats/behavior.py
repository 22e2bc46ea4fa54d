"""Compare a saved format with its analysis in everything a server uses, also without Jinja.

`python behavior.py FOLDER` answers each `NAME.texts.json` of a folder from `NAME.format.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoparser import AutoparserError, LearnedFormat, load_format, response_template
from autoparser.analysis.core.documents import document_json
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.formats.format_document import turn_document
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.errors import RefusedMessageError

if TYPE_CHECKING:
    # `Analysis` needs Jinja, which some of these tests run without.
    from autoparser import Analysis

ROOT = Path(__file__).parents[3]
WITHOUT_JINJA = (
    "import runpy, sys; sys.modules['jinja2'] = None; program = sys.argv.pop(1);"
    " runpy.run_path(program, run_name='__main__')"
)
CHUNK = 3
"""Characters of a chunk of a stream."""


def differing(
    analyses: Mapping[str, Analysis], folder: Path
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return of each name which questions its file answers otherwise, and how many texts it read.

    The files are read in a process without jinja2, and are left in the folder.
    """
    expected: dict[str, dict[str, Any]] = {}
    counts: dict[str, int] = {}
    for name, analysis in analyses.items():
        texts = [_rendered(analysis, *opening) for opening in openings(analysis)]
        counts[name] = sum(map(len, texts))
        analysis.save(folder / f"{name}.format.json")
        (folder / f"{name}.texts.json").write_text(json.dumps(texts))
        expected[name] = json.loads(json.dumps(behavior(analysis, texts)))
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", WITHOUT_JINJA, __file__, str(folder)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = {name: json.loads((folder / f"{name}.found.json").read_text()) for name in analyses}
    wrong = {
        name: [question for question, answer in answers.items() if found[name][question] != answer]
        for name, answers in expected.items()
    }
    return wrong, counts


def _rendered(analysis: Analysis, format_: TurnFormat, opening: TurnOpening) -> list[str]:
    """Render the battery after a generation prompt, as the template continues it."""
    tools = list(loose_tools()) if opening.tools else None
    turns = analysis.turns(tools, chat_template_kwargs=opening.setting)
    messages = [case.message for case in battery_messages() if tools or not case.message.calls]
    written = [turns.written_turn(format_.with_naming_ids(message)).rest for message in messages]
    return [text for text in written if text]


def openings(learned: LearnedFormat) -> Iterator[tuple[TurnFormat, TurnOpening]]:
    """Return the generation prompts of all settings."""
    return ((format_, opening) for format_ in learned.formats for opening in format_.openings)


def behavior(learned: LearnedFormat, texts: list[list[str]]) -> dict[str, Any]:
    """Answer everything; an error stands for what cannot be answered.

    `texts` are the outputs to parse after every generation prompt, in the order of the prompts.
    """
    asked = zip(openings(learned), texts, strict=True)
    return {
        "written": [
            _answer(lambda: format_.write(case.message))  # noqa: B023 - called at once
            for format_ in learned.formats
            for case in battery_messages()
        ],
        "export": [
            response_template(format_).document
            for format_ in (*learned.formats, learned.formats.united)
        ],
        "grammars": _grammars(learned, None),
        "prompts": [_behind(learned, opening, outputs) for (_, opening), outputs in asked],
    }


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (AutoparserError, RefusedMessageError) as error:
        return f"refused: {error}"


def _behind(learned: LearnedFormat, opening: TurnOpening, texts: list[str]) -> list[Any]:
    tools = list(loose_tools()) if opening.tools else None
    by_setting: dict[str, Any] = {"chat_template_kwargs": opening.setting}
    by_prompt: dict[str, Any] = {"prompt": f"a conversation, and then {opening.text}"}
    found: list[Any] = []
    for request in (by_setting, by_prompt):
        parser = learned.parser(tools, call_ids=1, **request)
        for turn in learned.begun(tools, **request):
            found += [document_json(turn_document(turn.format)), repr(turn.opening)]
        found += [repr(parser.parse(text)) for text in texts]
        found += _grammars(learned, tools, **request)
    parser = learned.parser(tools, call_ids=1, **by_setting)
    for text in texts:
        stream = parser.stream()
        chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
        found += [repr([*map(stream.feed, chunks), stream.finish(), stream.message])]
    return found


def _grammars(learned: LearnedFormat, tools: Any, **request: Any) -> list[Any]:
    def forms(*, lazy: bool) -> list[Any]:
        made = learned.grammar(tools, lazy=lazy, **request)
        lark, tag = lambda: made.lark(OpaqueTokens()), made.structural_tag
        written: list[Callable[[], Any]] = [made.gbnf, lark, tag]
        kept = [*made.triggers, *made.preserved_tokens, *made.stop_strings]
        return [*map(_answer, written), kept]

    return [_answer(lambda: forms(lazy=lazy)) for lazy in (False, bool(tools))]  # noqa: B023


def main(folder: Path) -> None:
    """Write `NAME.found.json` beside each `NAME.texts.json`."""
    for asked in sorted(folder.glob("*.texts.json")):
        name = asked.name.removesuffix(".texts.json")
        found = behavior(load_format(folder / f"{name}.format.json"), json.loads(asked.read_text()))
        (folder / f"{name}.found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

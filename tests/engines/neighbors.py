"""Measure how constrained requests slow down others: `python -m tests.engines.neighbors ENGINE`.

    0, 1, 4 concurrent required calls, repeated  |  next to them, plain answers of 60 tokens

ENGINE is one of `answer_table`, with Qwen3's template. A server computes the masks of all running
answers before each token, so a slow mask delays every answer. The calls contain a string of 500
characters, where masks cost most. It prints the seconds of the plain answers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import Any

from .answer_table import TABLE, TOOLS, made_by, running
from .chats import parrot_of, prompt_renderer

PLAIN = "It is sunny in Oslo. " * 4
TOKENS = 60
CALL = {"name": "get_weather", "arguments": {"city": 'Oslo, "Norway" ' * 31, "days": 3}}
ROUNDS = 10
BESIDE = (0, 1, 4)


def main() -> None:
    """Serve the parrot, and print how long plain answers take beside required calls."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("engine", choices=["vllm", "sglang", "serve"])
    maker = TABLE["makers"]["qwen3"]
    analysis = made_by(maker)
    parrot = parrot_of([analysis], TOOLS, ["<|im_end|>"])
    setting = {"enable_thinking": False}
    openai: Any = import_module("openai")

    def body(script: str, **fields: Any) -> dict[str, Any]:
        prompt_of = prompt_renderer(analysis, fields.get("tools", []), **setting)
        user = parrot.padded_message(f"{script}<|im_end|>", prompt_of)
        said = {"messages": [{"role": "user", "content": user}], "temperature": 0, **fields}
        return {**said, "extra_body": {"chat_template_kwargs": setting}}

    call = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
    plain = body(PLAIN, max_tokens=TOKENS)
    required = body(call, max_tokens=1000, tools=TOOLS, tool_choice="required")
    flags = {"sglang": ("--max-running-requests", "8"), "vllm": ("--max-num-seqs", "8")}
    engine = options.parse_args().engine
    with running(engine, analysis, parrot, ["autoparser"] * 2, flags.get(engine, ())) as (
        url,
        model,
    ):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=300)

        def seconds(asked: Mapping[str, Any]) -> tuple[float, Any]:
            begun = time.perf_counter()
            (choice,) = client.chat.completions.create(model=model, **asked).choices
            return time.perf_counter() - begun, choice.message

        # The first of each compiles its grammar and fills the caches.
        seconds(plain)
        first, said = seconds(required)
        (meant,) = said.tool_calls
        assert json.loads(meant.function.arguments) == CALL["arguments"]
        sys.stdout.write(f"first required call: {first:.1f} s, second {seconds(required)[0]:.1f}\n")
        for count in BESIDE:
            over = Event()

            def keep_calling(over: Event = over) -> int:
                done = 0
                while not over.is_set():
                    seconds(required)
                    done += 1
                return done

            with ThreadPoolExecutor(count or 1) as threads:
                calling = [threads.submit(keep_calling) for _ in range(count)]
                time.sleep(1)
                taken = sorted(seconds(plain)[0] for _ in range(ROUNDS))
                over.set()
                calls = sum(found.result() for found in calling)
            sys.stdout.write(
                f"beside {count} required calls ({calls} finished): median"
                f" {statistics.median(taken):.2f} s, {taken[0]:.2f} to {taken[-1]:.2f}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The parrot itself: a real server and transformers write a given script, and nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.lanes import sampled

from .padding import ScriptTooLongError, padded_message
from .parrot import Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = pytest.mark.engine

MARKERS = (("<|im_start|>", True), ("<|im_end|>", True), ("<call>", False), ("</call>", False))
SCRIPTS = [
    "Hello.<|im_end|>",
    "\n\n  padded  \n<|im_end|>",
    'Wait.\n<call>\n{"name": "see", "arguments": {"city": "Malmö"}}\n</call><|im_end|>',
    "日本, naïve, 👩\N{ZERO WIDTH JOINER}🚀 <call <<call>> </cal<|im_end|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab<|im_end|>",
    "x" * 200 + "<|im_end|>",
]


def prompt_of(message: str) -> str:
    return f"<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    with running_llama(Parrot(MARKERS, lag=400), tmp_path_factory.mktemp("parrot")) as running:
        yield running


@pytest.mark.parametrize("script", sampled(SCRIPTS, 3))
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_server_writes_the_script(llama: RunningLlama, script: str, temperature: float) -> None:
    prompt = prompt_of(padded_message(llama.parrot, script, prompt_of))
    answer = llama.complete(prompt, temperature=temperature, preserved_tokens=["<|im_end|>"])
    choice = answer["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (script, "stop")


def test_it_writes_a_script_only_where_the_padding_is_right(llama: RunningLlama) -> None:
    message = padded_message(llama.parrot, SCRIPTS[0], prompt_of)
    answer = llama.complete(prompt_of(message.replace("x", "", 1)))
    assert not answer["choices"][0]["text"].startswith("Hello.")


def test_a_script_longer_than_the_lag_is_refused() -> None:
    with pytest.raises(ScriptTooLongError, match="the lag is 50"):
        padded_message(Parrot(MARKERS, lag=50), "a" * 60, prompt_of)


def test_a_prompt_without_the_script_is_refused() -> None:
    with pytest.raises(ValueError, match="does not hold the script"):
        padded_message(Parrot(MARKERS), "abc", lambda message: message.upper())


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_transformers_writes_the_script(script: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed (the extra gpu)")
    parrot = Parrot(MARKERS, lag=400)
    parrot.save_directory(tmp_path)
    transformers: Any = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    prompt = prompt_of(padded_message(parrot, script, prompt_of))
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    length = len(parrot.tokenizer.encode(script).ids)
    written = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=length, do_sample=False
    )
    assert tokenizer.decode(written[0, ids.shape[1] :]) == script

"""Sample from a model with random weights under the mask, the hardest case for it.

The model is a tiny one of a real architecture, made here. Where torch is missing, these tests are
skipped with that reason; the others of this folder need none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from autoparser.analysis.decoding.answer_writers import ModelError, load_model
from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import (
    DeviceError,
    ModelSampler,
    apply_mask,
    choose_device,
    masked_walks,
    measure_walks,
)
from autoparser.analysis.decoding.matcher_grammar import FreeGrammar, allowed_tokens, mask_row
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.case_tables import load_cases

from .tiny_model import save_tiny_model, tiny_model
from .tokenizers_here import small

pytestmark = pytest.mark.slow

SCHEMA = load_cases(__file__, "model_sampler.yaml")["schema"]
CONSTRAINT = Constraint.json_schema(SCHEMA, whitespace="compact")


@pytest.fixture
def torch() -> Any:
    """Load torch when a test runs: to collect this file must not take seconds and 200 MB."""
    return pytest.importorskip("torch", reason="torch is not installed (the extra gpu)")


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest, torch: Any) -> str:
    """Name each device that is there."""
    name: str = request.param
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return name


def random_model(tokenizer: ModelTokenizer, device: str) -> Any:
    return tiny_model(tokenizer).eval().to(choose_device(device))


def is_valid(text: str) -> bool:
    try:
        jsonschema.validate(json.loads(text), SCHEMA)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


def test_only_masked_answers_are_valid(device: str, bytes_backend: GrammarBackend) -> None:
    tokenizer = bytes_backend.tokenizer
    model = random_model(tokenizer, device)
    prompts = [tokenizer.encode(text) for text in ("Go", "Where to?", "a", "<think>")]
    grammars = [bytes_backend.grammar(CONSTRAINT) for _ in prompts]
    masked = measure_walks(grammars, tokenizer, ModelSampler(model, prompts, seed=1), 120)
    assert all(walk.ended and is_valid(walk.text) for walk in masked.walks)
    free = [FreeGrammar(tokenizer) for _ in prompts]
    unmasked = measure_walks(free, tokenizer, ModelSampler(model, prompts, seed=1), 120)
    assert not any(is_valid(walk.text) for walk in unmasked.walks)


def texts_of(backend: GrammarBackend, prompts: list[list[int]], **options: Any) -> list[str]:
    sampler = ModelSampler(random_model(backend.tokenizer, "cpu"), prompts, **options)
    grammars = [backend.grammar(CONSTRAINT) for _ in prompts]
    return [walk.text for walk in masked_walks(grammars, backend.tokenizer, sampler, 120)]


@pytest.mark.usefixtures("torch")
def test_batched_answers_equal_single_ones_and_repeat_by_seed(
    bytes_backend: GrammarBackend,
) -> None:
    """Padding on the left and answers that end early change nothing, shown by a greedy choice."""
    tokenizer = bytes_backend.tokenizer
    prompts = [tokenizer.encode(text) for text in ("Go", "Where to go today?", "a")]
    greedy = {"temperature": 1e-4, "pad_id": tokenizer.eos_id}
    alone = [texts_of(bytes_backend, [prompt], **greedy)[0] for prompt in prompts]
    assert texts_of(bytes_backend, prompts, **greedy) == alone
    first, again, other = (texts_of(bytes_backend, [[1], [2]], seed=seed) for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("width", [31, 64, 70, 96, 100])
def test_device_mask_leaves_only_allowed_logits_finite(torch: Any, width: int, device: str) -> None:
    words = np.random.default_rng(width).integers(-(2**31), 2**31, (3, 3), dtype=np.int32)
    mask = torch.from_numpy(words)
    logits = apply_mask(torch.zeros((3, width), device=device), mask.to(device)).cpu()
    for row in range(3):
        allowed = [token for token in allowed_tokens(mask_row(words, row)) if token < width]
        assert torch.isfinite(logits[row]).nonzero().flatten().tolist() == allowed


def test_tensor_mask_equals_the_numpy_mask(torch: Any, bytes_backend: GrammarBackend) -> None:
    words = bytes_backend.tokenizer.mask_words
    grammar = bytes_backend.grammar(CONSTRAINT)
    tensor = torch.zeros((2, words), dtype=torch.int32)
    numbers = np.zeros((2, words), dtype=np.int32)
    grammar.fill_vocab_mask(tensor, 1)
    grammar.fill_vocab_mask(numbers, 1)
    assert (tensor.numpy() == numbers).all()


def test_missing_or_unknown_device_is_an_error(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(DeviceError, match="the device cuda is not there"):
        choose_device("cuda")
    for wrong in ("tpu7", "meta", ""):
        with pytest.raises(DeviceError, match="unknown device"):
            choose_device(wrong)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert choose_device("cuda:0").index == 0
    with pytest.raises(DeviceError, match="the device cuda:1 is not there"):
        choose_device("cuda:1")


@pytest.mark.usefixtures("torch")
def test_model_dtype_follows_its_directory_or_loading_fails(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model in this directory"):
        load_model(tmp_path, "cpu")
    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match="cannot load the model"):
        load_model(tmp_path, "cpu")
    with pytest.raises(DeviceError, match="unknown device 'tpu7'"):
        load_model(tmp_path, "tpu7")
    directory = save_tiny_model(tmp_path, small())
    width = load_model(directory, "auto").width
    loaded = tokenizer_of(directory, vocab_size=width)
    assert (loaded.vocab_size, loaded.eos_ids) == (width, small().eos_ids)

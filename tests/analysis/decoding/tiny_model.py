"""Save a tiny model of a real architecture with random weights."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from autoparser.analysis.sources.tokenizer import ModelTokenizer


def tiny_model(tokenizer: ModelTokenizer) -> Any:
    # Callers check that torch is installed.
    torch: Any = importlib.import_module("torch")
    transformers: Any = importlib.import_module("transformers")
    config: Any = transformers.Qwen2Config(
        # Wider than the vocabulary, as real models are.
        vocab_size=tokenizer.vocab_size + 11,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    torch.manual_seed(0)
    return transformers.Qwen2ForCausalLM(config)


def save_tiny_model(directory: Path, tokenizer: ModelTokenizer) -> Path:
    tiny_model(tokenizer).save_pretrained(directory)
    tokenizer.hf.save(str(directory / "tokenizer.json"))
    ends = json.dumps({"eos_token_id": list(tokenizer.eos_ids)})
    (directory / "generation_config.json").write_text(ends, "utf-8")
    return directory

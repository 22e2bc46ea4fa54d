"""The parrot: a model of one layer that repeats what stood `lag` tokens earlier.

A server that runs it writes exactly a given script, whatever the sampler, so that a test may ask
for a whole message by real HTTP, through a real tokenizer, and know what has to come. Nothing is
trained: numpy makes the weights of a Qwen3.

Each token has a random code, and beside it the constant 1. Queries and keys look at the constant
alone. All keys are alike, and RoPE turns a key by its place; the query is turned back by `lag - 1`
places, so that of all keys the one exactly that far back fits it best:

    place   0  1  2  3  4  5        lag 3: at place 5 the query looks at place 3 (5 - (3 - 1)),
    token   a  b  c  a  b  c  ->a   whose token, "a", is what stood three before place 6

The value is the code of the token there, and the output is tied to the codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from autoparser.analysis.sources.token_bytes import byte_tokenizer

Tensor: TypeAlias = NDArray[np.float32]

CODE = 96
HIDDEN = 128
HEAD = 128
HEADS = 2
"""The second one writes nothing; engines split pairs."""
FEED_FORWARD = 64
ROPE_BASE = 10_000.0
CONTEXT = 32_768
LOUD = 8.0
"""Weight of the repeated token against the token at its place."""
SHARP = 12.0
"""Scale of codes after the final norm: it decides how sure the model is."""
END = "<|parrot-end|>"
"""Ends an answer in every parrot's vocabulary; no template writes it."""
PAD = "x"
"""One byte, which is one token of every parrot."""
NEVER = ("ÿ", "ÿ")
"""A pair that no text has, since no byte of UTF-8 is 255: GGUF wants one merge at least."""


@dataclass(frozen=True)
class Parrot:
    """A model that repeats; its vocabulary is the bytes, and markers in one token each."""

    markers: tuple[tuple[str, bool], ...] = ()
    """Texts of one token, and whether each is a control token."""
    lag: int = 1200
    """How many tokens before each token the same token stands."""
    ends: tuple[str, ...] = ()
    """Markers that end an answer beside `END`, as a model's own list of them has them."""

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; every text is its bytes, except for the markers."""
        return byte_tokenizer((*self.markers, (END, True)))

    def padded_message(self, script: str, prompt_of: Callable[[str], str]) -> str:
        """Return the user's message after whose prompt the parrot writes the script.

        `prompt_of` renders the prompt of a message. Between the script's first token and the first
        one that is generated there have to be `lag` tokens. Raises ValueError where there are more
        already, or where the template does not write the script as it is.
        """

        def message(padding: int) -> str:
            # Framed by letters: templates cut the whitespace at the edges of a message.
            return f"Say: {script}{PAD * padding}."

        prompt = prompt_of(message(0))
        # A prompt without the script raises ValueError here.
        behind = self.tokenizer.encode(prompt[prompt.rindex(script) :]).ids
        if len(behind) > self.lag:
            raise ValueError(f"the lag is {self.lag}, and {len(behind)} tokens are there")
        return message(self.lag - len(behind))

    def save_gguf(self, path: Path, template: str = "") -> None:
        """Write the model, its tokenizer and its chat template as one file for llama.cpp."""
        writer = gguf.GGUFWriter(path, "qwen3")
        writer.add_name("parrot")
        writer.add_context_length(CONTEXT)
        writer.add_embedding_length(HIDDEN)
        writer.add_block_count(1)
        writer.add_feed_forward_length(FEED_FORWARD)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(1)
        writer.add_key_length(HEAD)
        writer.add_value_length(HEAD)
        writer.add_layer_norm_rms_eps(1e-6)
        writer.add_rope_freq_base(ROPE_BASE)
        self._add_vocabulary(writer)
        if template:
            writer.add_chat_template(template)
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, 1)
        for name, tensor in self._tensors().items():
            known = names.get_name(name, try_suffixes=(".weight",))
            assert known is not None, name
            writer.add_tensor(known, tensor)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def save_directory(self, folder: Path) -> None:
        """Write the model and its tokenizer as a directory for transformers, vLLM and SGLang."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self._config()), "utf-8")
        self.tokenizer.save(str(folder / "tokenizer.json"))
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
        generation = {"eos_token_id": self._config()["eos_token_id"]}
        (folder / "generation_config.json").write_text(json.dumps(generation), "utf-8")
        save_file(self._tensors(), folder / "model.safetensors", {"format": "pt"})

    def _config(self) -> Mapping[str, object]:
        ends = [self.tokenizer.token_to_id(text) for text in (END, *self.ends)]
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "vocab_size": self.tokenizer.get_vocab_size(),
            "hidden_size": HIDDEN,
            "intermediate_size": FEED_FORWARD,
            "num_hidden_layers": 1,
            "num_attention_heads": HEADS,
            "num_key_value_heads": 1,
            "head_dim": HEAD,
            "rms_norm_eps": 1e-6,
            "rope_theta": ROPE_BASE,
            "max_position_embeddings": CONTEXT,
            "tie_word_embeddings": True,
            "attention_bias": False,
            "hidden_act": "silu",
            "eos_token_id": ends if self.ends else ends[0],
            "bos_token_id": None,
            "torch_dtype": "float32",
        }

    def _add_vocabulary(self, writer: gguf.GGUFWriter) -> None:
        vocabulary = self.tokenizer.get_vocab()
        known = self.tokenizer.get_added_tokens_decoder().values()
        added = {token.content: token.special for token in known}
        tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
        types = {True: gguf.TokenType.CONTROL, False: gguf.TokenType.USER_DEFINED}
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list(tokens)
        writer.add_token_types(
            [types[added[token]] if token in added else gguf.TokenType.NORMAL for token in tokens]
        )
        writer.add_token_merges([" ".join(NEVER)])
        writer.add_eos_token_id(vocabulary[END])
        # A GGUF file declares at most two more end tokens; llama.cpp recognizes others by name.
        named = (writer.add_eot_token_id, writer.add_eom_token_id)
        for name_end, text in zip(named, self.ends, strict=False):
            name_end(vocabulary[text])
        writer.add_add_bos_token(False)

    def _tensors(self) -> dict[str, Tensor]:
        """Make the weights, by the names of the checkpoint."""
        random = np.random.default_rng(0)
        codes = random.standard_normal((self.tokenizer.get_vocab_size(), CODE))
        embedding = np.zeros((len(codes), HIDDEN))
        embedding[:, :CODE] = codes / np.linalg.norm(codes, axis=1, keepdims=True)
        embedding[:, CODE] = 1
        query, key = np.zeros((HEADS * HEAD, HIDDEN)), np.zeros((HEAD, HIDDEN))
        query[:HEAD, CODE] = self._looking_back()
        key[: HEAD // 2, CODE] = 1
        value, output = np.zeros((HEAD, HIDDEN)), np.zeros((HIDDEN, HEADS * HEAD))
        value[:CODE, :CODE] = LOUD * np.eye(CODE)
        output[:CODE, :CODE] = np.eye(CODE)
        last = np.zeros(HIDDEN)
        last[:CODE] = SHARP
        layer = "model.layers.0"
        made = {
            "model.embed_tokens.weight": embedding,
            "model.norm.weight": last,
            f"{layer}.input_layernorm.weight": np.ones(HIDDEN),
            f"{layer}.post_attention_layernorm.weight": np.ones(HIDDEN),
            f"{layer}.self_attn.q_proj.weight": query,
            f"{layer}.self_attn.k_proj.weight": key,
            f"{layer}.self_attn.v_proj.weight": value,
            f"{layer}.self_attn.o_proj.weight": output,
            f"{layer}.self_attn.q_norm.weight": np.full(HEAD, LOUD),
            f"{layer}.self_attn.k_norm.weight": np.full(HEAD, LOUD),
            f"{layer}.mlp.gate_proj.weight": np.zeros((FEED_FORWARD, HIDDEN)),
            f"{layer}.mlp.up_proj.weight": np.zeros((FEED_FORWARD, HIDDEN)),
            f"{layer}.mlp.down_proj.weight": np.zeros((HIDDEN, FEED_FORWARD)),
        }
        return {name: tensor.astype(np.float32) for name, tensor in made.items()}

    def _looking_back(self) -> NDArray[np.float64]:
        """Return the query: a key's direction, each pair of it turned back by `lag - 1` places."""
        pairs = np.arange(HEAD // 2)
        angles = -(self.lag - 1) * ROPE_BASE ** (-2 * pairs / HEAD)
        return np.concatenate([np.cos(angles), np.sin(angles)])

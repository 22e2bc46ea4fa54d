"""Tokenizers as masks need them: exact bytes, added tokens, ends, and one loading."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.sources.tokenizer import AddedToken, ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.decoding.tokenizers_here import (
    byte_tokenizer,
    deepseek,
    piece_tokenizer,
    pieces,
    qwen,
    small,
    unigram,
)

HOSTILE = 'a<think>é🙂\n\n\n  {"x": "<tool_call>"}\x00</think><|im_end|>｜DSML｜'


slow = pytest.mark.slow
REAL = [pytest.param(load, marks=slow) for load in (qwen, deepseek)]


@pytest.mark.parametrize("load", [small, unigram, pieces, *REAL])
def test_tokens_have_their_exact_bytes(load: Any) -> None:
    tokenizer: ModelTokenizer = load()
    tokens = tokenizer.encode(HOSTILE)
    assert b"".join(map(tokenizer.bytes_of, tokens)) == HOSTILE.encode()
    assert tokenizer.decode(tokens) == HOSTILE
    plain = tokenizer.encode_plain(HOSTILE.encode())
    assert b"".join(map(tokenizer.bytes_of, plain)) == HOSTILE.encode()
    assert not {token.id for token in tokenizer.added if token.opaque} & set(plain)
    assert len(tokenizer.token_bytes) == tokenizer.vocab_size <= 32 * tokenizer.mask_words


def test_partial_character_decodes_to_its_bytes() -> None:
    tokens = small().encode("é")
    assert [small().bytes_of(token) for token in tokens] == [b"\xc3", b"\xa9"]
    assert small().decode(tokens[:1]) == "\ufffd"


@pytest.mark.parametrize("make", [byte_tokenizer, lambda: piece_tokenizer("bpe")])
def test_token_bytes_equal_llguidances_without_importing_it(make: Callable[[], Tokenizer]) -> None:
    tokenizer = tokenizer_of(make(), eos="<|end|>")
    assert tokenizer.piece(10**12) == tokenizer.piece(-1) == b""
    pieces = tokenizer.token_bytes
    assert "ll" not in vars(tokenizer)
    plain = [at for at in range(len(pieces)) if at not in tokenizer.added_by_id]
    # llguidance has a use of its own for the byte 0xFF.
    assert [
        at for at in plain if pieces[at] not in (tokenizer.ll.decode_bytes([at]), b"\xff")
    ] == []
    assert len({pieces[at] for at in plain}) >= 256


def test_added_tokens_have_ids_and_flags_and_unknown_ids_raise() -> None:
    bytes_tokenizer = small("<think>", "</think>")
    size = bytes_tokenizer.vocab_size
    assert bytes_tokenizer.added == (
        AddedToken(size - 3, "<think>", special=False, opaque=True),
        AddedToken(size - 2, "</think>", special=False, opaque=True),
        AddedToken(size - 1, "<|end|>", special=True, opaque=True),
    )
    assert bytes_tokenizer.eos_id == size - 1
    for token in (-1, size):
        with pytest.raises(TokenizerError, match=f"token {token} is not in"):
            bytes_tokenizer.bytes_of(token)


def test_text_is_split_at_special_tokens() -> None:
    tokenizer = small("<think>", "<think>x>", "\n\n", "word")
    ids = {token.text: token.id for token in tokenizer.added}
    cut = tokenizer.opaque.pieces("a<think>\n\nword<think>x><thin")
    assert cut == ["a", ids["<think>"], "\n\nword", ids["<think>x>"], "<thin"]
    assert tokenizer.opaque.pieces("") == []
    assert tokenizer.encode_marked("<think>x><a") == [ids["<think>x>"], *tokenizer.encode("<a")]


def test_equal_tokenizers_are_loaded_once(tmp_path: Path) -> None:
    made = byte_tokenizer()
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "<|end|>"}}')
    first = tokenizer_of(made, eos="<|end|>")
    assert tokenizer_of(first) is first
    assert tokenizer_of(made) is tokenizer_of(made)
    assert tokenizer_of(made, eos="<|end|>").ll is first.ll
    assert tokenizer_of(tmp_path).ll is tokenizer_of(tmp_path / "tokenizer.json").ll
    assert tokenizer_of(tmp_path).ll is first.ll
    assert tokenizer_of(first, vocab_size=512).ll is not first.ll


def test_generation_config_and_eos_argument_override_the_end_token(tmp_path: Path) -> None:
    made = byte_tokenizer(control=("<|end|>", "<|stop|>"))
    end, stop = made.token_to_id("<|end|>"), made.token_to_id("<|stop|>")
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    assert tokenizer_of(tmp_path).eos_ids == (end,)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [stop, end]}))
    assert tokenizer_of(tmp_path).eos_ids == (stop, end)
    assert tokenizer_of(tmp_path, eos=["<|stop|>", "<|stop|>"]).eos_ids == (stop,)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|stop|>")
    assert tokenizer_of(wrapped).eos_ids == (stop,)


def test_vocab_size_may_exceed_the_vocabulary() -> None:
    tokenizer = tokenizer_of(byte_tokenizer(), eos="<|end|>", vocab_size=512)
    assert (tokenizer.vocab_size, tokenizer.mask_words, tokenizer.bytes_of(511)) == (512, 16, b"")


def test_unknown_token_may_be_an_added_token() -> None:
    """It is renamed in both places."""
    document = json.loads(byte_tokenizer(control=("<unk>", "<|end|>")).to_str())
    unknown = next(token for token in document["added_tokens"] if token["content"] == "<unk>")
    document["model"]["vocab"]["<unk>"] = unknown["id"]
    document["model"]["unk_token"] = "<unk>"
    tokenizer = tokenizer_of(Tokenizer.from_str(json.dumps(document)), eos="<|end|>")
    assert tokenizer.bytes_of(unknown["id"]) == b"<unk>"
    assert tokenizer.eos_ids == (tokenizer.hf.token_to_id("<|end|>"),)


WORDS = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, "<unk>"))


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        (Path("/nowhere"), {}, "/nowhere: no tokenizer found"),
        (3, {}, "tokenizer: int is not a tokenizer"),
        (byte_tokenizer(), {"eos": "<|no|>"}, "unknown end-of-sequence token '<|no|>'"),
        (byte_tokenizer(), {"eos": 4000}, "unknown end-of-sequence token 4000"),
        (WORDS, {"eos": 1}, "llguidance does not support this tokenizer"),
        (byte_tokenizer(), {"eos": []}, "no end-of-sequence token"),
        (byte_tokenizer(), {}, "has no end-of-sequence token"),
        (byte_tokenizer(), {"eos": "<|end|>", "vocab_size": 9}, "more than the 9 asked for"),
    ],
)
def test_unusable_tokenizers_are_errors(source: object, options: dict[str, Any], says: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        _ = tokenizer_of(source, **options).ll
    assert says in str(caught.value)

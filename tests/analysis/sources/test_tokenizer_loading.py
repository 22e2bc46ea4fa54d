"""Tokenizers from every file that models ship them in, and from files made to harm."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from autoparser import AutoparserError
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.sources.token_bytes import byte_letters
from autoparser.analysis.sources.tokenizer import AddedToken, ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import (
    load_tokenizer,
    tokenizer_beside,
    tokenizer_of,
)
from tests.analysis.decoding.tokenizers_here import (
    byte_tokenizer,
    deepseek,
    piece_tokenizer,
    pieces,
    qwen,
    small,
    unigram,
)
from tests.analysis.sources.hub_server import Hub
from tests.real_vocabularies import deepseek_file

EMPTY: dict[str, Any] = json.loads(Tokenizer(models.BPE({"a": 0}, [])).to_str())


def changed(**parts: Any) -> str:
    return json.dumps({**EMPTY, **parts})


def model(**parts: Any) -> dict[str, Any]:
    return {**EMPTY["model"], **parts}


def replacing(count: int, length: int) -> dict[str, Any]:
    each = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * length}
    return {"type": "Sequence", "normalizers": [each] * count}


NESTED = '"normalizer": ' + '{"type":"Sequence","normalizers":[' * 50_000 + "]}" * 50_000
BROKEN, LARGE = "not a tokenizer (", "larger than any tokenizer"
BOMBS: dict[str, tuple[str, Callable[[], str]]] = {
    "nested": (BROKEN, lambda: changed().replace('"normalizer": null', NESTED)),
    "many entries": (LARGE, lambda: '{"model":{"vocab":{' + '"a":1,' * 3_000_001 + '"b":2}}}'),
    "too many bytes": (LARGE, lambda: " " * (65 << 20)),
    "ids far apart": (
        "the vocabulary has 1 tokens, but one has the id 4294967295",
        lambda: changed(model=model(vocab={"a": 4_294_967_295})),
    ),
    "growing normalizers": (
        "its normalizers expand one character",
        lambda: changed(normalizer=replacing(4, 1000)),
    ),
    "no JSON": (BROKEN, lambda: "\0\0\0"),
    "a merge of unknown parts": (BROKEN, lambda: changed(model=model(merges=["x y"]))),
}

WATCHED = """
import resource, sys
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer
import tokenizers
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_tokenizer(sys.argv[1])
except AutoparserError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_tokenizer_bomb_error_is_one_line_and_uses_little_memory(tmp_path: Path, name: str) -> None:
    words, made = BOMBS[name]
    path = tmp_path / "tokenizer.json"
    path.write_text(made())
    done = subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-c", WATCHED, str(path)], capture_output=True, text=True, check=True
    )
    line, megabytes = done.stdout.splitlines()
    assert line.startswith(f"{path}: {words}")
    assert line.isprintable()
    # The peak is the content of the file, held twice.
    assert int(megabytes) < 160


def test_padding_and_truncation_are_ignored(tmp_path: Path) -> None:
    numbers = {"pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
    padding = {"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_token": "a", **numbers}
    path = tmp_path / "tokenizer.json"
    path.write_text(changed(padding=padding))
    assert load_tokenizer(path).encode("aaa", add_special_tokens=False).ids == [0, 0, 0]


def ranks_of(tokenizer: Tokenizer) -> bytes:
    """Write a byte-level vocabulary as tiktoken does."""
    letters = {letter: byte for byte, letter in enumerate(byte_letters())}
    added = tokenizer.get_added_tokens_decoder()
    return b"\n".join(
        base64.b64encode(bytes(letters[letter] for letter in token)) + b" %d" % number
        for token, number in tokenizer.get_vocab().items()
        if number not in added
    )


@pytest.mark.slow
@pytest.mark.parametrize("file", ["vocab.tiktoken", "tokenizer.model"])
def test_tiktoken_ranks_give_the_tokens_of_a_real_vocabulary(tmp_path: Path, file: str) -> None:
    """DeepSeek's, written as ranks: the tokens are the same, and so are their merges."""
    theirs = Tokenizer.from_file(str(deepseek_file()))
    (tmp_path / file).write_bytes(ranks_of(theirs))
    decoder = {
        str(number): {"content": token.content, "special": token.special}
        for number, token in theirs.get_added_tokens_decoder().items()
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    ours = load_tokenizer(tmp_path, segmenting=False)
    assert ours.get_vocab() == theirs.get_vocab()
    # Words that both rules split in the same way.
    for word in ("hello", " world", " international", "\n", "Zusammenhang", "def"):
        mine = ours.encode(word, add_special_tokens=False).ids
        assert mine == theirs.encode(word, add_special_tokens=False).ids, word
    text = next(iter(decoder.values()))["content"]
    assert len(ours.encode(text, add_special_tokens=False).ids) == 1
    with pytest.raises(TokenizerError, match="but not the pre-tokenizer"):
        load_tokenizer(tmp_path)


def test_malformed_tiktoken_ranks_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "vocab.tiktoken"
    long = base64.b64encode(b"x" * 5000) + b" 1"
    for line in (b"Yg==", b"!!!! 1", b"Yg== -1", b"Yg== 99999999999999999999", long):
        path.write_bytes(b"YQ== 0\n" + line)
        with pytest.raises(TokenizerError) as caught:
            load_tokenizer(path, segmenting=False)
        words = "line 2: not a token in base64 with its rank"
        assert str(caught.value).startswith(f"{path}: {words}")


def test_sentencepiece_model_is_named_as_unsupported(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\2")
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/tokenizer.model: sentencepiece is not supported, and no tokenizer.json"
        " is beside the file; convert it once with transformers (AutoTokenizer … save_pretrained)"
        " and pass the tokenizer.json with --tokenizer"
    )
    (tmp_path / "tokenizer.json").write_text(changed())
    assert load_tokenizer(tmp_path).token_to_id("a") == 0


def test_tokenizer_beside_a_source_is_found(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("A")
    file = tmp_path / "chat_template.jinja"
    assert tokenizer_beside(str(file)) is None
    (tmp_path / "tokenizer.json").write_text(changed())
    assert tokenizer_beside(str(file)) == tokenizer_beside(str(tmp_path))
    assert tokenizer_beside(str(file)) == str(tmp_path / "tokenizer.json")
    assert tokenizer_beside("org/model") == "org/model"
    assert tokenizer_beside("nowhere.jinja") is None


def test_hub_tokenizer_is_fetched_alone_and_then_cached(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("org/none", {"chat_template.jinja": "A"})
    with pytest.raises(AutoparserError, match="org/none: no tokenizer found"):
        load_tokenizer("org/none")
    hub.requests.clear()
    hub.add("org/model", {"tokenizer.json": changed(), "chat_template.jinja": "A", "w.bin": b"0"})
    assert load_tokenizer("org/model").token_to_id("a") == 0
    assert {line.rpartition("/")[2] for line in hub.lines[1:]} == {"tokenizer.json"}
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert load_tokenizer("org/model").token_to_id("a") == 0


def test_link_out_of_the_directory_is_not_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "model" / "tokenizer.json").symlink_to(tmp_path / "secret")
    with pytest.raises(AutoparserError, match="this link leads out of its directory"):
        load_tokenizer(tmp_path / "model")


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

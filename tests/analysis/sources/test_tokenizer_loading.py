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

from autoparser import AutoparserError
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.sources.token_bytes import byte_letters
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer, tokenizer_beside
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

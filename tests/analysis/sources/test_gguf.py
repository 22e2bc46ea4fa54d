"""GGUF headers: held against the format's own reader, and against files that lie."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import gguf
import pytest
from huggingface_hub import constants

from autoparser import AutoparserError, load_template, load_tokenizer
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.sources import gguf_files
from autoparser.analysis.sources.gguf_files import file_window, read_header
from autoparser.errors import TemplateNotFoundError
from tests.analysis.sources.gguf_files import (
    TEMPLATE,
    byte_vocabulary,
    header,
    pair,
    text,
    write_model,
)
from tests.analysis.sources.hub_server import Hub
from tests.case_tables import case_tables

pytestmark = pytest.mark.slow

NAMED = [{"name": "default", "template": TEMPLATE}, {"name": "tool_use", "template": "T"}]
table = case_tables(__file__, "sources.yaml")
CHAT_TEMPLATE = "tokenizer.chat_template"
STRING, ARRAY, UINT8, INT32 = 8, 9, 0, 5


@pytest.mark.parametrize("big_endian", [False, True])
def test_gguf_file_gives_its_header_values(tmp_path: Path, big_endian: bool) -> None:
    path = write_model(tmp_path / "m.gguf", NAMED, big_endian=big_endian)
    found = load_template(path)
    assert (found.text, found.name, found.origin) == (TEMPLATE, "default", str(path))
    assert found.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert found.source == Provenance(SourceKind.GGUF, str(path))
    assert load_template(path, name="tool_use").text == "T"
    messages = [{"role": "user", "content": "hi"}]
    assert found.render(messages) == "<s>[user]hi</s>"
    with pytest.raises(TemplateNotFoundError, match="did you mean tool_use"):
        load_template(path, name="tool-use")


def test_gguf_library_reads_the_same_header(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", NAMED)
    ours = read_header(file_window(path), lambda _: True).values
    reader: Any = gguf.GGUFReader(path)
    fields = {key: field for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    assert list(ours) == list(fields)
    for key, field in fields.items():
        theirs = field.contents()
        # gguf returns a list of flags or numbers as numpy values.
        value = list(theirs) if isinstance(ours[key], list) else theirs
        assert ours[key] == value, key


def test_directory_with_only_a_gguf_file_loads_its_template(tmp_path: Path) -> None:
    write_model(tmp_path / "model-Q8_0.gguf", "later")
    write_model(tmp_path / "model-Q4_K_M.gguf", "first")
    write_model(tmp_path / "mmproj-model.gguf", None)
    write_model(tmp_path / "a-00002-of-00003.gguf", None)
    found = load_template(tmp_path)
    assert found.text == "first"
    assert found.source == Provenance(SourceKind.DIRECTORY, str(tmp_path), file="model-Q4_K_M.gguf")
    (tmp_path / "chat_template.jinja").write_text("file")
    assert load_template(tmp_path).text == "file"


HUGE = struct.pack("<Q", 1 << 60)
TEXT, LIST = struct.pack("<I", STRING), struct.pack("<I", ARRAY)
ONE = pair(CHAT_TEMPLATE, STRING, text("x"))
TOKENS = pair("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, 1) + text("a"))
TYPES = pair("tokenizer.ggml.token_type", ARRAY, struct.pack("<IQii", INT32, 2, 1, 1))
SHORT_LIST = LIST + struct.pack("<IQ", INT32, 3) + bytes(8)
DEEP_LIST = LIST + struct.pack("<IQ", ARRAY, 1) * 9 + bytes(99)
LIES: list[tuple[bytes, str]] = [
    (b"", "byte 0: the file ends in the middle of its header"),
    (b"PK\3\4" + bytes(40), "byte 0: not a GGUF file"),
    (header(b"", 0, version=1), "byte 4: unsupported GGUF version 1, not 2 or 3"),
    (header(ONE, 1 << 60), f"byte 16: it claims {1 << 60} key-value pairs, but only 44 bytes"),
    (
        header(HUGE + b"abcdefgh", 1),
        f"byte 24: it claims {1 << 60} bytes of a text, but only 8 bytes",
    ),
    (header(pair("k" * 70_000, UINT8, b"\0"), 1), "byte 24: a key of 70000 bytes is too long"),
    (header(text(CHAT_TEMPLATE) + TEXT + HUGE + b"abc", 1), f"byte 59: it claims {1 << 60} bytes"),
    (header(text("a") + LIST + TEXT + HUGE, 1), f"byte 41: it claims {1 << 60} values"),
    # Unused numbers are skipped, after their count is checked.
    (header(text("scores") + SHORT_LIST, 1), "byte 46: it claims 3 values of an array, but only 8"),
    (header(text("a") + DEEP_LIST, 1), "byte 85: arrays are nested too deep"),
    (header(pair("a", 99, bytes(20)), 1), "byte 33: unknown value type 99"),
    (header(pair("a", ARRAY, struct.pack("<IQ", 99, 1)), 1), "byte 37: unknown value type 99"),
    (header(ONE + ONE, 2), "byte 68: duplicate key 'tokenizer.chat_template'"),
    (header(ONE, 1)[:40], "byte 24: it claims 23 bytes of a text, but only 8 bytes are left"),
    (header(ONE, 2), "byte 68: the file ends in the middle of its header"),
    (header(pair(CHAT_TEMPLATE, UINT8, b"\1"), 1), f"{CHAT_TEMPLATE}: the value is not text"),
    (
        header(pair(CHAT_TEMPLATE, STRING, text(b"\xff")), 1),
        f"{CHAT_TEMPLATE}: the value is not UTF-8",
    ),
    (header(TOKENS + TYPES, 2), "tokenizer.ggml.token_type: the value is 2 types of 1"),
]
"""Files that lie, and how the line begins that says so."""


@pytest.mark.parametrize(("content", "line"), LIES, ids=[line[:60] for _, line in LIES])
def test_malformed_gguf_error_is_one_line_and_uses_no_memory(
    tmp_path: Path, content: bytes, line: str
) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(AutoparserError) as caught:
            load_template(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(caught.value).removeprefix(f"{path}: ").startswith(line)
    assert most < 8 << 20


def test_truncated_gguf_header_is_an_error(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", weights=1)
    end = read_header(file_window(path), lambda _: False).end
    whole = path.read_bytes()
    # The weights may be cut off.
    path.write_bytes(whole[:end])
    assert load_template(path).text == TEMPLATE
    for part in (0.001, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(whole[: int(end * part)])
        with pytest.raises(
            AutoparserError, match=r"byte \d+: .*; the file is corrupt or truncated"
        ):
            load_template(path)


def test_gguf_tokenizer_loads_and_missing_template_lists_its_keys(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(write_model(tmp_path / "m.gguf"))
    encoded = tokenizer.encode("<s>hello<tool_call> hello", add_special_tokens=False)
    assert encoded.tokens == ["<s>", "hello", "<tool_call>", "\u0120", "hello"]
    assert tokenizer.decode(encoded.ids) == "hello<tool_call> hello"
    path = write_model(tmp_path / "none.gguf", None)
    with pytest.raises(TemplateNotFoundError) as caught:
        load_template(path)
    assert str(caught.value) == (
        f"{path}: no chat template in this GGUF file; it was looked for under"
        " tokenizer.chat_template and tokenizer.chat_template.*; pass the model's own files"
    )


def test_unusable_gguf_tokenizer_is_an_error(tmp_path: Path) -> None:
    for words, path in (
        (
            "is 'llama', and only 'gpt2' (byte-level BPE) is supported",
            write_model(tmp_path / "llama.gguf", model="llama"),
        ),
        (
            "this GGUF file names its pre-tokenizer ('qwen2'), but does",
            write_model(tmp_path / "qwen.gguf", pre="qwen2"),
        ),
    ):
        with pytest.raises(AutoparserError) as caught:
            load_tokenizer(path)
        assert words in str(caught.value)
        assert str(caught.value).endswith("give the model's tokenizer.json with --tokenizer")
    # Masks need no rule by which text is cut.
    tokenizer = load_tokenizer(tmp_path / "qwen.gguf", segmenting=False)
    assert tokenizer.token_to_id("<tool_call>") == byte_vocabulary()[0].index("<tool_call>")


def published(tmp_path: Path, template: str = TEMPLATE) -> bytes:
    """Return a file whose weights are much larger than its header."""
    return write_model(tmp_path / "made.gguf", template, weights=2_000_000).read_bytes()


@table("gguf_models")
def test_gguf_model_loads_without_its_weights(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Any
) -> None:
    source, file = case["source"].format(hub=hub.endpoint), case["file"]
    names = ["model-Q8_0.gguf", "model-Q4_K_M.gguf", "mmproj-f16.gguf"]
    more = [] if source == "org/model" else ["model-later.gguf", "deep/other.gguf"]
    commit = hub.add("org/model", {**dict.fromkeys(names + more, published(tmp_path)), "a.md": "x"})
    first = load_template(source)
    assert first.text == TEMPLATE
    assert first.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    revision = "main" if "main" in source else None
    assert first.source == Provenance(SourceKind.HUB, "org/model", file, revision, commit)
    assert first.origin == f"org/model/{file}"
    assert sum(request.sent for request in hub.requests if "/cdn/" in request.line) <= 1 << 20
    asked = len(hub.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert load_template(source) == first
    assert load_tokenizer(source).token_to_id("<s>") is not None
    assert len(hub.requests) == asked


def test_template_files_precede_gguf_files(hub: Hub, tmp_path: Path) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": "A", "m.gguf": published(tmp_path)})
    assert load_template("org/model").text == "A"
    assert load_template("org/model/m.gguf").text == TEMPLATE
    hub.add("org/other", {"tokenizer_config.json": "{}", "m.gguf": published(tmp_path)})
    assert load_template("org/other").text == TEMPLATE
    for source, asked in (("org/model/x.gguf", "x.gguf"), ("org/model:Q2", "Q2")):
        with pytest.raises(TemplateNotFoundError) as caught:
            load_template(source)
        assert str(caught.value) == (
            f"org/model: this repository has no GGUF file {asked!r} at commit {commit}; it has"
            " m.gguf"
        )


@pytest.mark.usefixtures("impatient")
def test_long_gguf_header_is_fetched_in_parts(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_files, "FIRST_PART", 1000)
    monkeypatch.setattr(gguf_files, "LARGEST_PART", 2000)
    hub.add("org/model", {"m.gguf": published(tmp_path, TEMPLATE + "x" * 9000)})
    # Cut in the middle, cut without a byte, and busy: each part is requested again.
    hub.fail("GET /cdn/", 1, keep=300)
    hub.fail("GET /cdn/", 1, keep=0)
    hub.fail("GET /cdn/", 2, status=503, headers={"Retry-After": "0"})
    assert load_template("org/model").text == TEMPLATE + "x" * 9000
    ranges = [request.range for request in hub.requests if "/cdn/" in request.line]
    assert len(ranges) > 6
    assert all(fault.times == 0 for fault in hub.faults)


@pytest.mark.usefixtures("impatient")
def test_missing_gguf_header_leaves_no_partial_file(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/model", {"m.gguf": published(tmp_path)})
    ways: list[tuple[str, dict[str, Any]]] = [
        ("m.gguf: the connection was cut in the middle; try again", {"keep": 0}),
        ("m.gguf: the Hub fails (status 500)", {"status": 500}),
        ("m.gguf: the Hub does not have it (status 404)", {"status": 404}),
    ]
    for words, how in ways:
        hub.faults.clear()
        hub.fail("GET /cdn/", 99, **how)
        with pytest.raises(AutoparserError) as caught:
            load_template("org/model")
        assert words in str(caught.value)
    hub.add("org/lies", {"m.gguf": header(ONE, 1 << 60) + bytes(5000)})
    hub.faults.clear()
    with pytest.raises(AutoparserError, match=r"org/lies/m\.gguf: byte 16: it claims"):
        load_template("org/lies")
    assert not list(Path(constants.HF_ASSETS_CACHE).rglob("*.gguf"))
    assert load_template("org/model").text == TEMPLATE


def test_server_without_range_requests_gives_small_files_only(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    hub.ignores_ranges = True
    hub.add("org/model", {"m.gguf": published(tmp_path)})
    assert load_template("org/model").text == TEMPLATE
    monkeypatch.setattr(gguf_files, "FIRST_PART", 1000)
    hub.add("org/other", {"m.gguf": published(tmp_path, "other" + "x" * 9000)})
    with pytest.raises(AutoparserError, match="does not support range requests"):
        load_template("org/other")

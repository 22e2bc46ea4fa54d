"""Have llama.cpp read texts: its server parses the output of a scripted model.

No parser can be chosen, and no function of the package xllamacpp parses a text. But its server runs
in this process, and answers with its reading of the text that its model has written.

The model is a GGUF file that writes given texts and nothing else. Its vocabulary has the bytes, the
special tokens of the template, and one token for each byte of each text. Such a token makes the
next one of its text certain; after any other token, all are equally likely. So the first token
determines the whole text:

    script  «hi»     «h» -> «i» -> the end
    prompt  …        equally likely, except for the bias that the request sets on the first «h»

A row of the last matrix is a token's code, which is random; a row of the first is the code of what
follows the token, so that their product is greatest there. The layer between them adds nothing.

    write_scripted_model(path, "<s>", "</s>", ["hi", ""])
    ->  Script(first=259, length=2), Script(first=2, length=0)

The first 259 tokens are `<unk>`, `<s>`, `</s>` and the 256 bytes; token 2 ends an answer.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from importlib import import_module
from itertools import accumulate
from math import prod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from .asked_engine import USER, AskedEngine, JoinedMessage, Reading

_WIDTH = 128
"""Length of a code. Its product with itself is large, with any other code small."""
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6
_ALIGNED = 32
_NUMBER = 4
"""Bytes of a number."""
CONTEXT = 65_536
BIAS = 0.2 * _WIDTH
"""Bias on a script's first token: wins at the start, loses to the successor of a token."""


def _pack_numbers(form: str, *values: float) -> bytes:
    """Return numbers as bytes, the least significant first, as GGUF has them."""
    return struct.pack(f"<{form}", *values)


_EIGHT = [
    _pack_numbers("8f", *(1.0 if byte >> bit & 1 else -1.0 for bit in range(8)))
    for byte in range(256)
]


class Script(NamedTuple):
    """The tokens of one text."""

    first: int
    """Its first token; the end token for an empty text."""
    length: int
    """The number of its tokens, which are its bytes."""

    @property
    def tokens(self) -> range:
        """Its tokens, without the end."""
        return range(self.first, self.first + self.length)


def write_scripted_model(path: Path, bos: str, eos: str, texts: Sequence[str]) -> list[Script]:
    """Write the model, with these texts of its first and its last token; return the scripts."""
    control = [bos, eos] if bos != eos else [bos]
    tokens = ["<unk>", *control, *map(_byte, range(256))]
    kinds = [_UNKNOWN, *[_CONTROL] * len(control), *[_BYTE] * 256]
    scripts: list[Script] = []
    follows: dict[int, int] = {}
    for at, text in enumerate(texts):
        script = Script(len(tokens) if text else len(control), len(text.encode()))
        # A vocabulary needs unique texts, but of a byte token only the byte is read.
        tokens += [f"{_byte(byte)}{at}.{place}" for place, byte in enumerate(text.encode())]
        follows |= zip(script.tokens, (*script.tokens[1:], len(control)), strict=False)
        scripts.append(script)
    kinds += [_BYTE] * (len(tokens) - len(kinds))
    path.write_bytes(_gguf(_fields(tokens, kinds, len(control)), _tensors(len(tokens), follows)))
    return scripts


def _byte(byte: int) -> str:
    return f"<0x{byte:02X}>"


def _tensors(tokens: int, follows: dict[int, int]) -> dict[str, tuple[tuple[int, ...], bytes]]:
    """Return shape and content of each tensor by name."""
    # Seeded, so that a run can be repeated.
    random = Random(0)
    codes = [
        b"".join(_EIGHT[byte] for byte in random.randbytes(_WIDTH // 8)) for _ in range(tokens)
    ]
    nothing = bytes(_NUMBER * _WIDTH)
    embedded = [codes[follows[at]] if at in follows else nothing for at in range(tokens)]
    made = {
        "token_embd": ((_WIDTH, tokens), b"".join(embedded)),
        "output_norm": ((_WIDTH,), _pack_numbers("f", 1) * _WIDTH),
        "output": ((_WIDTH, tokens), b"".join(codes)),
    }
    shapes = {f"blk.0.{part}": (_WIDTH,) for part in ("attn_norm", "ffn_norm")} | {
        f"blk.0.{part}": (_WIDTH, _WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    }
    # Zeros, so that the layer adds nothing to a token's embedding.
    return made | {name: (shape, bytes(_NUMBER * prod(shape))) for name, shape in shapes.items()}


def _fields(tokens: Sequence[str], kinds: Sequence[int], eos: int) -> list[bytes]:
    scores = [_pack_numbers("f", 0)] * len(tokens)
    types = [_pack_numbers("i", kind) for kind in kinds]
    epsilon = _pack_numbers("f", 1e-5)
    return [
        _text_field("general.architecture", "llama"),
        _number("llama.context_length", CONTEXT),
        _number("llama.embedding_length", _WIDTH),
        _number("llama.block_count", 1),
        _number("llama.feed_forward_length", _WIDTH),
        _number("llama.attention.head_count", 1),
        _field("llama.attention.layer_norm_rms_epsilon", _FLOAT32, epsilon),
        _text_field("tokenizer.ggml.model", "llama"),
        _array("tokenizer.ggml.tokens", _STRING, [*map(_string, tokens)]),
        _array("tokenizer.ggml.scores", _FLOAT32, scores),
        _array("tokenizer.ggml.token_type", _INT32, types),
        _number("tokenizer.ggml.unknown_token_id", 0),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", eos),
        # The server removes the tokens that it would prepend itself from a prompt.
        _field("tokenizer.ggml.add_bos_token", _BOOL, b"\0"),
        _field("tokenizer.ggml.add_eos_token", _BOOL, b"\0"),
    ]


def _gguf(fields: Sequence[bytes], tensors: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    places = accumulate((len(numbers) for _, numbers in tensors.values()), initial=0)
    rows = [
        _string(f"{name}.weight")
        + _pack_numbers("I", len(shape))
        + b"".join(_pack_numbers("Q", size) for size in shape)
        + _pack_numbers("IQ", 0, place)
        for (name, (shape, _)), place in zip(tensors.items(), places, strict=False)
    ]
    head = b"GGUF" + _pack_numbers("IQQ", 3, len(tensors), len(fields))
    head += b"".join(fields) + b"".join(rows)
    return b"".join(
        [head, bytes(-len(head) % _ALIGNED), *(numbers for _, numbers in tensors.values())]
    )


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _pack_numbers("Q", len(encoded)) + encoded


def _field(key: str, kind: int, value: bytes) -> bytes:
    return _string(key) + _pack_numbers("I", kind) + value


def _text_field(key: str, value: str) -> bytes:
    return _field(key, _STRING, _string(value))


def _number(key: str, value: int) -> bytes:
    return _field(key, _UINT32, _pack_numbers("I", value))


def _array(key: str, kind: int, values: Sequence[bytes]) -> bytes:
    return _field(key, _ARRAY, _pack_numbers("IQ", kind, len(values)) + b"".join(values))


SECONDS = 60
"""Seconds for one answer."""
SHOWN = 20
"""Characters of a text before the place where the grammar refuses it."""
_CHAT = "/v1/chat/completions"


def server_params(model: str, template: str, context: int = CONTEXT) -> Any:
    """Return the parameters of a server that renders by a template; it has one thread and slot."""
    params = import_module("xllamacpp").CommonParams()
    params.model.path = model
    params.port = 0
    params.use_jinja = True
    params.chat_template = template
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = params.fit_params = False
    params.n_threads_http = 2
    params.verbosity = 1
    return params


class LlamaCpp(AskedEngine):
    """The engine."""

    name = "llama.cpp"
    steps = (1,)
    """It streams token by token, and a token is a byte here."""

    def __init__(self) -> None:
        self._package = import_module("xllamacpp")
        self._server: Any = None
        self._address = ""
        self._tools: Sequence[Any] = ()
        self._scripts: dict[str, Script] = {}
        self._settings: dict[str, Mapping[str, Any] | None] = {}
        self._whole: dict[tuple[str, str], Sequence[Any]] = {}
        """Whole answers by text and setting."""

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return no names: none can be chosen."""
        return (), ()

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Start the server with the template. There is nothing that `auto` could choose."""
        self._server, self._tools = None, loaded["tools"]
        self._settings, self._whole = {}, {}
        # Several prompts with one text share a script; the request selects it by its first token.
        texts = list(dict.fromkeys(question["text"] for question in loaded["texts"]))
        with TemporaryDirectory() as folder:
            model = Path(folder) / "scripted.gguf"
            tokens = loaded["special_tokens"]
            ends = (tokens.get("bos_token", ""), tokens.get("eos_token") or "(the end)")
            scripts = write_scripted_model(model, *ends, texts)
            self._scripts = dict(zip(texts, scripts, strict=True))
            self._server = self._package.Server(server_params(str(model), loaded["template"]))
        self._address = urlsplit(str(self._server.listening_address)).netloc
        return None

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return why the server does not render the prompt of a text, by index of the text.

        It may set variables by itself, so that a setting may give the prompt of another.
        """
        found: dict[int, str] = {}
        for at, question in enumerate(loaded["texts"]):
            key = _key(question)
            if key not in self._settings:
                self._settings[key] = self._setting(question)
            if self._settings[key] is None:
                found[at] = f"its prompt does not end with {question['opening']}"
        return found

    def _setting(self, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the first setting with the generation prompt of the text, or None.

        Where its server refuses to render, that is what it answers to the text.
        """
        settings: Sequence[Mapping[str, Any]] = (question["setting"], *question["others"])
        for setting in settings:
            try:
                prompt = self._prompt(question, setting)
            except ValueError:
                return setting
            if prompt.rstrip().endswith(question["opening"].rstrip()):
                return setting
        return None

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Return the reader by the server's own parser; there is nothing to choose."""
        del tool, reasoning
        if self._server is None:
            raise ValueError("its server does not start with the template")
        return self._read

    def _read(self, question: Mapping[str, Any], step: int) -> Reading:
        """Return the reading of a text. Raises ValueError if the model cannot write it."""
        key = question["text"], _key(question)
        if key not in self._whole:
            self._whole[key] = self._answer(question, {"logprobs": True, "top_logprobs": 1})
        # A stream has the same text, but does not show whether the model could write it.
        wrong = _find_departure(question["text"], self._whole[key])
        if wrong:
            raise ValueError(wrong)
        return _join_answer(self._answer(question, {"stream": True}) if step else self._whole[key])

    def _answer(self, question: Mapping[str, Any], more: Mapping[str, Any]) -> Sequence[Any]:
        """Return the answer, or the parts of its stream."""
        script = self._scripts[question["text"]]
        body = {
            **self._request(question, self._settings[_key(question)] or {}),
            "logit_bias": [[script.first, BIAS]],
            "temperature": 0,
            # The tokens of the text, and its end token.
            "max_tokens": script.length + 1,
            "parallel_tool_calls": True,
            **more,
        }
        with closing(HTTPConnection(self._address, timeout=SECONDS)) as connection:
            response = _post_json(connection, _CHAT, body)
            return list(_events(response)) if "stream" in more else [json.loads(response.read())]

    def _request(self, question: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
        tools = {"tools": [*self._tools]} if question["tools"] else {}
        return {"messages": [USER], "chat_template_kwargs": dict(setting), **tools}

    def _prompt(self, question: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
        with closing(HTTPConnection(self._address, timeout=SECONDS)) as connection:
            response = _post_json(connection, "/apply-template", self._request(question, setting))
            prompt: str = json.loads(response.read())["prompt"]
        return prompt


def _key(question: Mapping[str, Any]) -> str:
    """Return a key of the fields that determine the setting of a request."""
    return json.dumps(
        [question["opening"], question["setting"], question["others"], question["tools"]]
    )


def _post_json(connection: HTTPConnection, path: str, body: Mapping[str, Any]) -> HTTPResponse:
    """Return the server's response. Raises ValueError with the reason of a refusal."""
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != HTTPStatus.OK:
        raise ValueError(_refusal(json.loads(response.read())))
    return response


def _refusal(answer: Mapping[str, Any]) -> str:
    return str(answer["error"]["message"])


def _events(response: HTTPResponse) -> Iterator[Mapping[str, Any]]:
    """Yield the parts of a stream. Raises ValueError if an error ends it."""
    for line in response:
        _, found, event_text = line.decode().partition(": ")
        if not found or event_text.strip() == "[DONE]":
            continue
        part = json.loads(event_text)
        if "error" in part:
            raise ValueError(_refusal(part))
        yield part


def _find_departure(text: str, parts: Sequence[Any]) -> str:
    """Return where the output departs from the text, or empty if it does not."""
    written = b""
    for choice in _choices(parts):
        logprobs: Mapping[str, Any] = choice.get("logprobs") or {}
        tokens: Sequence[Mapping[str, Any]] = logprobs.get("content") or ()
        # The bytes of one character come together.
        written += b"".join(bytes(token["bytes"]) for token in tokens)
    # A stop string may have ended it early.
    pairs = zip(text.encode(), written, strict=False)
    wrong = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if wrong is None:
        return ""
    before = text.encode()[:wrong].decode(errors="replace")
    return f"its grammar rejects the text after {before[-SHOWN:]!r}"


def _join_answer(parts: Sequence[Any]) -> Reading:
    """Join the parts of an answer to a message."""
    joined = JoinedMessage()
    for choice in _choices(parts):
        part: Mapping[str, Any] = choice.get("message") or choice.get("delta") or {}
        joined.add(part.get("reasoning_content"), part.get("content"))
        found: Sequence[Mapping[str, Any]] = part.get("tool_calls") or ()
        for at, call in enumerate(found):
            function = call["function"]
            joined.add_call(call.get("index", at), function.get("name"), function.get("arguments"))
    return joined.reading()


def _choices(parts: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for part in parts:
        yield from part["choices"]

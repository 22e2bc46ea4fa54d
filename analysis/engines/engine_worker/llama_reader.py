"""llama.cpp's own parser, which it makes of a template: what its server answers is what it reads.

There is nothing to choose, and no function of the package xllamacpp parses a text. But its server
runs in this process, and a model that writes the texts makes it answer with its reading of each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from .asked_engine import USER, Reading, message
from .scripted_model import BIAS, CONTEXT, Script, write_scripted_model

SECONDS = 60
"""For one answer."""
SHOWN = 20
"""Characters of a text before the place where the grammar refuses it."""
_CHAT = "/v1/chat/completions"


class LlamaCpp:
    """The engine."""

    name = "llama.cpp"
    steps = (1,)
    """Its stream comes a token at a time, and a token is a byte here."""

    def __init__(self) -> None:
        self._package = import_module("xllamacpp")
        self._server: Any = None
        self._address = ""
        self._tools: Sequence[Any] = ()
        self._scripts: dict[str, Script] = {}
        self._settings: dict[str, Mapping[str, Any] | None] = {}
        self._whole: dict[tuple[str, str], Sequence[Any]] = {}
        """The answers that came at once."""

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return no names: none can be chosen."""
        return (), ()

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Start the server with the template. There is nothing that `auto` could choose."""
        self._server, self._tools = None, loaded["tools"]
        self._settings, self._whole = {}, {}
        texts = list(dict.fromkeys(each["text"] for each in loaded["texts"]))
        with TemporaryDirectory() as folder:
            model = Path(folder) / "scripted.gguf"
            tokens = loaded["special_tokens"]
            ends = (tokens.get("bos_token", ""), tokens.get("eos_token") or "(the end)")
            scripts = write_scripted_model(model, *ends, texts)
            self._scripts = dict(zip(texts, scripts, strict=True))
            self._server = self._started(model, loaded["template"])
        self._address = urlsplit(str(self._server.listening_address)).netloc
        return None

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return the texts after prompts that its server does not render, and what it renders.

        It may set variables by itself, so that a setting may give the prompt of another.
        """
        found: dict[int, str] = {}
        for at, asked in enumerate(loaded["texts"]):
            key = _key(asked)
            if key not in self._settings:
                self._settings[key] = self._setting(asked)
            if self._settings[key] is None:
                found[at] = f"its prompt does not end with {asked['opening']}"
        return found

    def _setting(self, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the first setting whose prompt ends as that of the text; None: none does.

        Where its server refuses to render, that is what it answers to the text.
        """
        settings: Sequence[Mapping[str, Any]] = (asked["setting"], *asked["others"])
        for setting in settings:
            try:
                prompt = self._prompt(asked, setting)
            except ValueError:
                return setting
            if prompt.rstrip().endswith(asked["opening"].rstrip()):
                return setting
        return None

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Return what reads a text; there are no parsers to put together."""
        del tool, reasoning
        if self._server is None:
            raise ValueError("its server does not start with the template")
        return self._read

    def _started(self, model: Path, template: str) -> Any:
        params = self._package.CommonParams()
        params.model.path = str(model)
        params.port = 0
        params.use_jinja = True
        params.chat_template = template
        params.n_ctx = CONTEXT
        params.n_parallel = 1
        params.n_gpu_layers = 0
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.warmup = params.fit_params = False
        params.n_threads_http = 2
        params.verbosity = 1
        return self._package.Server(params)

    def _read(self, asked: Mapping[str, Any], step: int) -> Reading:
        """Have the text written, and return the answer. Raises ValueError where it is not."""
        key = asked["text"], _key(asked)
        if key not in self._whole:
            self._whole[key] = self._answer(asked, {"logprobs": True, "top_logprobs": 1})
        # What is written is the same in a stream, which does not say so.
        wrong = _refused(asked["text"], self._whole[key])
        if wrong:
            raise ValueError(wrong)
        return _gathered(self._answer(asked, {"stream": True}) if step else self._whole[key])

    def _answer(self, asked: Mapping[str, Any], more: Mapping[str, Any]) -> Sequence[Any]:
        """Return the answer, or the parts of its stream."""
        script = self._scripts[asked["text"]]
        body = {
            **self._request(asked, self._settings[_key(asked)] or {}),
            "logit_bias": [[script.first, BIAS]],
            "temperature": 0,
            "max_tokens": script.length + 1,
            "parallel_tool_calls": True,
            **more,
        }
        with closing(HTTPConnection(self._address, timeout=SECONDS)) as connection:
            given = _posted(connection, _CHAT, body)
            return list(_events(given)) if "stream" in more else [json.loads(given.read())]

    def _request(self, asked: Mapping[str, Any], setting: Mapping[str, Any]) -> dict[str, Any]:
        tools = {"tools": [*self._tools]} if asked["tools"] else {}
        return {"messages": [USER], "chat_template_kwargs": dict(setting), **tools}

    def _prompt(self, asked: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
        with closing(HTTPConnection(self._address, timeout=SECONDS)) as connection:
            given = _posted(connection, "/apply-template", self._request(asked, setting))
            prompt: str = json.loads(given.read())["prompt"]
        return prompt


def _key(asked: Mapping[str, Any]) -> str:
    """Return what the setting of a request is decided by."""
    return json.dumps([asked["opening"], asked["setting"], asked["others"], asked["tools"]])


def _posted(connection: HTTPConnection, path: str, body: Mapping[str, Any]) -> HTTPResponse:
    """Return the answer of the server. Raises ValueError with what it refuses it by."""
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    given = connection.getresponse()
    if given.status != HTTPStatus.OK:
        raise ValueError(_refusal(json.loads(given.read())))
    return given


def _refusal(answer: Mapping[str, Any]) -> str:
    return str(answer["error"]["message"])


def _events(given: HTTPResponse) -> Iterator[Mapping[str, Any]]:
    """Return the parts of a stream. Raises ValueError where an error ends it."""
    for line in given:
        _, found, said = line.decode().partition(": ")
        if not found or said.strip() == "[DONE]":
            continue
        part = json.loads(said)
        if "error" in part:
            raise ValueError(_refusal(part))
        yield part


def _refused(text: str, parts: Sequence[Any]) -> str:
    """Say where something else was written than the text; nothing where that is not so."""
    written = b""
    for choice in _choices(parts):
        said: Mapping[str, Any] = choice.get("logprobs") or {}
        tokens: Sequence[Mapping[str, Any]] = said.get("content") or ()
        # The bytes of one character come together.
        written += b"".join(bytes(token["bytes"]) for token in tokens)
    # A stop string may have ended it early.
    pairs = zip(text.encode(), written, strict=False)
    wrong = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if wrong is None:
        return ""
    before = text.encode()[:wrong].decode(errors="replace")
    return f"its grammar does not let the text go on after {before[-SHOWN:]!r}"


def _gathered(parts: Sequence[Any]) -> Reading:
    """Return the message of an answer, or of the parts of one."""
    thought = said = ""
    calls: dict[int, list[str]] = {}
    for choice in _choices(parts):
        given: Mapping[str, Any] = choice.get("message") or choice.get("delta") or {}
        thought += given.get("reasoning_content") or ""
        said += given.get("content") or ""
        found: Sequence[Mapping[str, Any]] = given.get("tool_calls") or ()
        for at, each in enumerate(found):
            call = calls.setdefault(each.get("index", at), ["", ""])
            call[0] += each["function"].get("name") or ""
            call[1] += each["function"].get("arguments") or ""
    return message(thought, said, [(name, given) for name, given in calls.values()])


def _choices(parts: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for part in parts:
        yield from part["choices"]

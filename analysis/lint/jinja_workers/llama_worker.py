"""Render conversations with llama.cpp's server: reads a JSON object, writes a line per answer.

Requests in OpenAI's form go to the server's own endpoint, which prepares messages its way and
defines `tools` only if there are some. The model behind it is blank, with the template's first and
last token. The clock is the machine's.

The variables of a render become a request, in which arguments are JSON strings and the variables
that are not standard ones are switches:

    {"messages": [...], "tools": None, "add_generation_prompt": True, "enable_thinking": False}
    {"messages": [...], "add_generation_prompt": True,
     "chat_template_kwargs": {"enable_thinking": False}}
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import sleep
from typing import IO, Any
from urllib.parse import urlsplit

SECONDS = 20
"""The time limit for one answer."""
MOMENTS, MOMENT = 40, 0.05
"""The number of checks for the server's startup error, and the seconds between them."""
_PLACE = re.compile(r"at line (\d+), column (\d+) in source")


def main() -> None:
    """Answer all requests."""
    # The server prints to standard output: keep it away from the answers.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    for answer in answers(request):
        output.write(json.dumps(answer) + "\n")
        output.flush()


def answers(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Render every conversation."""
    server, refusal = _start_server(request)
    if server is None:
        yield from (refusal for _ in request["conversations"])
        return
    host = urlsplit(str(server.listening_address)).netloc
    for variables in request["conversations"]:
        connection = HTTPConnection(host, timeout=SECONDS)
        body = json.dumps(_request(variables, request["standard"]))
        connection.request("POST", "/apply-template", body, {"Content-Type": "application/json"})
        given = json.loads(connection.getresponse().read())
        connection.close()
        if "prompt" in given:
            yield {"text": given["prompt"]}
        else:
            yield _error(given["error"]["message"], request["template"])


def _start_server(request: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the server, or the error with which it did not start."""
    xllamacpp = import_module("xllamacpp")
    # The engines' worker can write a blank model, and this package is not installed here.
    sys.path.append(str(Path(__file__).parents[2] / "engines"))
    reader = import_module("engine_worker.llama_reader")
    with TemporaryDirectory() as folder, TemporaryFile() as server_log:
        model = Path(folder) / "blank.gguf"
        reader.write_scripted_model(model, request["bos"], request["eos"], [])
        params = reader.server_params(str(model), request["template"], context=512)
        # Only the server's Jinja is of interest, not its parser.
        params.force_pure_content_parser = True
        # The last message is whole, even if it is the assistant's, and is not to be continued.
        params.prefill_assistant = False
        # The server writes the reason for not starting to its log, on standard error.
        kept = os.dup(2)
        os.dup2(server_log.fileno(), 2)
        try:
            return xllamacpp.Server(params), {}
        except RuntimeError as error:
            return None, _error(_read_log(server_log) or str(error), request["template"])
        finally:
            os.dup2(kept, 2)


def _read_log(server_log: IO[bytes]) -> str:
    """Return the server's log, which a thread of its own writes after a moment."""
    words = b""
    for _ in range(MOMENTS):
        sleep(MOMENT)
        server_log.seek(0)
        before, words = words, server_log.read()
        # Nothing was added since the last look, so the log is whole.
        if words and words == before:
            break
    return words.decode(errors="replace")


def _request(variables: Mapping[str, Any], standard: list[str]) -> dict[str, Any]:
    """Return the request whose prompt a template renders with these variables."""
    messages = [_openai_message(variable) for variable in variables["messages"]]
    request: dict[str, Any] = {
        "messages": messages,
        "add_generation_prompt": variables["add_generation_prompt"],
        "chat_template_kwargs": {
            name: value for name, value in variables.items() if name not in standard
        },
    }
    if variables["tools"] is not None:
        request["tools"] = variables["tools"]
    return request


def _openai_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in OpenAI's form: arguments as a JSON string."""
    sent = dict(message)
    if sent.get("tool_calls"):
        sent["tool_calls"] = [_openai_call(call) for call in sent["tool_calls"]]
        # OpenAI's messages have a content, null beside calls alone.
        sent.setdefault("content", None)
    return sent


def _openai_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function", call))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        function["arguments"] = json.dumps(arguments)
    rest = {key: value for key, value in call.items() if key == "id"}
    return {**rest, "type": "function", "function": function}


def _error(words: str, template: str) -> dict[str, Any]:
    """Return the error's message and its innermost offset in the template."""
    error_words = re.findall(r"\b[Ee]rror: (.*)$", words, re.MULTILINE)
    places = _PLACE.findall(words)
    at = None
    if places:
        line, column = map(int, places[-1])
        lines = template.split("\n")
        at = sum(len(row) + 1 for row in lines[: line - 1]) + column - 1
    return {"error": error_words[-1] if error_words else " ".join(words.split()), "at": at}


if __name__ == "__main__":
    main()

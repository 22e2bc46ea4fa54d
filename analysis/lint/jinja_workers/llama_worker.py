"""Renders conversations by llama.cpp's server: a JSON object comes, a line an answer goes.

Its Jinja is asked as its users ask it: requests in OpenAI's form go to the server's own page, which
prepares messages its way and defines `tools` where there are some alone. The model behind it is
blank, and its first and last token are the template's. The clock is the machine's.
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
"""For one answer."""
MOMENTS, MOMENT = 40, 0.05
"""How often it is looked whether the server has written why it does not start; seconds between."""
_PLACE = re.compile(r"at line (\d+), column (\d+) in source")


def main() -> None:
    """Answer all that is asked."""
    # The server prints what it likes on what is a page of its own here.
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
    """Return the server, or what it said when it did not start."""
    xllamacpp = import_module("xllamacpp")
    # The worker that asks its parser has the model, too, and nothing of this package is installed.
    sys.path.append(str(Path(__file__).parents[2] / "engines"))
    reader = import_module("engine_worker.llama_reader")
    with TemporaryDirectory() as folder, TemporaryFile() as server_log:
        model = Path(folder) / "blank.gguf"
        reader.write_scripted_model(model, request["bos"], request["eos"], [])
        params = reader.server_params(str(model), request["template"], context=512)
        # Its Jinja is asked and not what it makes of the format of answers.
        params.force_pure_content_parser = True
        params.prefill_assistant = False
        kept = os.dup(2)
        os.dup2(server_log.fileno(), 2)
        try:
            return xllamacpp.Server(params), {}
        except RuntimeError as error:
            return None, _error(_read_log(server_log) or str(error), request["template"])
        finally:
            os.dup2(kept, 2)


def _read_log(server_log: IO[bytes]) -> str:
    """Return what the server wrote; a thread of its own writes it, a moment later."""
    words = b""
    for _ in range(MOMENTS):
        sleep(MOMENT)
        server_log.seek(0)
        before, words = words, server_log.read()
        if words and words == before:
            break
    return words.decode(errors="replace")


def _request(variables: Mapping[str, Any], standard: list[str]) -> dict[str, Any]:
    """Return the request whose prompt a template renders with these variables."""
    messages = [_message(variable) for variable in variables["messages"]]
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


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in OpenAI's form: arguments are JSON in a string."""
    sent = dict(message)
    if sent.get("tool_calls"):
        sent["tool_calls"] = [_call(each) for each in sent["tool_calls"]]
        sent.setdefault("content", None)
    return sent


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function", call))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        function["arguments"] = json.dumps(arguments)
    rest = {key: value for key, value in call.items() if key == "id"}
    return {**rest, "type": "function", "function": function}


def _error(words: str, template: str) -> dict[str, Any]:
    """Return what it says went wrong, and where: the innermost place that it names."""
    error_words = re.findall(r"\b[Ee]rror: (.*)$", words, re.MULTILINE)
    places = _PLACE.findall(words)
    at = None
    if places:
        line, column = map(int, places[-1])
        lines = template.split("\n")
        at = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
    return {"error": error_words[-1] if error_words else " ".join(words.split()), "at": at}


if __name__ == "__main__":
    main()

"""Render conversations with minijinja: reads a JSON object, writes a line per answer.

It adds what programs with minijinja usually add: `raise_exception`, `strftime_now` and
transformers' `tojson`; methods of Python's types are minijinja's own.

For the template `{{ a.b }}{{ raise_exception('no') }}`, which calls the function for refusals at
offset 9, and the variables `{"a": {"b": 1}}` the line is:

    {"error": "ValueError: no", "at": 9}
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from typing import Any


def main() -> None:
    """Answer all requests."""
    request = json.load(sys.stdin)
    for answer in answers(request):
        print(json.dumps(answer), flush=True)  # noqa: T201 - whoever started it reads it


def answers(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Render every conversation."""
    minijinja = import_module("minijinja")
    environment = minijinja.Environment(trim_blocks=True, lstrip_blocks=True)
    environment.add_global("raise_exception", _refuse)
    environment.add_global("strftime_now", datetime.fromisoformat(request["clock"]).strftime)
    environment.add_filter("tojson", _tojson)
    # minijinja derives escaping from the file's suffix: do not name it like a web page.
    name = "template.txt"
    render = _lazy_renderer(environment, name, request["template"])
    passed: list[int] = []
    # The marked template calls this before every tag, so the last offset is the failing tag's.
    environment.add_global(request["note"], passed.append)
    for variables in request["conversations"]:
        try:
            yield {"text": render(variables)}
        except minijinja.TemplateError as error:
            yield {"error": _error_message(error), "at": _error_offset(error, request["template"])}
        except Exception as error:  # noqa: BLE001 - whatever it raises is its answer
            # minijinja reported the error without a place.
            passed.clear()
            with suppress(Exception):
                environment.render_str(request["marked"], "marked.txt", **variables)
            yield {"error": f"{type(error).__name__}: {error}", "at": next(reversed(passed), None)}


def _lazy_renderer(environment: Any, name: str, text: str) -> Callable[[Mapping[str, Any]], str]:
    def render(variables: Mapping[str, Any]) -> str:
        # Compile with each render: a compile error is the answer to each.
        if not ready:
            environment.add_template(name, text)
            ready.append(True)
        rendered: str = environment.render_template(name, **variables)
        return rendered

    ready: list[bool] = []
    return render


def _error_message(error: Any) -> str:
    """Return the error's message without its place."""
    return f"{error.kind}: {error.detail}" if error.detail else str(error.message)


def _error_offset(error: Any, text: str) -> int | None:
    """Return the error's offset in the template, in characters; minijinja counts bytes."""
    if error.range is None:
        return None
    return len(text.encode()[: error.range[0]].decode(errors="ignore"))


def _refuse(message: str = "") -> None:
    raise ValueError(message)


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=None if separators is None else (separators[0], separators[1]),
        sort_keys=sort_keys,
    )


if __name__ == "__main__":
    main()

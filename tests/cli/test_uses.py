"""Uses of the command line as tables: what is typed, and what comes of it.

A table of `uses/` has cases under `cases`, by titles that say what is expected:

    a misspelled form is suggested:
      run: grammar $J1 --format gnbf     # names of `names` and of `files` are put in
      files: {tools.yaml: "- {name: f}"} # written to a folder of the test's own, $TMP
      tokenizers: {tokenizer.json: [<s>]} # one token a byte, and one for each of these markers
      first: [analyze $J1 -o x.json]     # uses before it
      stdin: "{{ messages }}"
      code: 2                            # 0 where it is not said
      out: [first, then this]            # parts of standard output, in this order
      words: [parts, of it, however its lines are broken]
      lacks: [what is in neither output]
      err: [parts of standard error]     # nothing is there where it is not said
      json: {calls.0.name: f}            # values of the document, by their places
      schema: parse                      # docs/parse.schema.json describes the document
      same: grammar $J1                  # what else is printed by another use
      reads: {x.json: [parts]}           # what files hold in the end
      runs: {COMMAND: [parts]}           # further uses after it, each ends with 0

A file may be a copy: {from: PATH, key: [keys of a YAML file], replace: {text: other}}. Uses that
make no sense stand under `refused`, with the words of their one line of standard error.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.analysis.decoding.tokenizers_here import byte_tokenizer

from .conftest import ROOT, Ran, Run

KNOWN_FOLDERS = ("model", "pages", "records", "x.json")
"""Names in the test's own folder, beside its files."""
TABLES = sorted((Path(__file__).parent / "uses").glob("*.yaml"))
KEYS = {
    *("run", "files", "stdin", "code", "out", "words", "lacks", "err"),
    *("json", "schema", "same", "runs", "slow", "tokenizers", "first", "reads"),
}


def cases() -> Iterator[Any]:
    """Return the cases of all tables, with the names that each table puts in."""
    for path in TABLES:
        table = yaml.safe_load(path.read_text("utf-8"))
        names, shared = table.get("names", {}), table.get("files", {})
        refused = {
            run: {"run": run, "code": 2, "err": err} for run, err in table["refused"].items()
        }
        for title, case in {**table["cases"], **refused}.items():
            unknown = case.keys() - KEYS
            assert not unknown, (path.name, title, unknown)
            marks = [pytest.mark.slow] if case.get("slow") else []
            known = {**case, "files": {**shared, **case.get("files", {})}}
            yield pytest.param(names, known, id=f"{path.stem}: {title}"[:100], marks=marks)


def content_of(given: Any) -> bytes:
    """Return what a file of a case holds."""
    if isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode()
    text: Any = (ROOT / given["from"]).read_text("utf-8")
    if "key" in given:
        text = yaml.safe_load(text)
        for key in given["key"]:
            text = text[key]
    for old, new in given.get("replace", {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return str(text).encode()


class Shell:
    """Runs the lines of a case, with its names and files put in."""

    def __init__(
        self, autoparser: Run, folder: Path, names: Mapping[str, str], case: Mapping[str, Any]
    ) -> None:
        self._autoparser = autoparser
        self._names = {**names, "TMP": str(folder)}
        tokenizers: Mapping[str, list[str]] = case.get("tokenizers", {})
        named = (*case["files"], *tokenizers, *case.get("reads", ()))
        self.paths = {name: folder / name for name in (*named, *KNOWN_FOLDERS)}
        for name in named:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for name, content in case["files"].items():
            self.paths[name].write_bytes(content_of(content))
        for name, markers in tokenizers.items():
            byte_tokenizer(*markers, control=()).save(str(folder / name))

    def run(self, line: str, stdin: str = "") -> Ran:
        words = shlex.split(Template(line).safe_substitute(self._names))
        given = (self.paths.get(word, word) for word in words)
        return self._autoparser(*given, stdin=stdin.encode())

    def filled(self, parts: str | list[str]) -> list[str]:
        listed = [parts] if isinstance(parts, str) else parts
        return [Template(part).safe_substitute(self._names) for part in listed]


@pytest.mark.parametrize(("names", "case"), [*cases()])
def test_use(names: dict[str, str], case: dict[str, Any], autoparser: Run, tmp_path: Path) -> None:
    shell = Shell(autoparser, tmp_path, names, case)
    for line in case.get("first", ()):
        assert shell.run(line).code in (0, 1)
    ran = shell.run(case["run"], case.get("stdin", ""))
    assert ran.code == case.get("code", 0), ran.err or ran.out
    check_error(ran, shell.filled(case.get("err", [])), alone=not case.keys() & {"out", "words"})
    check_output(ran.out, shell, case)
    for part in shell.filled(case.get("lacks", [])):
        assert part not in ran.out + ran.err
    if "json" in case or "schema" in case:
        check_document(ran.out, case)
    if "same" in case:
        assert shell.run(case["same"]).out == ran.out != ""
    for name, parts in case.get("reads", {}).items():
        text = shell.paths[name].read_text("utf-8")
        assert all(part in text for part in shell.filled(parts)), text
    for line, parts in case.get("runs", {}).items():
        again = shell.run(line)
        assert again.code == 0, again.err
        assert all(part in again.out for part in shell.filled(parts))


def check_error(ran: Ran, parts: list[str], *, alone: bool) -> None:
    if not parts:
        assert ran.err == ""
    for part in parts:
        assert part in ran.err
    if ran.code == 2 and alone:
        assert ran.out == ""
        assert ran.err.count("\n") == 1
        assert ran.err.rstrip("\n").isprintable()


def check_output(out: str, shell: Shell, case: Mapping[str, Any]) -> None:
    at = 0
    for part in shell.filled(case.get("out", [])):
        found = out.find(part, at)
        assert found >= 0, f"{part!r} is not in (or not behind the last part of)\n{out}"
        at = found + len(part)
    flat = " ".join(out.split())
    for part in shell.filled(case.get("words", [])):
        assert part in flat, out


def check_document(out: str, case: Mapping[str, Any]) -> None:
    """Compare the document, or the last of several, with what is expected at places in it."""
    assert out.isascii()
    lines = out.splitlines()
    documents = [json.loads(out)] if out.startswith("{\n") else [*map(json.loads, lines)]
    for place, expected in case.get("json", {}).items():
        assert value_at(documents[-1], place) == expected, place
    if "schema" in case:
        schema = schema_of(case["schema"])
        for document in documents:
            Draft202012Validator(schema).validate(document)
            assert list(document) == [key for key in schema["properties"] if key in document]


def value_at(document: Any, place: str) -> Any:
    """Return the value at a place.

    `calls.0.name` is that of the first call, `calls.name=f.id` the id of the first one whose name
    is f, and `calls.length` how many there are.
    """
    for part in place.split("."):
        if part == "length":
            document = len(document)
        elif "=" in part:
            key, _, value = part.partition("=")
            document = next(each for each in document if str(each.get(key)) == value)
        elif isinstance(document, list):
            document = document[int(part)]
        else:
            document = document.get(part)
    return document


@cache
def schema_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"docs/{name}.schema.json").read_text("utf-8"))
    return found

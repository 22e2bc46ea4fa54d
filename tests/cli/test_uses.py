"""Uses of the command line as tables: a command, and its expected output.

A table of `uses/` has cases under `cases`, by titles that say what is expected:

    a misspelled form is suggested:
      run: grammar $J1 --format gnbf     # names of `names` and of `files` are put in
      files: {tools.yaml: "- {name: f}"} # written to a folder of the test's own, $TMP
      tokenizers: {tokenizer.json: [<s>]} # one token a byte, and one for each of these markers
      links: {link: file}
      pipes: [pipe]                      # named pipes, whose other end commands await 0.1 seconds
      hub: {org/model: {main: {chat_template.jinja: x}}} # $ENDPOINT, and $COMMIT of the last one
      environment: {NAME: value}         # null takes it away
      without: [textual]                 # packages that are not installed
      engines: [vllm, sglang]            # made engines that $PYTHON finds, and no others
      served: {vllm: TEMPLATE}           # an engine's server, with its mistakes, at $SERVER
      first: [analyze $J1 -o x.json]     # uses before it
      process: true                      # in a process of its own, with workers
      stdin: "{{ messages }}"
      code: 2                            # 0 where it is not said
      out: [first, then this]            # parts of standard output, in this order
      words: [parts, of it, however its lines are broken]
      lacks: [what is in neither output]
      err: [parts of standard error]     # nothing is there where it is not said
      json: {calls.0.name: f}            # values of the document, by their places
      schema: parse                      # docs/parse.schema.json describes the document
      same: grammar $J1                  # what else is printed by another use
      snapshot: screen-80.txt            # all of it; UPDATE_SNAPSHOTS=1 writes it anew
      reads: {x.json: [parts]}           # what files hold in the end
      holds: {x.json: all of the text}
      runs: {COMMAND: [parts]}           # further uses after it, each ends with 0
      to_file: true                      # -o writes the same as plain text, and prints nothing

A case may have `steps`, one after another in the same folder. A table that is `inside` runs in that
folder, with $ROOT before the project's own files. A file may be a copy: {from: PATH, key: [keys of
a YAML file], replace: {text: other}, quoted: true for JSON}, and null removes it; its text may have
{NAME} of `texts`. Others are {text: x, times: 9}, {vocabulary: markers} of bytes and merges, with
the usual markers for [], and {gguf: [{name: default, template: x}]}.
Uses that make no sense stand under `refused`, with the words of their one line of standard error,
under `to_file` uses with that and their standard error, and under `unread` the texts of files that
cannot be read, the last word of `run`, each with parts of that line.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

import pytest
import yaml
from jsonschema import Draft202012Validator

from autoparser import ChatTemplate, load_template
from autoparser.analysis.engines import engine_process
from autoparser.analysis.sources import local_files, written_files
from tests.analysis.decoding.tokenizers_here import byte_tokenizer
from tests.analysis.engines.engine_stub import EngineStub, answering, sglang_stub, vllm_stub
from tests.analysis.history.renderers import small
from tests.analysis.sources.gguf_files import write_model
from tests.analysis.sources.hub_server import Hub, Model, commit_of
from tests.case_tables import compare_snapshot

from .conftest import ROOT, Ran, Run

KNOWN_FOLDERS = ("model", "pages", "records", "x.json")
"""Names in the test's own folder, beside its files."""
FOLDER = Path(__file__).parent
MADE = ("files", "tokenizers", "links", "pipes")
"""Keys of things made in the test's own folder."""
KEYS = {
    *("run", "stdin", "code", "out", "words", "lacks", "err", "environment", "without", "hub"),
    *("json", "schema", "same", "runs", "slow", "first", "reads", "holds", "steps", "snapshot"),
    *("process", "engines", "served", "to_file", *MADE),
}
Stub: TypeAlias = Callable[[ChatTemplate], EngineStub]
STUBS: Mapping[str, Stub] = {"vllm": vllm_stub, "sglang": sglang_stub}


def cases() -> Iterator[Any]:
    """Return the cases of all tables, with the values shared by each table."""
    for path in sorted((FOLDER / "uses").glob("*.yaml")):
        table = yaml.safe_load(path.read_text("utf-8"))
        refused = {
            run: {"run": run, "code": 2, "err": err} for run, err in table["refused"].items()
        }
        for run, err in table.get("to_file", {}).items():
            refused[f"{run} -o"] = {"run": run, "to_file": True, "err": err}
        for unread in table.get("unread", ()):
            refused |= unread_cases(**unread)
        for title, case in {**table["cases"], **refused}.items():
            unknown = {key for step in (case, *case.get("steps", ())) for key in step} - KEYS
            assert not unknown, (path.name, title, unknown)
            marks = [pytest.mark.slow] if case.get("slow") else []
            known = {**case, "files": {**table.get("files", {}), **case.get("files", {})}}
            yield pytest.param(table, known, id=f"{path.stem}: {title}"[:100], marks=marks)


def unread_cases(
    run: str, rows: list[list[Any]], around: tuple[str, str] = ("", ""), place: str = "{}"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the uses of files that cannot be read, the last word of a command."""
    name = run.rsplit(maxsplit=1)[-1]
    for at, (given, where, *words) in enumerate(rows):
        text = given if isinstance(given, str) and around[0] == "" else json.dumps(given)
        files = {name: text.join(around)}
        parts = [f"$TMP/{name}: ", place.replace("{}", where), *words]
        yield f"{at} {run} {where}", {"run": run, "files": files, "code": 2, "err": parts}


def content_of(given: Any, texts: Mapping[str, Any]) -> bytes:
    """Return the text of a file, or the copy of one."""
    if isinstance(given, bytes):
        return given
    text: Any = given
    if isinstance(given, str):
        for name, known in texts.items():
            text = text.replace(f"{{{name}}}", content_of(known, {}).decode())
        return str(text).encode()
    if "times" in given:
        return str(given["text"] * given["times"]).encode()
    if "vocabulary" in given:
        return small(*given["vocabulary"]).to_str().encode()
    text = (ROOT / given["from"]).read_text("utf-8")
    if "key" in given:
        text = yaml.safe_load(text)
        for key in given["key"]:
            text = text[key]
    for old, new in given.get("replace", {}).items():
        assert old in text, old
        text = text.replace(old, new)
    return (json.dumps(text) if given.get("quoted") else str(text)).encode()


class Shell:
    """Runs the lines of a case, with its names and files put in."""

    def __init__(self, autoparser: Run, folder: Path, table: Mapping[str, Any]) -> None:
        self._autoparser = autoparser
        self.folder = folder
        self.names = {"TMP": str(folder), "ROOT": str(ROOT), "PYTHON": sys.executable}
        self.names |= {
            name: self.filled(parts)[0] for name, parts in table.get("names", {}).items()
        }
        self._texts = table.get("texts", {})
        self._named: set[str] | None = None if table.get("inside") else {*KNOWN_FOLDERS}

    def content(self, given: Any) -> bytes:
        """Return the content of a case's file."""
        if isinstance(given, dict) and "gguf" in given:
            filled = [
                {**model, "template": self.content(model["template"]).decode()}
                for model in given["gguf"]
            ]
            return write_model(self.folder / "made.gguf", filled).read_bytes()
        return content_of(given, self._texts)

    def make(self, step: Mapping[str, Any]) -> None:
        """Make the files of a step."""
        made = {name for kind in MADE for name in step.get(kind, ())}
        if self._named is not None:
            self._named |= {*made, *step.get("reads", ()), *step.get("holds", ())}
        for name in made:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        for name, content in step.get("files", {}).items():
            (self.folder / name).unlink(missing_ok=True)
            if content is not None:
                (self.folder / name).write_bytes(self.content(content))
        for name, markers in step.get("tokenizers", {}).items():
            byte_tokenizer(*markers, control=()).save(str(self.folder / name))
        for name, target in step.get("links", {}).items():
            (self.folder / name).symlink_to(self.folder / target)
        for name in step.get("pipes", ()):
            os.mkfifo(self.folder / name)

    def serve(self, hub: Hub, models: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
        """Bring models to a Hub."""
        self.names["ENDPOINT"] = hub.endpoint
        for name, branches in models.items():
            contents = {
                branch: {file: self.content(content) for file, content in files.items()}
                for branch, files in branches.items()
            }
            hub.models[name] = Model(contents)
            self.names["COMMIT"] = commit_of(contents["main"])

    def run(self, line: str, stdin: Any = "") -> Ran:
        words = shlex.split(Template(line).safe_substitute(self.names))
        given = (self.folder / word if word in (self._named or ()) else word for word in words)
        return self._autoparser(*given, stdin=self.content(stdin))

    def filled(self, parts: str | list[str]) -> list[str]:
        listed = [parts] if isinstance(parts, str) else parts
        return [Template(part).safe_substitute(self.names) for part in listed]


@pytest.mark.parametrize(("table", "case"), [*cases()])
def test_command_matches_its_table(
    table: dict[str, Any],
    case: dict[str, Any],
    autoparser: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    run = request.getfixturevalue("process") if case.get("process") else autoparser
    shell = Shell(run, tmp_path, table)
    if table.get("inside"):
        monkeypatch.chdir(tmp_path)
    for module in (written_files, local_files):
        monkeypatch.setattr(module, "pipe_patience", lambda: 0.1)
    if "hub" in case:
        shell.serve(request.getfixturevalue("hub"), case["hub"])
    if "engines" in case:
        request.getfixturevalue("fake_engines")
        monkeypatch.setattr(engine_process, "ENGINES", tuple(case["engines"]))
    servers = ExitStack()
    request.addfinalizer(servers.close)
    for engine, template in case.get("served", {}).items():
        stub = STUBS[engine](load_template(ROOT / template))
        shell.names["SERVER"] = servers.enter_context(answering(stub)).url
    shell.make(case)
    for step in case.get("steps", [case]):
        with monkeypatch.context() as patch:
            for name, value in step.get("environment", {}).items():
                patch.delenv(name) if value is None else patch.setenv(name, str(value))
            for package in step.get("without", ()):
                patch.setitem(sys.modules, package, None)
            if step is not case:
                shell.make(step)
            check_step(shell, step)


def check_step(shell: Shell, step: Mapping[str, Any]) -> None:
    for line in step.get("first", ()):
        assert shell.run(line).code in (0, 1)
    ran = shell.run(step["run"], step.get("stdin", ""))
    assert ran.code == step.get("code", 0), ran.err or ran.out
    alone = not step.keys() & {"out", "words", "snapshot"}
    check_error(ran, shell.filled(step.get("err", [])), alone=alone)
    check_output(ran.out, shell, step)
    for part in shell.filled(step.get("lacks", [])):
        assert part not in ran.out + ran.err
    if "json" in step or "schema" in step:
        check_document(ran.out, shell, step)
    if "same" in step:
        assert shell.run(step["same"]).out == ran.out != ""
    if "to_file" in step:
        file = shell.folder / "result.txt"
        written = shell.run(f"{step['run']} -o {file}")
        assert (written.code, written.out) == (ran.code, "")
        assert file.read_text("utf-8") == ran.out != ""
    for name, parts in step.get("reads", {}).items():
        text = (shell.folder / name).read_text("utf-8")
        assert all(part in text for part in shell.filled(parts)), text
    for name, content in step.get("holds", {}).items():
        assert (shell.folder / name).read_bytes() == shell.content(content)
    for line, parts in step.get("runs", {}).items():
        again = shell.run(line)
        assert again.code == 0, again.err
        assert all(part in again.out for part in shell.filled(parts))


def check_error(ran: Ran, parts: list[str], *, alone: bool) -> None:
    if not parts:
        assert ran.err == ""
    for part in parts:
        assert part in ran.err or part in " ".join(ran.err.split()), ran.err
    if ran.code == 2 and alone:
        assert ran.out == ""
        assert ran.err.count("\n") == 1
        assert ran.err.rstrip("\n").isprintable()


def check_output(out: str, shell: Shell, step: Mapping[str, Any]) -> None:
    at = 0
    for part in shell.filled(step.get("out", [])):
        found = out.find(part, at)
        assert found >= 0, f"{part!r} is not in (or not behind the last part of)\n{out}"
        at = found + len(part)
    assert step.get("out") != "" or out == ""
    flat = " ".join(out.split())
    for part in shell.filled(step.get("words", [])):
        assert part in flat, out
    if "snapshot" in step:
        check_snapshot(out, step["snapshot"], step.get("environment", {}).get("COLUMNS", 0))


def check_snapshot(out: str, name: str, width: int) -> None:
    compare_snapshot(FOLDER / "snapshots" / name, out)
    for line in out.splitlines() if width else ():
        # The next command is one line of any length, so that it can be pasted.
        assert len(line) <= width or line.startswith("Next  autoparser ")
        assert line == line.rstrip()


def check_document(out: str, shell: Shell, step: Mapping[str, Any]) -> None:
    """Compare values in the document, or in the last of several, with the expected ones."""
    assert out.isascii()
    lines = out.splitlines()
    documents = [json.loads(out)] if out.startswith("{\n") else [*map(json.loads, lines)]
    for place, expected in step.get("json", {}).items():
        wanted = shell.filled(expected)[0] if isinstance(expected, str) else expected
        assert value_at(documents[-1], place) == wanted, place
    if "schema" in step:
        schema = schema_of(step["schema"])
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
            document = next(entry for entry in document if str(entry.get(key)) == value)
        elif isinstance(document, list):
            document = document[int(part)]
        else:
            document = document.get(part)
    return document


@cache
def schema_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / f"docs/{name}.schema.json").read_text("utf-8"))
    return found

"""Check files that break a command, full disks and closed pipes: one error line, no lost file."""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from autoparser import WorkerPool
from autoparser.analysis.core.errors import FaultError, fault_keeper
from autoparser.analysis.sources import local_files
from autoparser.analysis.templates.worker_pool import run_task
from autoparser.cli import lint as lint_command, wings
from autoparser.cli.main import run
from tests.analysis.sources.test_written_files import NO_SPACE
from tests.case_tables import load_cases

from .conftest import ROOT, Ran, Run, Start

J1 = ROOT / "fixtures/templates/j1-json-in-tags.jinja"
FIXABLE = ROOT / "fixtures/lint/AP109/fires.jinja"
NEEDS_UNK = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}
ZEROS = "0" * 400
REPEATED = (
    "{% for m in messages %}<|{{ m.role }}|>" + "{{ m.content }}, " * 200 + "<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


class PanicException(BaseException):
    """The exception of a Rust library that panics."""


FAULTS = (RecursionError, OverflowError, RuntimeError, KeyError, OSError, PanicException)


def raising(kind: type[BaseException]) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise kind("beyond\nall \x1b[2J expectation")

    return fail


def raise_fault(kind: type[BaseException]) -> NoReturn:
    raising(kind)()


def fault_file(line: str) -> Path:
    found = re.search(r"please report it with (\S+autoparser-fault-\w+\.txt)", line)
    assert found, line
    return Path(found[1])


def check_refused(ran: Ran, *words: str) -> None:
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "fault of autoparser" not in ran.err
    assert all(word in ran.err for word in words), ran.err


@pytest.mark.parametrize("kind", FAULTS)
def test_internal_error_is_one_line_and_a_traceback_file(
    kind: type[BaseException], autoparser: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(wings, "load_template", raising(kind))
    ran = autoparser("analyze", J1)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.rstrip("\n").isprintable()
    assert ran.err.startswith(f"a fault of autoparser ({kind.__name__}: ")
    text = fault_file(ran.err).read_text("utf-8")
    assert "in raising" not in text
    assert "Traceback (most recent call last)" in text
    assert "cli/analyze.py" in text


def test_internal_error_without_a_temporary_folder_is_one_line(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/no/such/folder")
    monkeypatch.setattr(wings, "load_template", raising(RecursionError))
    ran = autoparser("analyze", J1)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.endswith("; please report it\n")


@pytest.mark.parametrize("kind", [RecursionError, PanicException])
def test_internal_error_in_a_worker_keeps_its_traceback(kind: type[BaseException]) -> None:
    kept: list[BaseException] = []
    token = fault_keeper.set(kept.append)
    try:
        with WorkerPool(1) as pool:
            (outcome,) = pool.map(raise_fault, [kind])
    finally:
        fault_keeper.reset(token)
    assert isinstance(outcome.error, FaultError)
    assert "in raise_fault" in "".join(kept[0].__notes__)
    with pytest.raises(Exception, match="beyond") as raised:
        run_task(raise_fault, kind)
    assert "in raise_fault" in "".join(raised.value.__notes__)


def broken_tokenizer(folder: Path) -> Path:
    """Write a tokenizer whose normalizer panics on every text."""
    path = folder / "tokenizer.json"
    charsmap = base64.b64encode(struct.pack("<I", 4) + b"\x01\x02\x03\x04abc\0").decode()
    model = {**NEEDS_UNK, "vocab": {"[UNK]": 0}}
    normalizer = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    empty = dict.fromkeys(("truncation", "padding", "pre_tokenizer", "post_processor", "decoder"))
    document = {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "model": model}
    path.write_text(json.dumps({**empty, **document}), "utf-8")
    return path


def test_rust_panic_does_not_reach_the_terminal(process: Run, tmp_path: Path) -> None:
    tokenizer = broken_tokenizer(tmp_path)
    ran = process("roundtrip", J1, "--tokenizer", tokenizer, RUST_BACKTRACE="1")
    check_refused(ran, "the tokenizer cannot encode", "index out of bounds")


def test_tokenizer_without_its_unknown_token_is_an_error(autoparser: Run, tmp_path: Path) -> None:
    path = broken_tokenizer(tmp_path)
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "normalizer": None, "model": NEEDS_UNK}), "utf-8")
    check_refused(autoparser("roundtrip", J1, "--tokenizer", path), "Missing [UNK] token")


def test_bound_beyond_float_range_is_written(autoparser: Run, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    schema = f'{{"type": "object", "properties": {{"a": {{"minimum": -1{ZEROS}}}}}}}'
    tools.write_text(f'[{{"name": "f", "parameters": {schema}}}]', "utf-8")
    ran = autoparser("grammar", J1, "--tools", tools)
    assert (ran.code, ran.err) == (0, "")


DIGITS = "0" * 5000
MESSAGES = "- role: user\n  content: &a [*a]"
ARGUMENTS = "[{function: {name: f, arguments: &a {a: *a}}}]"
BROKEN = {
    "an anchor in itself": ("render", J1, "--messages", "m.yaml", MESSAGES),
    "arguments in themselves": (
        *("render", J1, "--messages", "m.yaml"),
        f"- role: assistant\n  tool_calls: {ARGUMENTS}",
    ),
    "brackets in settings": ("lint", J1, "--config", "autoparser.toml", f"a = {'[' * 2000}"),
    "brackets in a baseline": ("lint", J1, "--baseline", "known.json", "[" * 100_000),
    "brackets in a log": ("roundtrip", J1, "--log", "log.jsonl", "[" * 100_000),
    "brackets in tools": ("grammar", J1, "--tools", "tools.yaml", "x: " + "[" * 5000),
    "brackets in records": ("survey", J1, "--records", "r.jsonl", "[" * 100_000 + "\n"),
    "a number of 5,000 digits": ("grammar", J1, "--tools", "tools.json", f"[1{DIGITS}]"),
    "the same in YAML": ("grammar", J1, "--tools", "tools.yaml", f"- 1{DIGITS}"),
    "content written 200 times": ("grammar", "r.jinja", REPEATED),
}


@pytest.mark.parametrize("name", BROKEN)
def test_file_that_breaks_its_reader_is_a_one_line_error(
    name: str, autoparser: Run, tmp_path: Path
) -> None:
    *use, file, text = BROKEN[name]
    (tmp_path / file).write_text(str(text), "utf-8")
    check_refused(autoparser(*use, tmp_path / file))


# An input file is never overwritten, whatever name it is given by.


TOOLS = '[{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]'
READ = {
    "t.jinja": J1.read_text("utf-8"),
    "tools.json": TOOLS,
    "output.txt": "Hello.<|im_end|>",
    "messages.yaml": "- {role: user, content: hi}\n",
    "autoparser.toml": "[lint]\n",
    "known.json": '{"schema": "autoparser.lint-baseline/1", "findings": []}',
}
OVERWRITES = load_cases(__file__, "hostile.yaml")["overwrites"]


@pytest.mark.parametrize("use", OVERWRITES)
def test_input_file_is_not_overwritten(
    use: str, autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in READ.items():
        (tmp_path / name).write_text(text, "utf-8")
    os.link(tmp_path / "t.jinja", tmp_path / "hard.jinja")
    (tmp_path / "soft.jinja").symlink_to(tmp_path / "t.jinja")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    ran = autoparser(*use.replace("ROOT", str(ROOT)).split())
    assert ran.code == 2, ran.out
    assert "would overwrite" in ran.err or "not written" in ran.err or "not a line of" in ran.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_file_on_standard_input_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "t.jinja"
    file.write_bytes(J1.read_bytes())
    monkey = pytest.MonkeyPatch()
    with file.open(encoding="utf-8") as opened, monkey.context() as patch:
        patch.setattr(sys, "stdin", opened)
        assert run(["lint", "-", "--no-isolation", "-o", str(file)]) == 2
    assert file.read_bytes() == J1.read_bytes()


# Files are written whole.


def test_leftover_file_of_a_killed_run_blocks_no_later_run(autoparser: Run, tmp_path: Path) -> None:
    (tmp_path / f".rules.txt.{os.getpid()}.tmp").write_text("left", "utf-8")
    assert autoparser("rule", "-o", tmp_path / "rules.txt").code == 0
    assert len([*tmp_path.iterdir()]) == 2


def test_fix_keeps_an_edit_saved_meanwhile(
    autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "t.jinja", tmp_path / "u.jinja"
    for path in (file, other):
        path.write_bytes(FIXABLE.read_bytes())
    fixed = lint_command.write_fixes

    def edit_first(found: wings.FixRun) -> tuple[wings.InputProblem, ...]:
        file.write_text("an edit", "utf-8")
        return fixed(found)

    monkeypatch.setattr(lint_command, "write_fixes", edit_first)
    ran = autoparser("fix", file, other, "--select", "AP109", "--write", "--no-cache")
    assert ran.code == 2
    assert "it was changed while this command ran" in " ".join(ran.err.split())
    assert file.read_text("utf-8") == "an edit"
    assert other.read_bytes() != FIXABLE.read_bytes(), "the other one is fixed"


TEMPLATE = "fixtures/lint/AP306/quiet.jinja"
QUESTION = ("--messages", "fixtures/debugging/question.yaml")
FULL = Path("/dev/full")
"""A device of Linux that no byte fits on."""


def test_full_disk_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoparser: Run
) -> None:
    file = tmp_path / "known.txt"
    file.write_text("old", "utf-8")
    monkeypatch.setattr(os, "fsync", NO_SPACE)
    ran = autoparser("rule", "-o", file)
    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert "make room there" in ran.err
    assert file.read_text("utf-8") == "old"
    assert [*tmp_path.iterdir()] == [file], "what was written beside is gone"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no such device")
@pytest.mark.parametrize(
    "command",
    [("rule", "AP306"), pytest.param(("analyze", TEMPLATE, "--json"), marks=pytest.mark.slow)],
)
def test_full_standard_output_is_a_one_line_error(command: tuple[str, ...], start: Start) -> None:
    with FULL.open("w") as full, start(*command, stdout=full.fileno()) as running:
        err = running.communicate()[1]
    words = "standard output: cannot be written (No space left on device); "
    assert err == words + "make room there, or name a file with --output\n"
    assert running.returncode == 2


def test_closed_pipe_exits_silently_with_141(start: Start) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with start("rule", stdout=writer) as running:
        assert running.communicate()[1] == ""
    os.close(writer)
    assert running.returncode == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_not_stop_a_command(closed: str, tmp_path: Path) -> None:
    page = tmp_path / "format.json"
    line = f'exec "$0" -m autoparser analyze "$1" --no-isolation --json -o "$2" {closed}'
    template = "fixtures/templates/j1-json-in-tags.jinja"
    command = ["bash", "-c", line, sys.executable, template, str(page)]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, text=True)  # noqa: S603
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "", False)
    assert json.loads(page.read_text("utf-8"))["template"]


def test_closed_pipe_prints_no_traceback(start: Start) -> None:
    with start("analyze", "fixtures/templates/j1-json-in-tags.jinja", "--json") as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(1)
        writer.stdout.close()
        assert writer.stderr.read() == ""
        assert writer.wait() == 0


def test_pipe_opened_late_is_written_and_read(tmp_path: Path, autoparser: Run) -> None:
    pipe, text = tmp_path / "pipe", "x" * 200_000
    os.mkfifo(pipe)
    (tmp_path / "long.jinja").write_text(f"{{{{ '{text}' }}}}", "utf-8")
    read: list[str] = []
    reader = threading.Timer(0.2, lambda: read.append(pipe.read_text("utf-8")))
    reader.daemon = True
    reader.start()
    ran = autoparser("render", tmp_path / "long.jinja", *QUESTION, "-o", pipe)
    reader.join(10)
    assert (ran.code, read) == (0, [text]), ran.err


@pytest.mark.parametrize("name", ["huge.jinja", "huge.json"])
def test_huge_file_is_refused_before_reading(
    name: str, tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / name
    with source.open("wb") as file:
        file.truncate(1 << 30)
    # Decoding follows reading: no byte may be read before the size is checked.
    monkeypatch.setattr(local_files, "decode_text", pytest.fail)
    words = f"{source}: larger than 64 MiB, the limit for a text"
    for use in (("analyze", source), ("parse", TEMPLATE, "--input", source)):
        ran = autoparser(*use)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err

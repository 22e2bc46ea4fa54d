"""ARCHITECTURE.md matches the code: its files exist, its layers are the checked ones."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.layer_picture import PAGE, ROOT, page_with, picture

_PATH = re.compile(r"`((?:analysis|cli|docs|fixtures|reports|tests)/[^`\s<*]+)`")

_RING_SIZE = re.compile(r": ([\d,]+) lines ─+")


def test_every_path_in_the_map_exists() -> None:
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        named = _PATH.findall((ROOT / page).read_text(encoding="utf-8"))
        assert named, page
        assert [path for path in named if not (ROOT / path).exists()] == [], page


def test_layer_picture_is_made_from_the_code() -> None:
    shown = PAGE.read_text(encoding="utf-8")
    drawn = page_with(picture())
    how = "python -m tests.layer_picture"
    assert _RING_SIZE.sub("", shown) == _RING_SIZE.sub("", drawn), how
    # Sizes may differ a little: a picture that every change made wrong would not be maintained.
    for was, now in zip(_ring_sizes(shown), _ring_sizes(drawn), strict=True):
        assert was == pytest.approx(now, rel=0.1), how


def _ring_sizes(page: str) -> list[int]:
    return [int(size.replace(",", "")) for size in _RING_SIZE.findall(page)]


# Two modules open files: one reads untrusted files, with limits, and the other writes files whole,
# and never over a file that was read.


READERS = {
    "analysis/sources/local_files.py": "the reader of all files from outside",
    **dict.fromkeys(
        (
            *("analysis/engines/plugin_check.py", "analysis/engines/probe_texts.py"),
            *("analysis/history/round_trips.py", "analysis/history/scenario_files.py"),
            *("analysis/history/training_template.py", "analysis/lint/rule.py"),
            *("analysis/lint/rule_conversations.py", "analysis/overview/debugged_prompts.py"),
            *("cli/model_files.py", "reports/pages.py"),
        ),
        "a file of the package",
    ),
    "analysis/lint/project_run.py": "the engine's own modules, whose digest is part of a key",
    "analysis/templates/worker_limits.py": "/proc/self/status",
    "analysis/templates/worker_process.py": "/proc of its worker",
}
WRITERS = {
    "analysis/sources/written_files.py": "the writer of all files",
    "analysis/engines/engine_worker/llama_reader.py": "runs in another Python, in its own folder",
}
READING, WRITING = {"read_text", "read_bytes"}, {"write_text", "write_bytes", "touch", "mkstemp"}
NAMED_FILES = {"NamedTemporaryFile", "copy", "copy2", "copyfile", "move", "truncate", "link"}
WRITE_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND"}


def opened_files(path: Path) -> Iterator[str]:
    """Yield `read` or `write` for each call in a module that opens a file by its name."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(call, ast.Call):
            continue
        function: Any = call.func
        owner = getattr(getattr(function, "value", None), "id", "")
        name = getattr(function, "attr", getattr(function, "id", ""))
        inner = [*ast.walk(call)]
        modes = [node.value for node in inner if isinstance(node, ast.Constant)]
        modes = [mode for mode in modes if re.fullmatch(r"[rwaxbt+]+", str(mode))]
        flags = {node.attr for node in inner if isinstance(node, ast.Attribute)}
        if name in READING and isinstance(function, ast.Attribute):
            yield "read"
        elif owner == "formatter":  # of a command's help
            continue
        elif name in WRITING or (owner in ("os", "shutil", "tempfile") and name in NAMED_FILES):
            yield "write"
        elif owner == "os" and name == "open" and "devnull" not in flags:
            yield "write" if flags & WRITE_FLAGS else "read"
        elif name == "open" and owner != "os" and (modes or isinstance(function, ast.Name)):
            yield "write" if set("".join(map(str, modes))) & set("wax+") else "read"


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("open(p)", ["read"]),
        ("open(p, 'w')", ["write"]),
        ("p.open('ab')", ["write"]),
        ("(a / b).open('xb')", ["write"]),
        ("p.open(mode='r+')", ["write"]),
        ("p.read_text('utf-8')", ["read"]),
        ("p.write_bytes(b'')", ["write"]),
        ("os.open(p, os.O_WRONLY | os.O_CREAT)", ["write"]),
        ("os.open(p, flags)", ["read"]),
        ("os.open(os.devnull, os.O_RDWR)", []),
        ("tempfile.mkstemp()", ["write"]),
        ("shutil.copyfile(a, b)", ["write"]),
        ("lane.open(sink, text)", []),
    ],
)
def test_call_that_opens_a_file_is_detected(code: str, kinds: list[str], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(code, "utf-8")
    assert [*opened_files(tmp_path / "m.py")] == kinds


def test_files_are_opened_in_one_module_to_read_and_one_to_write() -> None:
    found: dict[str, set[str]] = {"read": set(), "write": set()}
    for wing in ("analysis", "cli", "reports"):
        for path in sorted((ROOT / wing).rglob("*.py")):
            for kind in opened_files(path):
                found[kind].add(path.relative_to(ROOT).as_posix())
    assert found["write"] == set(WRITERS)
    assert found["read"] - set(WRITERS) == set(READERS)

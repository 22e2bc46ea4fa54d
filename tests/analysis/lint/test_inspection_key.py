"""What decides an answer is in its key."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autoparser import ChatTemplate, Limits, analysis
from autoparser.analysis.lint import inspection_cache as inspection_key
from autoparser.analysis.lint.inspection import InspectionTask
from autoparser.analysis.lint.inspection_cache import DECIDING, InspectionKeys, engine_digest
from autoparser.analysis.lint.other_jinjas import OtherJinja
from autoparser.analysis.templates.environment import SandboxKind

LIMITS = Limits()

ROOT = Path(__file__).parents[3]

Change = Callable[[InspectionTask], InspectionTask]


def of_template(**changes: object) -> Change:
    return lambda task: replace(task, template=replace(task.template, **changes))  # type: ignore[arg-type]


@pytest.fixture
def task(tmp_path: Path) -> InspectionTask:
    for name in ("tokenizer.json", "generation_config.json"):
        (tmp_path / name).write_text("{}")
    template = ChatTemplate("{{ messages }}", {"bos_token": "<s>"}, name="default", origin="a")
    return InspectionTask(template, ("AP101",), str(tmp_path / "tokenizer.json"), tmp_path)


def key_of(task: InspectionTask, limits: Limits | None = LIMITS) -> str:
    key = InspectionKeys(limits).key_of(task)
    assert key is not None
    return key


OTHERS: dict[str, Change] = {
    "text": of_template(text="{{ messages }} "),
    "a text without bytes in UTF-8": of_template(text="{{ messages }}\ud800"),
    "token": of_template(special_tokens={"bos_token": "<t>"}),
    "token's name": of_template(special_tokens={"eos_token": "<s>"}),
    "sandbox": of_template(sandbox=SandboxKind.MUTABLE),
    "rules": lambda task: replace(task, rules=("AP101", "AP102")),
    "no tokenizer": lambda task: replace(task, tokenizer=None),
    "no directory": lambda task: replace(task, directory=None),
}


@pytest.mark.parametrize("change", OTHERS)
def test_another_task_has_another_key(change: str, task: InspectionTask) -> None:
    assert key_of(OTHERS[change](task)) != key_of(task)


def test_a_name_and_a_place_decide_nothing(task: InspectionTask) -> None:
    assert key_of(of_template(name="tool_use", origin="b")(task)) == key_of(task)


@pytest.mark.parametrize("limits", [None, Limits(seconds=1), Limits(memory=10**8)])
def test_other_limits_make_another_key(limits: Limits | None, task: InspectionTask) -> None:
    assert key_of(task, limits) != key_of(task)


def _touch(folder: Path) -> None:
    path = folder / "tokenizer.json"
    now = path.stat().st_mtime_ns
    os.utime(path, ns=(now, now + 1))


def _same_length_and_time(folder: Path) -> None:
    path = folder / "generation_config.json"
    then = path.stat()
    path.unlink()
    path.write_text("[]")
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))


def _sibling(folder: Path) -> None:
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "rag.jinja").write_text("x")


FILES: dict[str, Callable[[Path], object]] = {
    "tokenizer": _touch,
    "configuration": _same_length_and_time,
    "new file": lambda folder: (folder / "chat_template.json").write_text("{}"),
    "gone": lambda folder: (folder / "generation_config.json").unlink(),
    "below": _sibling,
}


@pytest.mark.parametrize("change", FILES)
def test_other_files_of_the_model_make_another_key(
    change: str, task: InspectionTask, tmp_path: Path
) -> None:
    before = key_of(task)
    assert key_of(task) == before
    FILES[change](tmp_path)
    assert key_of(task) != before


def test_what_cannot_be_seen_from_here_has_no_key(task: InspectionTask) -> None:
    keys = InspectionKeys(LIMITS)
    jinja = OtherJinja("minijinja", "2.0", ("python",))
    assert keys.key_of(replace(task, jinjas=(jinja,))) is None
    assert keys.key_of(replace(task, tokenizer="some/model")) is None


def test_another_engine_has_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [engine_digest()]

    def again() -> None:
        engine_digest.cache_clear()
        found.append(engine_digest())

    monkeypatch.setattr(inspection_key, "__version__", "9.9")
    again()
    monkeypatch.setattr(inspection_key, "_version", lambda name: f"{name} 9.9")
    again()
    home = tmp_path / "engine"
    (home / "lint").mkdir(parents=True)
    rule = home / "lint" / "rule.py"
    monkeypatch.setattr(analysis, "__file__", str(home / "__init__.py"))
    for text in ("one", "two"):
        rule.write_text(text)
        again()
    again()
    os.utime(rule, ns=(1, 1))
    (home / "__pycache__").mkdir()
    (home / "__pycache__" / "rule.pyc").write_text("anything")
    again()
    monkeypatch.undo()
    again()
    *others, twice, touched, undone = found
    assert len(set(others)) == len(others) == 5
    assert others[-1] == twice == touched
    assert undone == found[0]


OF_NO_PART = {
    "huggingface-hub",  # fetches templates, whose texts are in the key
    "httpx2",  # asks servers
    "llguidance",  # masks
    "msgspec",  # reads what a person gives
    "packaging",  # versions of other programs
    "platformdirs",  # where the cache is
    "pyyaml",  # reads the scenarios of the package
    "rich",  # draws
    "typer",  # options
}
"""Packages without which rules would find the same."""


def test_every_package_that_is_needed_has_a_part_or_none() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {
        "".join(each if each.isalnum() or each in "-_" else " " for each in line).split()[0]
        for line in project["dependencies"]
    }
    assert needed == {*DECIDING} | OF_NO_PART

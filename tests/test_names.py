"""The names of classes, of public functions and of modules of the analysis are unique."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = [
    path for folder in ("analysis", "cli", "reports") for path in (ROOT / folder).rglob("*.py")
]


def shared(named: Iterable[tuple[str, Path]]) -> dict[str, list[Path]]:
    """Return the names that occur more than once, each with its places."""
    homes: dict[str, list[Path]] = defaultdict(list)
    for name, path in named:
        homes[name].append(path)
    assert len(homes) > 300
    return {name: places for name, places in homes.items() if len(places) > 1}


def test_class_names_are_unique() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")).body for path in FILES}
    classes = ((path, node) for path, tree in trees.items() for node in tree)
    assert (
        shared((node.name, path) for path, node in classes if isinstance(node, ast.ClassDef)) == {}
    )


ELSEWHERE = {
    *("analyze", "fetch", "learn", "lint", "rule"),  # each command is named like its function
    *("answers", "check", "main", "register"),  # called as `module.name`
}
"""Functions of one name in several modules; no other may be added."""


def test_public_function_names_are_unique() -> None:
    found = shared(
        (node.name, path)
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    )
    assert found.keys() <= ELSEWHERE
    assert found.keys() >= ELSEWHERE, "a name became unique: take it off the list"


def test_analysis_module_names_are_unique() -> None:
    files = (ROOT / "analysis").rglob("*.py")
    assert shared((path.stem, path) for path in files if not path.stem.startswith("__")) == {}

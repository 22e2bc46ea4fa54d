"""A class's name says which of all classes it is."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_no_two_classes_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for folder in ("analysis", "cli", "reports"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(str(path.relative_to(ROOT)))
    assert len(homes) > 300
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_two_modules_of_the_analysis_share_a_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "analysis").rglob("*.py")):
        if path.stem not in {"__init__", "__main__"}:
            homes[path.stem].append(str(path.relative_to(ROOT)))
    assert len(homes) > 300
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}

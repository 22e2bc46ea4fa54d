"""Draw the layers of the house as text, from the contracts in pyproject.toml and the code.

`python -m tests.layer_picture` writes the picture into ARCHITECTURE.md. What a layer is for is the
first line of its docstring, so that it is said once.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
OPEN, CLOSE = "<!-- layers -->\n", "<!-- end of layers -->\n"
WIDTH = 100
_FOLDERS = ("analysis", "reports", "cli")


def picture() -> str:
    """Return the layers from the top down, each importing only those below it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = {
        contract["containers"][0]: contract["layers"]
        for contract in contracts["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    }
    house = [layer for layer in layers["autoparser"] if layer in _FOLDERS]
    lines = [_line(ROOT / name, name) for name in house if name != "analysis"]
    lines += ["─" * (WIDTH - 4), *_wings(layers["autoparser.analysis"])]
    rows = "\n".join(f"│ {line:<{WIDTH - 4}} │" for line in lines)
    edge = "─" * (WIDTH - 2)
    return f"```\n┌{edge}┐\n{rows}\n└{edge}┘\n```\n"


def _wings(layers: list[str]) -> Iterator[str]:
    for layer in layers:
        for name in layer.split(" | "):
            yield _line(ROOT / "analysis" / name, name)


def _line(place: Path, name: str) -> str:
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return f"{name:<11}{doc.splitlines()[0]}"


def page_with(drawn: str) -> str:
    """Return ARCHITECTURE.md with this picture in its place."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(OPEN)
    _, _, after = rest.partition(CLOSE)
    return f"{before}{OPEN}{drawn}{CLOSE}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(picture()), encoding="utf-8")

"""Draw the layers of the house as text, from the contracts in pyproject.toml and the code.

`python -m tests.layer_picture` writes the picture into ARCHITECTURE.md. What a layer is for is the
first line of its docstring, so that it is said once. The layers form three rings, each of which
imports none of the rings above it: who embeds the parser may skip the upper two.
"""

from __future__ import annotations

import ast
import tomllib
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
OPEN, CLOSE = "<!-- layers -->\n", "<!-- end of layers -->\n"
WIDTH = 100
RINGS = {
    "cli": "What people see: the command line, lint, reports",
    "engines": "Servers, exports, formats learned from examples",
    "history": "What a server embeds: from a template to its parser, grammars and prompts",
}
"""The rings from the top down, by their first layer."""
_FOLDERS = ("analysis", "reports", "cli")


def picture() -> str:
    """Return the layers from the top down, each importing only those below it, in their rings."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = {
        contract["containers"][0]: contract["layers"]
        for contract in contracts["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    }
    house = [ROOT / name for name in layers["autoparser"] if name in _FOLDERS]
    places = [place for place in house if place.name != "analysis"]
    places += [ROOT / "analysis" / name for name in layers["autoparser.analysis"]]
    starts = [[place.name for place in places].index(name) for name in RINGS]
    lines: list[str] = []
    for (start, end), ring in zip(pairwise([*starts, None]), RINGS.values(), strict=True):
        size = round(sum(map(_size, places[start:end])), -3)
        lines += [f"─── {ring}: {size:,} lines ".ljust(WIDTH - 4, "─")]
        lines += map(_line, places[start:end])
    rows = "\n".join(f"│ {line:<{WIDTH - 4}} │" for line in lines)
    edge = "─" * (WIDTH - 2)
    return f"```\n┌{edge}┐\n{rows}\n└{edge}┘\n```\n"


def _size(place: Path) -> int:
    """Count the lines of a layer's modules, docstrings included."""
    modules = place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in modules)


def _line(place: Path) -> str:
    module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return f"{place.name:<11}{doc.splitlines()[0]}"


def page_with(drawn: str) -> str:
    """Return ARCHITECTURE.md with this picture in its place."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(OPEN)
    _, _, after = rest.partition(CLOSE)
    return f"{before}{OPEN}{drawn}{CLOSE}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(picture()), encoding="utf-8")

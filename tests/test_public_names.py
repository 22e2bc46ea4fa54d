"""Check that every public name is accessible and imports only what it needs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import autoparser
from autoparser.lazy_names import name_homes

ROOT = Path(__file__).parent.parent


def names_of(module: str) -> list[str]:
    return sorted(getattr(getattr(autoparser, module), "__all__"))  # noqa: B009 - as below


MODULES = [name for name, home in name_homes("autoparser").items() if home == "."]
NAMES = [
    *(name for name in name_homes("autoparser") if name not in MODULES),
    *(f"{module}.{name}" for module in MODULES for name in names_of(module)),
]
_TOLD = re.compile(r"^::: autoparser\.([\w.]+)$", re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_public_name_is_accessible_and_listed(name: str) -> None:
    module, _, last = name.rpartition(".")
    home = getattr(autoparser, module) if module else autoparser
    assert getattr(home, last) is not None
    assert last in dir(home)
    assert last in getattr(home, "__all__")  # noqa: B009 - type checkers see none


def test_docs_name_no_private_module() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    private = re.compile(r"\bautoparser\.(?:analysis\.[a-z_]+\.\w|cli\b|reports\b)(?!\w*_plugin)")
    assert [page.name for page in pages if private.search(page.read_text("utf-8"))] == []


def test_api_reference_lists_every_name() -> None:
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    told = [name for page in pages for name in _TOLD.findall(page.read_text("utf-8"))]
    assert sorted(told) == sorted(NAMES)
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page.name for page in pages if f": api/{page.name}\n" not in site] == []


def test_unknown_public_name_raises() -> None:
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        _ = autoparser.analyse  # type: ignore[attr-defined]


A1 = "fixtures/templates/a1-function-parameter.jinja"
IMPORTS = {
    "the package": ("import autoparser", ("autoparser.analysis",)),
    "an analysis of the engine": (
        "from autoparser import Analysis",
        ("autoparser.reports", "rich"),
    ),
    "a command on a local template": (
        "from autoparser.cli.main import run;"
        f" run(['analyze', '{A1}', '--json', '--output', os.devnull])",
        ("huggingface_hub", "tokenizers", "numpy"),
    ),
    "an analysis and its parser": (
        "from autoparser import ChatTemplate, analyze;"
        f" analyze(ChatTemplate(open('{A1}').read())).parser().parse('Hello.')",
        tuple(f"autoparser.analysis.{w}" for w in ("decoding", "engines", "grammar", "sources")),
    ),
}


@pytest.mark.parametrize(("code", "without"), IMPORTS.values(), ids=IMPORTS)
def test_program_imports_only_what_it_uses(code: str, without: tuple[str, ...]) -> None:
    code = f"import os, sys; {code}; print(*(n for n in sys.modules if n.startswith({without})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert (done.stdout.strip(), done.stderr.strip()) == ("", "")

"""What the README and the docs show is what happens."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Run

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
QUICK_START = ROOT / "docs" / "quick-start.md"
"""Its sessions follow each other, in a directory of their own."""
_SESSION = re.compile(r"```console\n\$ autoparser (.+)\n([\s\S]*?)```")
LONG = re.compile(r"--to template|^(fix|compare|survey|learn|report|roundtrip) ")
"""Sessions of half a second and more: much is rendered, or every edit is proved."""
SESSIONS = [
    pytest.param(
        command,
        shown,
        id=f"{page.stem}: {command}"[:80],
        marks=pytest.mark.slow if LONG.search(command) else (),
    )
    for page in PAGES
    if page != QUICK_START
    for command, shown in _SESSION.findall(page.read_text("utf-8"))
]
_EXAMPLES = re.compile(r"```pycon\n([\s\S]+?)```")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_is_real(command: str, shown: str, autoparser: Run) -> None:
    ran = autoparser(*shlex.split(command))
    # 1: findings, which the session shows.
    assert ran.code in (0, 1), ran.err
    at = 0
    for part in shown.split("[…]"):
        at = ran.out.find(part.strip("\n"), at)
        assert at >= 0, part


def test_the_quick_start_runs_where_nothing_is(
    autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = QUICK_START.read_text("utf-8")
    sessions = _SESSION.findall(page)
    # A block of any other kind would be one that nobody runs; the first installs the package.
    assert page.count("```") == 2 * (len(sessions) + len(_EXAMPLES.findall(page)) + 1)
    for command, shown in sessions:
        test_a_session_is_real(command, shown, autoparser)
    assert (tmp_path / "report.html").exists()
    assert _failures("\n".join(_EXAMPLES.findall(page))) == ""


@pytest.mark.parametrize("name", ["grammar.md", "parser.md"])
def test_the_examples_of_a_page_give_what_they_show(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / name).read_text("utf-8")
    code = "\n".join(_EXAMPLES.findall(page))
    assert code.count(">>> ") > 20
    assert _failures(code) == ""


def _failures(code: str) -> str:
    """Return what a session of Python gives otherwise than it shows."""
    test = doctest.DocTestParser().get_doctest(code, {}, "session", None, 0)
    told: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed
    return "".join(told) if failed else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text("utf-8")):
        assert (page.parent / link).exists(), link


def test_the_library_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n([\s\S]+?)```", README.read_text("utf-8"))
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    analysis = names["analysis"]
    assert analysis.markers.reasoning_start == "<think>"
    assert analysis.view.tools.name == "JSON_NATIVE"
    assert analysis.check.passed == 47

"""What the README and the docs show is what happens."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
_SESSION = re.compile(r"```console\n\$ autoparser (.+)\n([\s\S]+?)```")
SESSIONS = [
    pytest.param(command, shown, id=f"{page.stem}: {command}"[:80])
    for page in PAGES
    for command, shown in _SESSION.findall(page.read_text("utf-8"))
]
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_is_real(command: str, shown: str, autoparser: Callable[..., Any]) -> None:
    ran = autoparser(*shlex.split(command))
    # 1: findings, which the session shows.
    assert ran.code in (0, 1), ran.err
    at = 0
    for part in shown.split("[…]"):
        at = ran.out.find(part.strip("\n"), at)
        assert at >= 0, part


@pytest.mark.parametrize("name", ["grammar.md", "parser.md"])
def test_the_examples_of_a_page_give_what_they_show(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / name).read_text("utf-8")
    code = "\n".join(re.findall(r"```pycon\n([\s\S]+?)```", page))
    test = doctest.DocTestParser().get_doctest(code, {}, name, None, 0)
    assert len(test.examples) > 20
    told: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed
    assert not failed, "".join(told)


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
    assert analysis.check.passed == 45

"""Commands of the README and the docs print the shown output; `nox -s screens` updates it."""

from __future__ import annotations

import doctest
import html
import io
import os
import re
import shlex
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.formats.format_view import (
    CallIdPosition,
    ContentMode,
    FormatFlags,
    ReasoningMode,
    ToolFormat,
)
from autoparser.formats import MarkerRegistry
from autoparser.reports.template_page import MEANINGS
from tests.case_tables import load_cases
from tests.fixture_analyses import analyzed

from .conftest import ROOT, Run

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
ANALYZE = ROOT / "docs" / "analyze.md"
QUICK_START = ROOT / "docs" / "quick-start.md"
"""Its sessions follow each other, in a directory of their own."""
_BLOCK = re.compile(r"```console\n([\s\S]*?)```")
_SESSION = re.compile(r"\$ (.+)\n((?:(?!\$ ).*\n)*)")
"""A command and its output, in which `[…]` stands for omitted text."""
ELSEWHERE = {
    "engines/probe.md": "a server that runs llama.cpp, as tests/engines/test_llama_server.py does",
    "engines/which-parser.md": "environments with vLLM, SGLang and llama.cpp",
    "serve.md": "a server that completes text",
}
"""Pages with one block that is not run here, and its requirement."""
_COMMANDS = "fix|compare|survey|learn|report|roundtrip"
LONG = re.compile(rf"--edit|--engines|^autoparser ({_COMMANDS}) ")
"""Sessions of half a second and more: much is rendered, or every edit is proved."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


BLOCKS = [(page, block) for page in PAGES for block in _BLOCK.findall(page.read_text("utf-8"))]
SESSIONS = [
    pytest.param(
        page,
        *session,
        id=f"{_name(page)}: {session[0]}"[:90],
        marks=pytest.mark.slow if LONG.search(session[0]) else (),
    )
    for page, block in BLOCKS
    if page != QUICK_START and _name(page) not in ELSEWHERE
    for session in _SESSION.findall(block)
]
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": SVG_EXPORT_THEME}
_EXAMPLES = re.compile(r"```pycon\n([\s\S]+?)```")
_LINK = re.compile(r"(?:\]\(|src(?:set)?=\")([^)#:\"]+)(?:#[^)]*)?[)\"]")


def test_every_console_block_is_run_or_listed_as_an_exception() -> None:
    for page, block in BLOCKS:
        if _name(page) not in ELSEWHERE:
            assert "".join(f"$ {ran}\n{out}" for ran, out in _SESSION.findall(block)) == block
    for name in ELSEWHERE:
        assert [_name(page) for page, _ in BLOCKS].count(name) == 1, name


@pytest.mark.parametrize(("page", "command", "shown"), SESSIONS)
def test_documented_session_prints_the_documented_output(
    page: Path, command: str, shown: str, autoparser: Run, process: Run
) -> None:
    before, _, after = command.rpartition(" | ")
    name, *arguments = shlex.split(after)
    assert name == "autoparser"
    if before:
        # Piped commands run in a worker, as they do for users.
        echo, text = shlex.split(before)
        assert echo == "echo"
        ran = process(*arguments, stdin=text.encode())
        out = ran.out + ran.err
    else:
        ran = autoparser(*arguments)
        # Exit code 1: there are findings, and the session shows them.
        assert ran.code in (0, 1), ran.err
        out = ran.out
    if os.environ.get("UPDATE_DOCS") and "[…]" not in shown:
        text = page.read_text("utf-8")
        page.write_text(text.replace(f"$ {command}\n{shown}", f"$ {command}\n{out}"), "utf-8")
        return
    assert re.fullmatch(_pattern(shown), out), out


def _pattern(shown: str) -> str:
    """Return the screens of which a page shows parts."""
    lines = re.escape(shown).replace(re.escape("[…]\n"), r"(?:.*\n)*?")
    return lines.replace(re.escape("[…]"), ".*")


def test_quick_start_runs_in_an_empty_folder(
    autoparser: Run, process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = QUICK_START.read_text("utf-8")
    sessions = [session for block in _BLOCK.findall(page) for session in _SESSION.findall(block)]
    # Blocks of another kind would not be run; the first one installs the package.
    kinds = (*_BLOCK.findall(page), *_EXAMPLES.findall(page))
    assert page.count("```") == 2 * (len(kinds) + 1)
    for command, shown in sessions:
        test_documented_session_prints_the_documented_output(
            QUICK_START, command, shown, autoparser, process
        )
    assert (tmp_path / "report.html").exists()
    assert _failures("\n".join(_EXAMPLES.findall(page))) == ""


@pytest.mark.parametrize(
    ("name", "least"), [("format-files.md", 5), ("grammar.md", 20), ("parser.md", 20)]
)
def test_page_examples_print_the_shown_output(
    name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / name).read_text("utf-8")
    code = "\n".join(_EXAMPLES.findall(page))
    assert code.count(">>> ") >= least
    assert _failures(code) == ""


@pytest.mark.parametrize(("name", "theme"), THEMES.items())
def test_picture_equals_the_screen(
    name: str,
    theme: TerminalTheme,
    autoparser: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    autoparser("demo")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    command = "autoparser analyze autoparser-demo/chat_template.jinja"
    screen = Text.from_ansi(autoparser(*command.split()[1:]).out)
    console = Console(record=True, width=80, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}\n").append_text(screen))
    picture = ROOT / "docs" / "images" / f"analyze-{name}.svg"
    if os.environ.get("UPDATE_DOCS"):
        drawn = console.export_svg(title="autoparser", theme=theme, clear=False, unique_id="screen")
        # Remove the fonts, so that a page with this picture fetches nothing.
        drawn = re.sub(r"@font-face {[\s\S]*?}\s*", "", drawn)
        picture.write_text("".join(f"{line.rstrip()}\n" for line in drawn.splitlines()), "utf-8")
    words = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text("utf-8"))
    told = html.unescape("".join(words[1:]))
    assert re.sub(r"\s", "", told) == re.sub(r"\s", "", console.export_text()), "nox -s screens"


def _failures(code: str) -> str:
    """Return how a session of Python differs from the shown one."""
    test = doctest.DocTestParser().get_doctest(code, {}, "session", None, 0)
    told: list[str] = []
    failed = doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed
    return "".join(told) if failed else ""


def test_readme_figures_equal_the_scoreboard() -> None:
    board = (ROOT / "docs" / "neutral-cases.md").read_text("utf-8")
    readme = README.read_text("utf-8")
    assert len(readme.splitlines()) <= 50
    ((cases, row),) = re.findall(
        r"\[(\d+) tool-call cases .*, parsed correctly \| (.*) \|$", readme, re.MULTILINE
    )
    shown = []
    for reader in ("autoparser", "vLLM", "SGLang", r"llama\.cpp"):
        ((version, *counts),) = re.findall(
            rf"^{reader}(?: (\S+))? +(\d+) +(\d+) +(\d+) +(\d+)$", board, re.MULTILINE
        )
        # All rows share one denominator, though a table of the board also counts the cases of each.
        assert sum(map(int, counts)) == int(cases)
        shown.append(f"{counts[0]} ({version})" if version else f"**{counts[0]}**")
    assert row == " | ".join(shown)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_page_links_and_install_commands_are_valid(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.findall(r"(?:pipx?|uvx?) (?:tool )?install .*autoparser-c", text)
    for link in _LINK.findall(text):
        assert (page.parent / link).exists(), link


def test_library_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n([\s\S]+?)```", ANALYZE.read_text("utf-8"))
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    analysis = names["analysis"]
    assert analysis.markers.reasoning_start == "<think>"
    assert analysis.view.tools.name == "JSON_NATIVE"
    assert analysis.check.passed == 47


BUGS = "tests/analysis/lint/planted/bugs.yaml"
USUAL = "fixtures/usual_form.yaml"
CORNERS = load_cases(__file__, "corners.yaml")
SOUND = str(CORNERS["sound"])


def corner_rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "docs" / "lint.md").read_text("utf-8")
    table = text.split("## Edge cases")[1].split("\n## ")[0]
    return re.findall(r"^\| (.+?) \| (.+?) \| `(.+?)` \|$", table, re.MULTILINE)


def template_of(what: str) -> str:
    """Return the template of a row in the table of corners in docs/lint.md."""
    if what.startswith("a variable"):
        return SOUND.replace("HEAD", "tone == 'grave'").replace("NUMBER", "''")
    if what.startswith("calls numbered"):
        return SOUND.replace("HEAD", "false").replace("NUMBER", "calls.count")
    if what.startswith("arguments reversed"):
        known = yaml.safe_load((ROOT / USUAL).read_text("utf-8"))
        return str(known["arguments reversed"]["template"])
    kind = CORNERS["kinds"].get(what, what)
    bugs = yaml.safe_load((ROOT / BUGS).read_text("utf-8"))
    (bug,) = (bug for bug in bugs if bug["kind"] == kind)
    host = (ROOT / "fixtures" / "templates" / f"{bug['in']}.jinja").read_text("utf-8")
    assert host.count(bug["replace"]) == 1
    return host.replace(bug["replace"], bug["with"])


@pytest.mark.parametrize(
    ("what", "by", "words"),
    [
        pytest.param(*row, id=row[0], marks=pytest.mark.slow if at % 4 else ())
        for at, row in enumerate(corner_rows())
    ],
)
def test_documented_limits_match_the_table(
    autoparser: Run, tmp_path: Path, what: str, by: str, words: str
) -> None:
    path = tmp_path / "corner.jinja"
    path.write_text(template_of(what), "utf-8")
    asked = by.split(", ")
    for code in asked[: -1 if asked[-1] == "analyze" else None]:
        found = autoparser("lint", path, "--isolated", "--select", code, "--format", "concise")
        assert any(f"{code} [" in line and words in line for line in found.out.splitlines())
    if asked[-1] == "analyze":
        shown = " ".join(autoparser("analyze", path).out.split())
        if words not in shown:
            shown = " ".join(autoparser("analyze", path, "--show", "faults").out.split())
        assert words in shown


def test_limits_page_has_19_rows() -> None:
    assert len(corner_rows()) == 19


# The page on modes explains every mode, and its examples are correct.


MODES_PAGE = (ROOT / "docs" / "modes.md").read_text("utf-8")

MODES: dict[str, tuple[str, type[StrEnum]]] = {
    "Reasoning": ("reasoning", ReasoningMode),
    "Content": ("content", ContentMode),
    "Tool calls": ("tools", ToolFormat),
    "Call id": ("call_id", CallIdPosition),
}


def mode_table(title: str) -> list[list[str]]:
    """Return the rows of a section's table, less the quotes of code."""
    _, _, section = MODES_PAGE.partition(f"\n## {title}\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:]]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in cells]


def code(cell: str) -> str:
    assert cell[0] == cell[-1] == "`", cell
    return cell[1:-1]


MODE_EXAMPLES = [
    (title, code(mode), code(fixture))
    for title in MODES
    for mode, _, fixture, *_ in mode_table(title)
]


@pytest.mark.parametrize(("title", "mode", "fixture"), MODE_EXAMPLES)
def test_mode_is_shown_by_its_example_template(title: str, mode: str, fixture: str) -> None:
    assert getattr(analyzed(fixture).view, MODES[title][0]) == mode


@pytest.mark.parametrize("row", mode_table("Markers"), ids=lambda row: row[0])
def test_marker_occurs_in_its_example_template(row: list[str]) -> None:
    marker, text, fixture = map(code, (row[0], row[2], row[3]))
    assert getattr(analyzed(fixture).markers, marker) == text


def test_docs_explain_every_mode_marker_flag_effect_and_phase() -> None:
    explained = {
        **{title: [*kind] for title, (_, kind) in MODES.items()},
        "Markers": [field.name for field in fields(MarkerRegistry)],
        "Flags": [field.name for field in fields(FormatFlags)],
        "What a switch changes": [*SwitchEffect],
        "Phases": [finding.phase for finding in analyzed("a1-function-parameter").phases],
    }
    assert {title: [code(row[0]) for row in mode_table(title)] for title in explained} == explained
    # The page for a browser has words for every mode, too.
    assert [list(words) for words in MEANINGS.values()] == [[*kind] for _, kind in MODES.values()]

"""Check that a command imports no more modules than it needs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from msgspec import Struct
from typer.core import TyperGroup

from autoparser.analysis.formats.format_file import FormatFile
from autoparser.cli import wings
from autoparser.cli.main import HOMES, SUMMARIES, _PlainConversion, app
from autoparser.lazy_names import lazy_pattern, name_homes
from tests.offers import tool

from .conftest import ROOT, Run

A1 = "fixtures/templates/a1-function-parameter.jinja"
READ_FOR_PAGES = ("hit", "registry", "rule")
READ_FOR_MESSAGES = ("blocks", "message", "terminal", "visible")


def imported(*uses: tuple[object, ...], after: str = "") -> set[str]:
    """Return the modules imported by a fresh Python that has run commands."""
    code = "import sys; from autoparser.cli.main import run; " + after
    code += "".join(f"run({[*map(str, use)]!r}); " for use in uses)
    code += "print('|'.join(sys.modules), file=sys.stderr)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)  # noqa: S603
    return set(done.stderr.splitlines()[-1].split("|"))


def wings_in(modules: set[str]) -> set[str]:
    """Return the wings of the engine that modules belong to."""
    own = (name for name in modules if name.startswith("autoparser.analysis."))
    return {name.split(".")[2] for name in own}


def commands_in(modules: set[str]) -> set[str]:
    homes = {name: HOMES.get(name, name) for name in SUMMARIES}
    return {name for name, home in homes.items() if f"autoparser.cli.{home}" in modules}


def test_help_and_version_import_little_more_than_typer() -> None:
    found = imported(("--help",), ("--version",))
    own = {name for name in found if name.startswith("autoparser.analysis.")}
    core = "autoparser.analysis.core"
    assert own == {core, f"{core}.errors", f"{core}.error_words"}
    assert not commands_in(found)
    assert not [name for name in found if name.startswith("autoparser.reports")]
    assert not found & {
        "jinja2",
        "msgspec",
        "multiprocessing",
        "rich",
        "importlib.metadata",
        "pkgutil",
        "yaml",
    }


def test_command_help_imports_no_engine_or_reports() -> None:
    found = imported(*((name, "--help") for name in SUMMARIES))
    assert commands_in(found) == set(SUMMARIES)
    assert wings_in(found) <= {"core", "templates"}
    assert not found & {"jinja2", "yaml", "rich.console", "autoparser.reports", "tokenizers"}


def test_parsing_with_a_saved_format_imports_no_template_engine(
    autoparser: Run, tmp_path: Path
) -> None:
    saved, output = tmp_path / "model.format.json", tmp_path / "output.txt"
    assert autoparser("analyze", A1, "--format", "file", "-o", saved).code == 0
    call = "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"
    answer = f"A city.\n</think>\n\nI look.\n\n<tool_call>\n{call}\n</tool_call><|im_end|>"
    output.write_text(answer, encoding="utf-8")
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([tool("get_weather", {"city": {"type": "string"}})]))
    parse = ("parse", saved, "--input", output, "--tools", tools)
    shown = imported(parse, (*parse, "--stream"))
    written = imported((*parse, "--json"), (*parse, "--json", "--stream"))
    found = shown | written
    assert commands_in(found) == {"parse"}
    assert wings_in(found) <= {"core", "templates", "formats", "parsing", "sources", "learning"}
    heavy = {"jinja2", "yaml", "jsonschema", "huggingface_hub", "tokenizers", "numpy", "pydantic"}
    heavy |= {"rich.console", "hashlib", "tempfile", "markupsafe", "html.entities", "pkgutil"}
    heavy.add("autoparser.analysis.core.server_engines")
    assert not found & {*heavy, "multiprocessing", "autoparser.analysis.learning.prober"}
    for modules, names in ((shown, READ_FOR_MESSAGES), (written, ("message_document",))):
        reports = {name for name in modules if name.startswith("autoparser.reports.")}
        assert reports <= {f"autoparser.reports.{name}" for name in names}
    assert not written & {"rich", "random"}
    # An explicit limit needs a worker.
    assert "multiprocessing" in imported((*parse, "--timeout", "9"))


COUNTED = """
import dataclasses, re
made = []
usual, process = re._compiler.compile, dataclasses._process_class
re._compiler.compile = lambda *given: made.append(given[0]) or usual(*given)
dataclasses._process_class = lambda kind, *given: made.append(kind) or process(kind, *given)
import autoparser.analysis.formats.saved_format, autoparser.analysis.core.request_files
from autoparser.cli import command_runs, parse
expressions = [item for item in made if isinstance(item, str)]
classes = [item.__name__ for item in made if getattr(item, "__module__", "")[:11] == "autoparser."]
print(len(expressions), *classes)
"""
"""Prints how many expressions are compiled by imports, and which data classes they make."""


def test_parse_compiles_few_regexes_and_dataclasses() -> None:
    command = [sys.executable, "-c", COUNTED]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)  # noqa: S603
    expressions, *classes = done.stdout.split()
    # 77 while each module compiled its own; those of Python and typer are among them.
    assert int(expressions) <= 50
    assert classes == ["ParsedCall", "ParsedMessage", "LearnedFormat", "SavedFormat"]


def test_lazy_pattern_is_compiled_on_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.match("(")
    number = lazy_pattern(r"\d+", re.ASCII)
    assert [number.fullmatch(text) is not None for text in ("12", "x", "٣")] == [True, False, False]


def structs_in(kind: object) -> set[type[Struct]]:
    """Return a struct and all those in its fields."""
    found: set[type[Struct]] = set()
    waiting = [kind]
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, Struct) and kind not in found:
            found.add(kind)
            waiting += get_type_hints(kind, include_extras=True).values()
    return found


def test_saved_format_is_read_without_compiling_annotations() -> None:
    texts = [
        (kind.__name__, text)
        for kind in structs_in(FormatFile)
        for text in kind.__annotations__.values()
        if isinstance(text, str)
    ]
    # A word has one annotation; the other class is named before it is there.
    assert {name for name, _ in texts} <= {"FreeWord", "ContainerDocument"}, texts


def test_analyze_imports_no_comparison_or_decoding() -> None:
    found = imported(("analyze", A1, "--no-isolation"))
    unneeded = {"decoding", "history", "editing", "engines", "export"}
    assert not wings_in(found) & unneeded
    heavy = {"asyncio", "tokenizers", "jsonschema", "huggingface_hub", "pydantic", "logging"}
    heavy.add("autoparser.analysis.learning.example_conclusion")
    assert not found & {*heavy, "autoparser.analysis.overview.comparison"}


def test_cached_lint_imports_no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOPARSER_NO_CACHE", raising=False)
    lint = ("lint", A1, "--cache-dir", tmp_path)
    first, again = imported(lint), imported(lint)
    assert "autoparser.analysis.lint.template_inspection" in first
    assert wings_in(again) == {"core", "lint", "sources", "templates"}
    assert "autoparser.analysis.lint.subject" not in again
    unneeded = {"jinja2", "multiprocessing", "importlib.metadata", "autoparser.reports.findings"}
    unneeded |= {"yaml", "rich.console"}
    assert not again & unneeded


def test_rule_command_imports_no_checks_or_engine() -> None:
    found = imported(("rule",), ("rule", "AP301"), ("rule", "-f", "markdown"))
    own = {name for name in found if name.startswith("autoparser.analysis.lint.")}
    assert own == {f"autoparser.analysis.lint.{name}" for name in READ_FOR_PAGES}
    assert not found & {"jinja2", "tokenizers", "yaml", "autoparser.analysis.analysis"}


def test_lint_imports_no_schema_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A flag that is set by a variable is converted.
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")
    found = imported(("lint", A1, "--no-cache", "--no-isolation", "-o", tmp_path / "x"))
    assert commands_in(found) == {"lint", "fix"}
    assert not found & {"jsonschema", "lark", "pydantic", "huggingface_hub", "tokenizers"}


def test_help_fits_its_line_and_lists_every_command(autoparser: Run) -> None:
    told = autoparser("--help").out
    assert autoparser().out == told
    for name, words in SUMMARIES.items():
        assert f"  {name:<9}  {words}\n" in told
    assert list(typer.main.get_command(app).commands) == list(SUMMARIES)  # type: ignore[attr-defined]


def test_every_name_of_the_wings_is_used_and_found() -> None:
    homes = name_homes("autoparser.cli.wings")
    used = {
        name
        for path in (ROOT / "cli").glob("*.py")
        for name in homes
        if f"wings.{name}" in path.read_text("utf-8")
    }
    assert used == set(homes), "a name that no command uses"
    for name in homes:
        assert getattr(wings, name) is not None


GIVEN: tuple[object, ...] = (
    None,
    "",
    "-",
    "0",
    "7",
    "x",
    "json",
    "pyproject.toml",
    "no/such",
    ".",
    "a\0",
)


def parameters() -> Iterator[tuple[str, Any, Any]]:
    """Return every parameter of every command, and its context."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for command in (group, *group.commands.values()):
        context = typer.Context(command)
        for parameter in command.get_params(context):
            yield f"{command.name} {parameter.name}", parameter, context


def outcome(conversion: Any, value: object, parameter: Any, context: Any) -> object:
    try:
        found = conversion.coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return str(error)
    return type(found), found


def test_plain_option_conversion_equals_typers() -> None:
    seen = 0
    for name, parameter, context in parameters():
        plain, several = parameter.get_runtime_param(), parameter.multiple or parameter.nargs == -1
        assert isinstance(plain, _PlainConversion), name
        usual = plain._usual()
        for value in (*GIVEN, parameter.default):
            given = [value] if several and isinstance(value, str) else value
            expected = outcome(usual, given, parameter, context)
            assert outcome(plain, given, parameter, context) == expected, (name, given)
            seen += 1
    assert seen > 1000


@pytest.mark.parametrize("at_work", [False, True], ids=["alone", "beside a thread"])
def test_command_exits_without_interpreter_teardown_unless_a_thread_runs(at_work: bool) -> None:
    code = f"""
import atexit, sys, threading, time
class Module:
    def __del__(self):
        print("taken down")
sys.modules["held"] = Module()
atexit.register(print, "left")
if {at_work}:
    threading.Thread(target=lambda: (time.sleep(0.5), print("done"))).start()
sys.argv[1:] = ["rule", "AP999"]
from autoparser.__main__ import main
main()
"""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=ROOT, text=True
    )
    assert done.returncode == 2
    assert "AP999" in done.stderr
    assert done.stdout.split("\n")[:-1] == (["done", "left", "taken down"] if at_work else ["left"])

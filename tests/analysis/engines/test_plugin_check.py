"""Whether engines find the plugins: environments with an engine that is a few lines long."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.engines.environment_worker import PLUGINS, WITHOUT
from autoparser.analysis.engines.plugin_check import CheckState, PluginCheck, plugin_check
from autoparser.analysis.engines.sglang_plugin import HOOKED

ROOT = Path(__file__).parents[3]
MANAGER = """
class {name}:
    known = {{}}

    @classmethod
    def register_module(cls, name, module):
        cls.known[name] = module

    @classmethod
    def get_{kind}_parser(cls, name):
        return cls.known[name]
"""
LOADING = """
from importlib.metadata import entry_points

def load_general_plugins():
    print("an engine says what it loads")
    for point in entry_points(group="vllm.general_plugins"):
        point.load()()
"""


def stubs(engine: str) -> dict[str, str]:
    """Write modules that have every hook, each class and method with its parameters."""
    classes: dict[str, dict[str, dict[str, str]]] = {}
    for place, parameters in PLUGINS[engine].hooks.items():
        module, _, path = place.partition(":")
        name, _, method = path.partition(".")
        methods = classes.setdefault(module, {}).setdefault(name, {})
        methods[method or "__init__"] = ", ".join(["self", *parameters.split()])
    return {
        module: "".join(
            f"class {name}:\n"
            + "".join(f"    def {method}({taken}): ...\n" for method, taken in methods.items())
            for name, methods in found.items()
        )
        for module, found in classes.items()
    }


VLLM = {
    **stubs("vllm"),
    "vllm.plugins": LOADING,
    "vllm.tool_parsers": MANAGER.format(name="ToolParserManager", kind="tool"),
    "vllm.reasoning": MANAGER.format(name="ReasoningParserManager", kind="reasoning"),
    "vllm.parser.parser_manager": """
class ParserManager:
    @classmethod
    def _compose_parser(cls, *, tool_parser_name, reasoning_parser_name): ...
""",
}
FILES = {
    **{f"{name.replace('.', '/')}/__init__.py": text for name, text in VLLM.items()},
    "vllm-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 9.9\n",
    "vllm-9.9.dist-info/top_level.txt": "vllm\n",
    "autoparser_chat-0.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: autoparser-chat\nVersion: 0.0\nRequires-Dist: llguidance>1\n"
    ),
    "autoparser_chat-0.0.dist-info/entry_points.txt": (
        "[vllm.general_plugins]\nautoparser = autoparser.analysis.engines.vllm_plugin:register\n"
    ),
}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an engine, and this package, that other Pythons look into."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VLLM_PLUGINS", raising=False)
    return tmp_path


def states(check: PluginCheck) -> dict[str, CheckState]:
    return {point.what: point.state for point in check.points}


def test_engine_that_finds_the_plugin_passes_the_check(engine: Path) -> None:
    found = plugin_check()
    assert [
        (point.what, point.found) for point in found.points if point.state is CheckState.NO
    ] == []
    told = states(found)
    assert told["vllm --tool-call-parser autoparser"] is CheckState.YES
    assert told["vllm --reasoning-parser autoparser"] is CheckState.YES
    assert told["llguidance fits autoparser-chat"] is CheckState.YES
    assert told["sglang"] is CheckState.UNKNOWN
    assert found.ok
    assert engine.exists()


def test_every_failed_check_has_a_way_out(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (engine / "autoparser_chat-0.0.dist-info" / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nautoparser = other:register\n"
    )
    needs = engine / "vllm-9.9.dist-info" / "METADATA"
    needs.write_text(f"{FILES['vllm-9.9.dist-info/METADATA']}Requires-Dist: llguidance<1.0\n")
    monkeypatch.setenv("VLLM_PLUGINS", "others")
    found = plugin_check()
    wrong = {point.what: point for point in found.points if point.state is CheckState.NO}
    assert set(wrong) == {
        "vllm finds the plugin",
        "VLLM_PLUGINS lets it load",
        "vllm accepts the plugin's names",
        "llguidance fits vllm",
    }
    assert all(point.way_out for point in wrong.values())
    assert "ModuleNotFoundError" in wrong["vllm accepts the plugin's names"].found
    assert not found.ok


def test_check_without_imports_runs_no_engine_code(engine: Path) -> None:
    (engine / "vllm" / "plugins" / "__init__.py").write_text("raise SystemExit")
    assert plugin_check(imports=False).ok
    assert states(plugin_check())["vllm accepts the plugin's names"] is CheckState.NO


def test_missing_hook_is_named_with_its_consequence(engine: Path) -> None:
    lost = (
        "vllm.parser.parser_manager:ParserManager._compose_parser (not there): both names work,"
        " each for its half: neither sees whether an answer was truncated"
    )
    parameter = (
        "vllm.tool_parsers.abstract_tool_parser:ToolParser.extract_tool_calls"
        " (no parameter model_output)"
    )
    for place, old, new, state, words in (
        ("parser/parser_manager", "_compose_parser", "compose_parser", CheckState.PARTLY, lost),
        (
            "tool_parsers/abstract_tool_parser",
            "model_output, request",
            "output, request",
            CheckState.NO,
            f"{parameter}; {lost}",
        ),
    ):
        module = engine / "vllm" / place / "__init__.py"
        module.write_text(module.read_text("utf-8").replace(old, new))
        found = plugin_check()
        hooks = next(
            point
            for point in found.points
            if point.what == "vllm has the functions that the plugin hooks"
        )
        assert (hooks.state, hooks.found) == (state, words)
        assert hooks.way_out
        assert found.ok is (state is CheckState.PARTLY)
        assert states(found)["vllm --tool-call-parser autoparser"] is CheckState.YES


def test_optional_hooks_are_listed_hooks() -> None:
    assert WITHOUT.keys() <= {place for plugin in PLUGINS.values() for place in plugin.hooks}
    spelled = {place.replace(":", ".") for place in PLUGINS["sglang"].hooks}
    assert HOOKED.keys() <= spelled


@pytest.mark.parametrize("engine_name", PLUGINS)
def test_modules_imported_by_a_plugin_are_hooks(engine_name: str) -> None:
    text = (ROOT / "analysis" / "engines" / f"{engine_name}_plugin.py").read_text("utf-8")
    named = set(re.findall(r'import_module\(\s*"([\w.]+)"|_attribute\(\s*"([\w.]+)"', text))
    modules = {first or second for first, second in named}
    assert modules
    assert modules <= {place.partition(":")[0] for place in PLUGINS[engine_name].hooks}


def test_missing_engine_fails_the_check(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(engine / "vllm")
    found = plugin_check(imports=False)
    assert states(found)["an engine"] is CheckState.NO


@pytest.mark.parametrize(
    ("python", "timeout", "words"),
    [
        ("/nowhere/python", 9, "cannot be run: No such file"),
        ("true", 9, "unexpected output: nothing; name an interpreter"),
        (sys.executable, 0.001, "does not answer within 0.001 seconds; add --no-import"),
    ],
)
def test_non_python_interpreter_is_an_error(python: str, timeout: float, words: str) -> None:
    with pytest.raises(AutoparserError) as caught:
        plugin_check(python, imports=False, timeout=timeout)
    assert words in str(caught.value)

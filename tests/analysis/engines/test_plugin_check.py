"""Whether engines find the plugins: environments with an engine that is a few lines long."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.engines.plugin_check import CheckState, PluginCheck, plugin_check

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
FILES = {
    "vllm/__init__.py": "",
    "vllm/plugins.py": """
from importlib.metadata import entry_points

def load_general_plugins():
    print("an engine says what it loads")
    for point in entry_points(group="vllm.general_plugins"):
        point.load()()
""",
    "vllm/tool_parsers/__init__.py": MANAGER.format(name="ToolParserManager", kind="tool"),
    "vllm/tool_parsers/abstract_tool_parser.py": "class ToolParser: pass",
    "vllm/reasoning/__init__.py": MANAGER.format(name="ReasoningParserManager", kind="reasoning"),
    "vllm/reasoning/abs_reasoning_parsers.py": "class ReasoningParser: pass",
    "vllm/sampling_params.py": "class StructuredOutputsParams: pass",
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/generate/__init__.py": "",
    "vllm/entrypoints/generate/base/__init__.py": "",
    "vllm/entrypoints/generate/base/protocol.py": """
class DeltaMessage: pass
DeltaToolCall = DeltaFunctionCall = ToolCall = FunctionCall = DeltaMessage
ExtractedToolCallInformation = DeltaMessage
""",
    "vllm-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 9.9\n",
    "vllm-9.9.dist-info/top_level.txt": "vllm\n",
}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an engine, and this package, that other Pythons look into."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    ours = tmp_path / "autoparser_chat-0.0.dist-info"
    ours.mkdir()
    (ours / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: autoparser-chat\nVersion: 0.0\nRequires-Dist: llguidance>1\n"
    )
    (ours / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nautoparser = autoparser.analysis.engines.vllm_plugin:register\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VLLM_PLUGINS", raising=False)
    return tmp_path


def states(check: PluginCheck) -> dict[str, CheckState]:
    return {each.what: each.state for each in check.points}


def test_an_engine_that_finds_the_plugin_is_a_yes(engine: Path) -> None:
    found = plugin_check()
    assert [(each.what, each.found) for each in found.points if each.state is CheckState.NO] == []
    told = states(found)
    assert told["vllm --tool-call-parser autoparser"] is CheckState.YES
    assert told["vllm --reasoning-parser autoparser"] is CheckState.YES
    assert told["llguidance fits autoparser-chat"] is CheckState.YES
    assert told["sglang"] is CheckState.UNKNOWN
    assert found.ok
    assert engine.exists()


def test_every_no_has_a_way_out(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (engine / "autoparser_chat-0.0.dist-info" / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nautoparser = other:register\n"
    )
    needs = engine / "vllm-9.9.dist-info" / "METADATA"
    needs.write_text(f"{FILES['vllm-9.9.dist-info/METADATA']}Requires-Dist: llguidance<1.0\n")
    monkeypatch.setenv("VLLM_PLUGINS", "others")
    found = plugin_check()
    wrong = {each.what: each for each in found.points if each.state is CheckState.NO}
    assert set(wrong) == {
        "vllm finds the plugin",
        "VLLM_PLUGINS lets it load",
        "vllm has its names",
        "llguidance fits vllm",
    }
    assert all(each.way_out for each in wrong.values())
    assert "ModuleNotFoundError" in wrong["vllm has its names"].found
    assert not found.ok


def test_nothing_is_imported_where_that_is_said(engine: Path) -> None:
    (engine / "vllm" / "plugins.py").write_text("raise SystemExit")
    assert plugin_check(imports=False).ok
    assert states(plugin_check())["vllm has its names"] is CheckState.NO


def test_no_engine_is_a_no(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(engine / "vllm")
    found = plugin_check(imports=False)
    assert states(found)["an engine"] is CheckState.NO


@pytest.mark.parametrize(
    ("python", "timeout", "words"),
    [
        ("/nowhere/python", 9, "cannot be run: No such file"),
        ("true", 9, "does not say what it has: nothing; name an interpreter"),
        (sys.executable, 0.001, "does not answer within 0.001 seconds; add --no-import"),
    ],
)
def test_what_is_no_python_is_an_error(python: str, timeout: float, words: str) -> None:
    with pytest.raises(AutoparserError) as caught:
        plugin_check(python, imports=False, timeout=timeout)
    assert words in str(caught.value)

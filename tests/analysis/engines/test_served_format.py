"""The format of a server: shared by its processes, and what becomes of it as templates change."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoparser import Analysis, ChatTemplate, learn_outputs, load_template
from autoparser.analysis.core.errors import TemplateNotFoundError
from autoparser.analysis.engines.served_format import (
    CACHE_VARIABLE,
    FORMAT_VARIABLE,
    TEMPLATE_VARIABLE,
    UNUSED,
    SharedFormat,
    learn_shared,
    served_format,
    served_request,
    served_template,
)
from autoparser.analysis.teaching.taught_analysis import UsedFormat
from tests.corpus.grammar_readers import read_by_xgrammar
from tests.fixture_analyses import analyzed

from .served_model import NAMES, TEMPLATES, TOOLS, tokenizer_for

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    learn_shared.cache_clear()
    return folder


def template_of(name: str = NAMES[0]) -> ChatTemplate:
    return ChatTemplate((TEMPLATES / f"{name}.jinja").read_text("utf-8"))


def learn_anew(template: ChatTemplate) -> object:
    """Learn as another process does, which has nothing in its memory."""
    learn_shared.cache_clear()
    return learn_shared(template)


def test_learned_format_is_shared_between_processes(cache: Path) -> None:
    first, second = learn_shared(template_of()), learn_anew(template_of())
    assert isinstance(first, Analysis)
    assert isinstance(second, SharedFormat)
    assert second.formats == first.formats
    assert second.gate == first.gate
    assert second.gate.asked > 0
    assert second.parser(TOOLS).parse(CALL) == first.parser(TOOLS).parse(CALL)
    assert len([*cache.glob("*.json")]) == 1
    assert isinstance(learn_anew(template_of(NAMES[1])), Analysis)


def test_unlearned_setting_is_learned_in_each_process(cache: Path) -> None:
    text = "{% if form == 'long' %}<<{% endif %}{{ messages[0].content }}{% if form %}!{% endif %}"
    first, second = learn_shared(ChatTemplate(text)), learn_anew(ChatTemplate(text))
    assert isinstance(second, SharedFormat)
    assert second.under({"form": "other"}) == first.under({"form": "other"})
    assert cache.is_dir()


@pytest.mark.parametrize("damage", [b"", b"{}", b"\x00\xff", b'{"schema": "autoparser.format/1"'])
def test_damaged_cache_file_is_rewritten(cache: Path, damage: bytes) -> None:
    learn_shared(template_of())
    (file,) = cache.glob("*.json")
    good = file.read_bytes()
    file.write_bytes(damage)
    assert isinstance(learn_anew(template_of()), Analysis)
    assert file.read_bytes() == good


def test_unusable_cache_folder_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    for folder in ("", str(tmp_path / "file" / "x")):
        monkeypatch.setenv(CACHE_VARIABLE, folder)
        assert isinstance(learn_anew(template_of()), Analysis)


def test_other_package_version_learns_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn_shared(template_of())
    module = tmp_path / "package" / "module.py"
    module.parent.mkdir()
    monkeypatch.setattr(import_module(learn_shared.__module__), "HOME", module.parent)
    assert isinstance(learn_anew(template_of()), Analysis)
    # No file of the package is visible, so its version is unknown.
    assert len([*cache.glob("*.json")]) == 1
    for text in ("1", "22"):
        module.write_text(text)
        assert isinstance(learn_anew(template_of()), Analysis)
        assert isinstance(learn_anew(template_of()), SharedFormat)
    assert len([*cache.glob("*.json")]) == 3


def test_cache_entries_unused_for_a_month_are_removed(cache: Path) -> None:
    learn_shared(template_of())
    (old,) = cache.glob("*.json")
    os.utime(old, (1, old.stat().st_mtime - UNUSED - 9))
    learn_anew(template_of(NAMES[1]))
    assert not old.exists()
    assert len([*cache.glob("*.json")]) == 1


CHILD = """
import sys
from autoparser import ChatTemplate
from autoparser.analysis.engines import served_format

learn = served_format.analyze_isolated

def counted(template):
    with open(sys.argv[2], "a") as file:
        file.write("learned\\n")
    return learn(template)

served_format.analyze_isolated = counted
template = ChatTemplate(open(sys.argv[1]).read())
print(served_format.learn_shared(template).formats.default.format.stop_strings)
"""


@pytest.mark.slow
def test_concurrent_processes_learn_once(cache: Path, tmp_path: Path) -> None:
    script, log = tmp_path / "child.py", tmp_path / "learned"
    script.write_text(CHILD, "utf-8")
    command = [sys.executable, str(script), str(TEMPLATES / f"{NAMES[0]}.jinja"), str(log)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this script
        for _ in range(4)
    ]
    assert {session.communicate(timeout=120)[0] for session in started} == {"('<|im_end|>',)\n"}
    assert log.read_text() == "learned\n"
    assert len([*cache.glob("*.json")]) == 1


def test_template_set_after_loading_is_used() -> None:
    tokenizer = tokenizer_for(NAMES[0])
    before = served_format(tokenizer)
    assert served_format(tokenizer) is before
    tokenizer.chat_template = template_of(NAMES[2]).text
    after = served_format(tokenizer)
    assert after is not before
    assert after.learned.formats != before.learned.formats
    assert served_format(tokenizer) is after
    inner, end = tokenizer.backend_tokenizer, tokenizer.eos_token_id
    copy = SimpleNamespace(backend_tokenizer=inner, eos_token_id=end)
    assert served_format(copy) is after


def test_changed_format_file_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(template_of().text, "utf-8")
    monkeypatch.setenv(TEMPLATE_VARIABLE, str(file))
    tokenizer = tokenizer_for(NAMES[0])
    before = served_format(tokenizer)
    file.write_text(load_template(TEMPLATES / f"{NAMES[1]}.jinja").text, "utf-8")
    with caplog.at_level(logging.WARNING, "autoparser"):
        assert served_format(tokenizer) is served_format(tokenizer) is before
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{file} has changed since the server read it: answers are parsed with the version"
        " read at start, until the server is restarted"
    )


def test_request_template_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "autoparser"):
        for _ in range(2):
            served_request(SimpleNamespace(tools=None, chat_template="{{ messages }}"))
            served_request(SimpleNamespace(tools=None, chat_template=None))
    assert len(caplog.records) == 1
    assert "has its own chat template" in caplog.text


def test_template_source_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(tokenizer: object, *arguments: str) -> object:
        monkeypatch.setattr("sys.argv", [*arguments])
        return served_template(tokenizer).text

    tokenizer = tokenizer_for(NAMES[0])
    other = str(TEMPLATES / f"{NAMES[1]}.jinja")
    text, option = Path(other).read_text("utf-8"), "--chat-template"
    assert found(tokenizer) == tokenizer.chat_template
    # If an option is repeated, the last one counts, as in the engines.
    twice = [[option, "x", option, other], [option, "x", f"{option}={other}"]]
    for arguments in ([option, other], [f"{option}={other}"], *twice):
        assert found(tokenizer, *arguments) == text
    with pytest.raises(TemplateNotFoundError, match="no chat template"):
        found(SimpleNamespace())
    monkeypatch.setenv(TEMPLATE_VARIABLE, other)
    assert found(tokenizer, option, "x") == text


def test_saved_format_needs_no_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    learned: Any = served_format(tokenizer_for(NAMES[0])).learned
    learned.save(tmp_path / "model.format.json")
    monkeypatch.setenv(FORMAT_VARIABLE, str(tmp_path / "model.format.json"))
    bare = tokenizer_for(NAMES[0])
    bare.chat_template = ""
    assert served_format(bare).learned.formats == learned.formats


@pytest.mark.slow
@pytest.mark.parametrize("start", ["the prompt's end", "anywhere"])
def test_tag_of_a_required_call_allows_the_learned_form(
    start: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    name = NAMES[0]
    called = [f'<call>get_weather(city="{city}")</call>' for city in ("Rome", "Lima", "Bonn")]
    found = learn_outputs(analyzed(name), called, TOOLS)
    assert found.used is UsedFormat.BOTH
    found.analysis.save(tmp_path / "model.format.json")
    monkeypatch.setenv(FORMAT_VARIABLE, str(tmp_path / "model.format.json"))
    served = served_format(tokenizer_for(name))
    asked = served_request(SimpleNamespace(tools=TOOLS, tool_choice="required"))
    tag = served.tag(asked, start)
    assert tag is not None
    takes = read_by_xgrammar(tag)
    for text, right in (
        (CALL, True),
        (called[0], True),
        ("<call>get_weather(city=5)</call>", False),
        ("It is sunny.", False),
        (f"Hi.{CALL.replace('get_weather', 'get_time')}{called[0]}", False),
        (f"{called[0]}{CALL.replace('get_weather', 'get_time')}", False),
    ):
        assert takes(text) is right, text

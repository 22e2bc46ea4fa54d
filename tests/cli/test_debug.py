"""``autoparser debug``: sessions driven by Textual's own pilot, and how it begins."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from textual.widgets import Static, TextArea
from textual.widgets._footer import FooterKey

from autoparser import load_template
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.overview.debugged_prompts import shipped_conversations
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.cli import debug as command
from autoparser.cli.debugger import DebuggerApp
from tests.case_tables import load_cases

from .conftest import Run

XML = "fixtures/templates/a1-function-parameter.jinja"
SHIPPED = {conversation.name: conversation for conversation in shipped_conversations()}
SESSIONS = load_cases(__file__, "debug_sessions.yaml")


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(
            session, id=session["what"], marks=pytest.mark.slow if session.get("slow") else ()
        )
        for session in SESSIONS
    ],
)
def test_debug_session_shows_the_expected_text(session: dict[str, Any]) -> None:
    template = session.get("template", XML)
    conversations = [SHIPPED[name] for name in session.get("names", ("call", "answer"))]
    added = session.get("tokenizer")
    tokenizer = None if added is None else byte_tokenizer((marker, True) for marker in added)
    app = DebuggerApp(template, load_template(template), conversations, tokenizer=tokenizer)
    # In the real program a slow analysis finds the switches.
    app.switches = [Switch("enable_thinking", (True, False), True, ((), ()), False, (), "")]

    async def run() -> None:
        async with app.run_test(size=(session.get("width", 100), 30)) as pilot:
            await pilot.pause()
            for step in session["steps"]:
                await take_step(app, pilot, step)

    asyncio.run(run())


async def take_step(app: DebuggerApp, pilot: Any, step: dict[str, Any]) -> None:
    before = app.current
    await pilot.press(*step.get("press", ()))
    if "click" in step:
        pane, *offset = step["click"]
        await pilot.click(pane, offset=tuple(offset))
    if "edit" in step:
        app.screen.query_one(TextArea).text = step["edit"]
        await pilot.press("ctrl+s")
    await app.workers.wait_for_complete()
    await pilot.pause()
    for name, part in step.get("panes", {}).items():
        shown = text_of(app, name)
        assert shown.endswith(part[:-1]) if part.endswith("$") else part in shown
    reasons = [" ".join(line.split()) for line in text_of(app, "reasons").splitlines()]
    for part in step.get("reasons", ()):
        assert any(part in line for line in reasons), reasons
    assert app.current == before + step.get("moves", app.current - before)
    assert app.current == step.get("piece", app.current)
    assert len(app.views) == step.get("views", len(app.views))
    if "narrow" in step:
        assert app.current == len(app.traced.pieces) - 1
        for pane in ("prompt", "source"):
            assert max(map(len, text_of(app, pane).splitlines())) <= step["narrow"]
    if "footer" in step:
        assert max(key.region.right for key in app.query(FooterKey)) <= step["footer"]


def text_of(app: DebuggerApp, name: str) -> str:
    """Return the text of a pane."""
    return "".join(str(pane.visual) for pane in app.screen.query(f"#{name}").results(Static))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[DebuggerApp]:
    """Run the command as in a terminal; return the text that it draws."""
    started: list[DebuggerApp] = []
    monkeypatch.setattr(command, "_has_terminal", lambda: True)

    def run(app: DebuggerApp) -> None:
        started.append(app)

    monkeypatch.setattr(DebuggerApp, "run", run)
    return started


def test_conversation_option_takes_a_name_or_a_file(
    autoparser: Run, begun: list[DebuggerApp]
) -> None:
    file = "fixtures/debugging/question.yaml"
    named = ("--conversation", file, "--beside", "answer")
    ran = autoparser("debug", XML, *named, "--switch", "enable_thinking=false")
    assert (ran.code, ran.err) == (0, "")
    (app,) = begun
    assert [conversation.name for conversation in app.conversations[:2]] == [file, "answer"]
    assert {*SHIPPED} < {conversation.name for conversation in app.conversations}
    assert app.traced.prompt.endswith("<think>\n\n</think>\n\n")
    wrong = autoparser("debug", XML, "--conversation", "anwser")
    assert wrong.code == 2
    assert "did you mean answer?" in wrong.err


def test_shipped_conversations_survive_editing_and_are_documented() -> None:
    page = Path("docs/debug.md").read_text("utf-8")
    for name, shipped in SHIPPED.items():
        assert shipped.with_edits(yaml.safe_load(shipped.as_yaml()), name) == shipped
        assert f"`{name}`" in page
    odd = replace(SHIPPED["call"], tools=({"name": "\x85\u200b\x9f\x7f\ufeff \ud800 ☂"},))
    text = odd.as_yaml()
    assert 'tools:\n  [\n    {\n      "name": ' in text
    assert odd.with_edits(yaml.safe_load(text), "call").tools == odd.tools


def test_unknown_special_token_is_shown_by_its_name(
    autoparser: Run, begun: list[DebuggerApp], tmp_path: Path
) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{{ bos_token + messages[0].content }}", encoding="utf-8")
    assert autoparser("debug", template, "--conversation", "question").code == 0
    assert begun[0].traced.prompt.startswith("<bos_token>")

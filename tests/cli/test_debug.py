"""``autoparser debug``, driven by Textual's own pilot, and what it says before it begins."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from textual.widgets import Input, OptionList, Static, TextArea

from autoparser import load_template
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.overview.debugged_prompts import shipped_conversations
from autoparser.cli import debug as command
from autoparser.cli.debugger import DebuggerApp

from .conftest import Run

XML = "fixtures/templates/a1-function-parameter.jinja"
FAILING = "fixtures/debugging/adds-a-list.jinja"
SHIPPED = {each.name: each for each in shipped_conversations()}

Steps = Callable[[DebuggerApp, Any], Awaitable[None]]


def drive(steps: Steps, template: str = XML, *names: str, width: int = 100) -> DebuggerApp:
    """Start the debugger, take these steps, and end it."""
    conversations = [SHIPPED[name] for name in names or ("call", "answer")]
    app = DebuggerApp(template, load_template(template), conversations)

    async def run() -> None:
        async with app.run_test(size=(width, 30)) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(run())
    return app


def text_of(app: DebuggerApp, name: str) -> str:
    """Return what a pane shows."""
    return str(app.screen.query_one(name, Static).visual)


def lines_of(app: DebuggerApp) -> list[str]:
    """Return the rows of what is said about the current piece."""
    return [" ".join(line.split()) for line in text_of(app, "#reasons").splitlines()]


def test_each_piece_is_shown_with_its_line_and_why_it_was_written() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        assert text_of(app, "#title").startswith(f"{XML}  ·  call")
        assert lines_of(app)[0].startswith("1 of ")
        await pilot.press("slash", *"I will look", "enter")
        reasons = lines_of(app)
        assert reasons[0].endswith("line 29 I will look it up.")
        assert reasons[1] == "written by {{- message.content }}"
        assert reasons[2] == "where message.content is 'I will look it up.'"
        assert "line 25 message.role == 'assistant' is true: message.role is 'assistant'" in reasons
        assert "line 23 message.role == 'user' is false: message.role is 'assistant'" in reasons
        assert "▸  29 " in text_of(app, "#source")
        before = app.current
        await pilot.press("right", "n", "left")
        assert app.current == before + 1
        await pilot.press("slash", *"nothing like it", "enter")
        assert app.current == before + 1
        await pilot.press("home")
        assert app.current == 0
        assert not app.query_one("#find", Input).has_class("asked")

    drive(steps)


@pytest.mark.slow
def test_a_click_goes_to_the_piece_and_from_a_line_to_what_it_wrote() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        # The third row of the prompt holds the answer's beginning.
        await pilot.click("#prompt", offset=(2, 2))
        picked = app.traced.pieces[app.current]
        assert picked.site is not None
        assert app.traced.sites[picked.site].line == 26
        await pilot.click("#source", offset=(20, 23))
        assert "line 24" in lines_of(app)[0]

    drive(steps, XML, "answer", width=120)


@pytest.mark.slow
def test_another_conversation_is_chosen() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        await pilot.press("c")
        assert app.screen.query_one(OptionList).option_count == 2
        await pilot.press("down", "enter")
        await pilot.pause()
        assert app.conversation.name == "answer"
        assert app.traced.prompt.count("A helper.") == 1

    drive(steps)


def test_a_conversation_is_edited_on_the_spot() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        await pilot.press("e")
        area = app.screen.query_one(TextArea)
        told = area.text
        area.text = "messages: ["
        await pilot.press("ctrl+s")
        assert "broken YAML" in text_of(app, "#problem")
        area.text = "messages: 3"
        await pilot.press("ctrl+s")
        assert "edited: " in text_of(app, "#problem")
        area.text = told.replace("A helper.", "A friend.")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "A friend.<|im_end|>" in app.traced.prompt
        assert app.conversation.tools == SHIPPED["answer"].tools
        assert len(app.conversations) == 2

    drive(steps, XML, "answer")


@pytest.mark.slow
def test_two_conversations_stand_side_by_side() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        await pilot.press("b", "down", "enter")
        await pilot.pause()
        left, right = text_of(app, "#left"), text_of(app, "#right")
        assert "   24 Who are you?<|im_end|>↵" in left.splitlines()
        assert "   24 What is 17 * 3?<|im_end|>↵" in right.splitlines()
        # Keys of the panes below do nothing here.
        await pilot.press("n")
        assert app.current == 0
        await pilot.press("escape")
        assert text_of(app, "#title").startswith(XML)

    drive(steps, XML, "answer", "reasoning")


@pytest.mark.slow
def test_switches_show_what_they_would_change() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        # Found by an analysis otherwise, which takes its time.
        app.switches = [Switch("enable_thinking", (True, False), True, ((), ()), False, (), "")]
        await pilot.press("s")
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = text_of(app, "#changes")
        assert "enable_thinking=true  changes nothing here" in shown
        assert "+ </think>↵" in shown

    drive(steps, XML, "question")


@pytest.mark.slow
def test_a_template_that_fails_is_shown_up_to_there() -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        await pilot.pause()
        reasons = lines_of(app)
        assert reasons[0].startswith("line 3: cannot render the conversation: TypeError")
        assert any(line.startswith("where message.content is [{'type': 'text'") for line in reasons)
        assert reasons[-1] == "Nothing was written."

    drive(steps, FAILING, "parts")


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80])
def test_panes_fit_a_narrow_terminal(width: int) -> None:
    async def steps(app: DebuggerApp, pilot: Any) -> None:
        await pilot.press("end")
        assert app.current == len(app.traced.pieces) - 1
        for line in text_of(app, "#prompt").splitlines():
            assert len(line) <= width // 2

    drive(steps, XML, "call", width=width)


def test_a_package_that_is_missing_is_named_with_the_way_to_install_it(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual", cast("Any", None))
    ran = autoparser("debug", XML)
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'autoparser-chat[debug]'" in ran.err


def begun(monkeypatch: pytest.MonkeyPatch) -> list[DebuggerApp]:
    """Let the command believe in a terminal, and keep what it would draw there."""
    monkeypatch.setattr(command, "_has_terminal", lambda: True)
    started: list[DebuggerApp] = []

    def run(app: DebuggerApp) -> None:
        started.append(app)

    monkeypatch.setattr(DebuggerApp, "run", run)
    return started


def test_a_conversation_is_a_name_or_a_file(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = begun(monkeypatch)
    file = "fixtures/debugging/question.yaml"
    named = ("--conversation", file, "--beside", "answer")
    ran = autoparser("debug", XML, *named, "--switch", "enable_thinking=false")
    assert (ran.code, ran.err) == (0, "")
    (app,) = started
    assert [each.name for each in app.conversations[:2]] == [file, "answer"]
    assert {*SHIPPED} < {each.name for each in app.conversations}
    assert app.traced.prompt.endswith("<think>\n\n</think>\n\n")
    wrong = autoparser("debug", XML, "--conversation", "anwser")
    assert wrong.code == 2
    assert "did you mean answer?" in wrong.err


def test_shipped_conversations_survive_being_edited_and_stand_in_the_docs() -> None:
    page = Path("docs/debug.md").read_text("utf-8")
    for name, shipped in SHIPPED.items():
        assert shipped.edited(yaml.safe_load(shipped.as_yaml()), name) == shipped
        assert f"`{name}`" in page


def test_a_special_token_that_is_not_known_stands_as_its_name(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = begun(monkeypatch)
    template = tmp_path / "chat.jinja"
    template.write_text("{{ bos_token + messages[0].content }}", encoding="utf-8")
    ran = autoparser("debug", template, "--conversation", "question")
    assert (ran.code, ran.err) == (0, "")
    assert started[0].traced.prompt.startswith("<bos_token>")

"""What a terminal and a pipe get to see, in a process where only that shows it."""

from __future__ import annotations

import pytest

from .conftest import Run, Start

GOOD = "fixtures/templates/j1-json-in-tags.jinja"


def test_json_is_the_same_in_every_process_and_time_zone(process: Run) -> None:
    first, second = (
        process("analyze", GOOD, "--json", PYTHONHASHSEED=seed, TZ=zone)
        for seed, zone in (("1", "UTC"), ("4711", "Asia/Tokyo"))
    )
    assert first.code == 0
    assert first.out == second.out
    assert first.out.isascii()


@pytest.mark.parametrize("name", ["summary", "markers", "switches", "call", "turn", "phases"])
def test_a_section_alone_is_that_of_the_whole_report(name: str, autoparser: Run) -> None:
    ran = autoparser("analyze", GOOD, "--show", name)
    assert ran.code == 0
    assert ran.out in autoparser("analyze", GOOD, "--full").out


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_a_terminal_gets_color_unless_it_is_refused(
    refused: bool, terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:
        monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal("analyze", GOOD)
    assert shown.code == 0
    assert "self-check 47/47" in shown.out
    assert ("\x1b[36m" in shown.out) is not refused


def test_a_reader_that_goes_away_leaves_no_traceback(start: Start) -> None:
    with start("analyze", GOOD, "--json") as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(1)
        writer.stdout.close()
        assert writer.stderr.read() == ""
        assert writer.wait() == 0

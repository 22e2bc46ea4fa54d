"""Hostile templates: each ends in a clear finding, within its limits, and harms nobody."""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import pytest

from autoparser import (
    Analysis,
    AutoparserError,
    Limit,
    Limits,
    TaskLimitError,
    TaskOutcome,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    TemplateUnusableError,
    WorkerDiedError,
    WorkerPool,
    analyze,
    document,
)
from autoparser.reports import analysis_report, json_text

from .attacks import Attack, attacks

pytestmark = pytest.mark.slow

ATTACKS = attacks()
LIMITS = Limits(render_seconds=0.1, seconds=3, memory=200_000_000, characters=1_000_000)

CANARY = "canary-5f2c71"
"""What stands in the environment and in a file, and must never come out."""

MOST_GROWTH = 100_000_000
"""Bytes by which this process may have grown after all of them; one worker may take twice that."""

TIMES = {Limit.RENDER_TIME, Limit.TASK_TIME}


@dataclass(frozen=True)
class Aftermath:
    """What is left when all are through."""

    outcomes: dict[str, TaskOutcome[Analysis]]
    growth: int
    files: dict[str, str]


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """Run all attacks, by two workers in an empty directory, with canaries set out."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "canary.txt").write_text(CANARY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("AUTOPARSER_CANARY", CANARY)
        before = resident()
        with WorkerPool(2, limits=LIMITS) as pool:
            templates = [attack.template for attack in ATTACKS]
            found = list(pool.map(analyze, templates, name=lambda each: str(each.origin)))
        growth = resident() - before
    names = [attack.name for attack in ATTACKS]
    files = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    return Aftermath(dict(zip(names, found, strict=True)), growth, files)


def resident() -> int:
    """Return the bytes that this process has in memory; 0 where the system does not say."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s*(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else 0


def test_there_are_enough_of_them() -> None:
    assert len(ATTACKS) >= 60


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_ends_as_it_should(attack: Attack, aftermath: Aftermath) -> None:
    outcome = aftermath.outcomes[attack.name]
    assert {*attack.ends.split(" or ")} & {end_of(outcome.error), "any"}, outcome.error
    words = str(outcome.error)
    assert attack.says in words
    if outcome.error is not None:
        assert words.startswith((f"{attack.name}: ", "template: ")), words


def end_of(error: AutoparserError | None) -> str:
    """Say in which of the ways of `attacks.ENDS` an analysis ended."""
    match error:
        case None:
            return "analysed"
        case TemplateLimitError() | TaskLimitError():
            return "time" if error.limit in TIMES else error.limit.value
        case TemplateSyntaxError() if error.limit is None:
            return "syntax"
        case TemplateSyntaxError() if error.limit is not None:
            # Constants are computed while a template is compiled.
            return "time" if error.limit in TIMES else error.limit.value
        case TemplateRenderError() | TemplateUnusableError():
            return "refused"
        case WorkerDiedError():
            return "died"
        case _:
            raise AssertionError(error)


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_nothing_of_it_reaches_a_person_but_signs(attack: Attack, aftermath: Aftermath) -> None:
    outcome = aftermath.outcomes[attack.name]
    if outcome.value is None:
        shown = [str(outcome.error)]
    else:
        report = analysis_report(outcome.value, 80, diffs=True)
        shown = [report.plain, json_text(document(outcome.value), indent=2)]
    for text in shown:
        assert not [character for character in set(text) - {"\n"} if hidden(character)]
        assert CANARY not in text


def hidden(character: str) -> bool:
    """Whether a character is one that a terminal obeys, or that shows nothing."""
    category = unicodedata.category(character)
    return category.startswith("C") or category in {"Zl", "Zp"} or character in "\u3164\u115f\ufe0f"


def test_no_file_was_written(aftermath: Aftermath) -> None:
    assert aftermath.files == {"canary.txt": CANARY}


def test_the_parent_has_not_grown_by_what_they_took(aftermath: Aftermath) -> None:
    assert aftermath.growth < MOST_GROWTH


def test_the_parent_has_no_child_left(aftermath: Aftermath) -> None:
    assert aftermath.outcomes
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)

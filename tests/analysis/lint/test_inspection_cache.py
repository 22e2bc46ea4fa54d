"""Answers come out of the cache as they went in, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Self

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.baselines import Ignore
from autoparser.analysis.lint.hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.inspection import (
    InspectionTask,
    InspectionTrouble,
    SeenHits,
    inspect_template,
)
from autoparser.analysis.lint.inspection_cache import DAY, UNUSED, InspectionCache
from autoparser.analysis.lint.project_run import LintRequest, lint_project
from autoparser.analysis.lint.project_settings import ProjectSettings
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.rule import RuleNeed

KEY = "ab" + "0" * 62

SHOWN = ShownText(
    "a render",
    "text with ↵\n and \x00",
    messages=({"role": "user", "content": ["é", 1, 1.0, True, None, {"big": 2**63}]},),
    origins=((0, 1), (5, 3)),
)
SEEN = SeenHits(
    (
        (
            "AP301",
            Hit(
                "it is lost",
                (HitEvidence(SHOWN), HitEvidence(SHOWN, ShownText("no", error="it raises"))),
                3,
                "keep it",
                Severity.ERROR,
                Confidence.LOW,
                HitCause("raises", 3, "words"),
                {"enable_thinking": False, "level": None},
            ),
            ("AP302",),
        ),
        ("AP101", Hit("nothing else"), ()),
    ),
    (("AP606", RuleNeed.TOKENIZER),),
    (),
    (Ignore(("AP3",), frozenset({"AP301", "AP302"}), "meant so", 2),),
    (InputProblem("", "no such verb", "write ignore", "", 4),),
)


@pytest.fixture
def cache(tmp_path: Path) -> InspectionCache:
    return InspectionCache(tmp_path / "cache")


def entries(folder: Path) -> list[Path]:
    return [each for each in folder.glob("cache/??/*") if each.is_file()]


def test_what_comes_out_is_what_went_in(cache: InspectionCache) -> None:
    cache.put(KEY, SEEN)
    found = cache.get(KEY)
    # The text, too: one and true and 1.0 are equal.
    assert (found, repr(found)) == (SEEN, repr(SEEN))
    # Where another line begins is left out of comparisons.
    assert found is not None
    assert found.hits[0][1].evidence[0].one.origins == SHOWN.origins


def test_a_frozen_mapping_comes_out_as_one_that_is_equal(cache: InspectionCache) -> None:
    frozen = SeenHits((("AP301", Hit("it is lost", setting=MappingProxyType({"on": 1})), ()),))
    cache.put(KEY, frozen)
    assert cache.get(KEY) == frozen


@pytest.mark.parametrize(
    "seen",
    [
        SeenHits(looked=False),
        SeenHits(troubles=(InspectionTrouble("the tokenizer cannot be read"),)),
        SeenHits((("AP101", Hit("a lone \ud800"), ()),)),
        SeenHits(
            (("AP101", Hit("", (HitEvidence(ShownText("", messages=({"at": 2**80},))),)), ()),)
        ),
        SeenHits((("AP101", Hit("", (HitEvidence(ShownText("", messages=({"at": {1}},))),)), ()),)),
    ],
    ids=["not looked", "trouble", "lone surrogate", "large number", "no JSON"],
)
def test_what_may_be_otherwise_next_time_is_not_cached(
    seen: SeenHits, cache: InspectionCache, tmp_path: Path
) -> None:
    cache.put(KEY, seen)
    found = cache.get(KEY)
    assert found is None or repr(found) == repr(seen)
    if seen.troubles or not seen.looked:
        assert entries(tmp_path) == []


def signed(body: bytes) -> bytes:
    return hashlib.sha256(body).digest() + body


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda content: content[:-1],
    "shorter than a digest": lambda content: content[:9],
    "a byte is another": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "not compressed": lambda _: signed(b"nothing"),
    "no message": lambda _: signed(zlib.compress(b"\xc1")),
    "another value": lambda _: signed(zlib.compress(b"\x93\x01\x02\x03")),
    "not UTF-8": lambda _: signed(zlib.compress(b"\x81\xa4hits\xa1\xff")),
    "another program's": lambda _: b'{"a": 1}' * 40,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_not_there(damage: str, cache: InspectionCache, tmp_path: Path) -> None:
    cache.put(KEY, SEEN)
    (entry,) = entries(tmp_path)
    entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, SEEN)
    assert cache.get(KEY) == SEEN


def test_a_folder_in_the_place_of_an_entry_or_a_file_in_that_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    (folder / KEY[:2] / KEY[2:]).mkdir(parents=True)
    cache = InspectionCache(folder)
    cache.put(KEY, SEEN)
    assert cache.get(KEY) is None
    (tmp_path / "file").write_text("here")
    none = InspectionCache(tmp_path / "file")
    none.put(KEY, SEEN)
    none.sweep()
    assert none.get(KEY) is None
    assert (tmp_path / "file").read_text() == "here"


def test_a_full_disk_leaves_no_half_of_an_entry(
    cache: InspectionCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(KEY, SEEN)

    class Full:
        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            """Close nothing."""

        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def full(handle: int, _: str) -> Full:
        os.close(handle)
        return Full()

    monkeypatch.setattr("autoparser.analysis.sources.local_files.os.fdopen", full)
    cache.put("cd" + KEY[2:], SEEN)
    cache.put(KEY, SeenHits())
    assert len(entries(tmp_path)) == 1
    assert cache.get(KEY) == SEEN


def test_many_write_and_read_an_entry_at_once(cache: InspectionCache, tmp_path: Path) -> None:
    answers = [SeenHits((("AP101", Hit("x" * at), ()),)) for at in range(1, 40)]

    def work(seen: SeenHits) -> bool:
        cache.put(KEY, seen)
        return cache.get(KEY) in answers

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, answers * 3))
    assert len(entries(tmp_path)) == 1


def test_what_nobody_asks_for_is_removed_once_a_day(cache: InspectionCache, tmp_path: Path) -> None:
    old, asked = "ab" + "1" * 62, "cd" + "2" * 62
    for key in (KEY, old, asked):
        cache.put(key, SEEN)
    month = tmp_path.stat().st_mtime - UNUSED - DAY
    for entry in entries(tmp_path):
        if entry.name != KEY[2:]:
            os.utime(entry, (month, month))
    assert cache.get(asked) == SEEN
    cache.sweep()
    assert {entry.parent.name + entry.name for entry in entries(tmp_path)} == {KEY, asked}
    for entry in entries(tmp_path):
        os.utime(entry, (month, month))
    cache.sweep()
    assert len(entries(tmp_path)) == 2


TEXT = (
    "{%- for message in messages %}{{ message.role }}: {{ message.content | trim }}\n{% endfor %}"
)


def request(source: Path, folder: Path, jobs: int = 1) -> LintRequest:
    rules = tuple(rule_of(code) for code in ("AP101", "AP301", "AP302"))
    return LintRequest((str(source),), rules, ProjectSettings(root=source), jobs=jobs, cache=folder)


def test_a_second_run_looks_at_what_has_changed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "models"
    source.mkdir()
    for at in range(3):
        (source / f"{at}.jinja").write_text(f"{TEXT}{at}")
    looked: list[str] = []

    def counting(task: InspectionTask) -> SeenHits:
        looked.append(task.template.text)
        return inspect_template(task)

    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", counting)
    first = lint_project(request(source, tmp_path / "cache"))
    assert [*first.findings]
    assert len(looked) == 3
    told: list[int] = []

    def progress(total: int) -> Callable[[], object]:
        told.append(total)
        return lambda: None

    assert lint_project(request(source, tmp_path / "cache"), progress) == first
    assert (len(looked), told) == (3, [])
    # One that moves is the same, and one that says something else is not.
    (source / "0.jinja").rename(source / "moved.jinja")
    (source / "1.jinja").write_text(TEXT)
    second = lint_project(request(source, tmp_path / "cache"), progress)
    assert (looked[3:], told) == ([TEXT], [1])
    assert second == lint_project(request(source, tmp_path / "other"))


def test_a_template_is_looked_at_again_where_it_was_beyond_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jinja").write_text(TEXT)
    unseen = SeenHits(troubles=(InspectionTrouble("it takes more than 1 s"),), looked=False)
    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", lambda _: unseen)
    run = lint_project(request(tmp_path, tmp_path / "cache"))
    assert [each.message for each in run.problems] == ["it takes more than 1 s"]
    monkeypatch.undo()
    assert not lint_project(request(tmp_path, tmp_path / "cache")).problems


def test_the_time_of_day_has_no_part_in_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        @staticmethod
        def now() -> None:
            raise AssertionError

    for module in ("templates.environment", "history.history_renders"):
        monkeypatch.setattr(f"autoparser.analysis.{module}.datetime", Asked)
    text = "{{- strftime_now('%d %b %Y') }}" + TEXT
    codes = ("AP603", "AP605", "AP901", "AP908")
    seen = inspect_template(InspectionTask(ChatTemplate(text), codes))
    assert seen.looked
    assert [code for code, _, _ in seen.hits] == ["AP603"]

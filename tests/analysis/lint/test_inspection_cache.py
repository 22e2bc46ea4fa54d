"""Answers come out of the cache as they went in, or not at all; what decides one is in its key."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tomllib
import zlib
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from autoparser import ChatTemplate, Limits
from autoparser.analysis.lint.baselines import Ignore
from autoparser.analysis.lint.hit import Confidence, Hit, HitCause, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.inspection import (
    InspectionTask,
    SeenHits,
    inspect_template,
)
from autoparser.analysis.lint.other_renders import OtherJinja
from autoparser.analysis.lint.project_run import (
    DAY,
    DECIDING,
    UNUSED,
    InspectionCache,
    InspectionKeys,
    engine_digest,
)
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.templates.environment import SandboxKind

RUN = "autoparser.analysis.lint.project_run"
KEY = "ab" + "0" * 62
MESSAGE = {"role": "user", "content": ["é", 1, 1.0, True, None, {"big": 2**63}]}
SHOWN = ShownText("a render", "text with ↵\n and \x00", "", (MESSAGE,), ((0, 1), (5, 3)))
EVIDENCE = (HitEvidence(SHOWN), HitEvidence(SHOWN, ShownText("no", error="it raises")))
CAUSE = HitCause("raises", 3, "words")
SETTING = {"enable_thinking": False, "level": None}
HIT = Hit("lost", EVIDENCE, 3, "keep it", Severity.ERROR, Confidence.LOW, CAUSE, SETTING)
SEEN = SeenHits(
    (("AP301", HIT, ("AP302",)), ("AP101", Hit("nothing else"), ())),
    (("AP606", RuleNeed.TOKENIZER),),
    (),
    (Ignore(("AP3",), "meant so", 2),),
    (InputProblem("", "no such verb", "write ignore", "", 4),),
)


@pytest.fixture
def cache(tmp_path: Path) -> InspectionCache:
    return InspectionCache(tmp_path / "cache")


def entries(folder: Path) -> list[Path]:
    return [each for each in folder.glob("cache/??/*") if each.is_file()]


def test_an_answer_comes_out_as_it_went_in(cache: InspectionCache) -> None:
    cache.put(KEY, SEEN)
    found = cache.get(KEY)
    # The text, too: one and true and 1.0 are equal, and origins are left out of comparisons.
    assert (found, repr(found)) == (SEEN, repr(SEEN))
    frozen = SeenHits((("AP301", Hit("it is lost", setting=MappingProxyType({"on": 1})), ()),))
    cache.put(KEY, frozen)
    assert cache.get(KEY) == frozen


@pytest.mark.parametrize("troubles", [(), (InputProblem("", "the tokenizer cannot be read"),)])
def test_an_answer_that_may_be_another_next_time_is_not_cached(
    troubles: tuple[InputProblem, ...], cache: InspectionCache, tmp_path: Path
) -> None:
    cache.put(KEY, SeenHits(troubles=troubles, looked=bool(troubles)))
    assert (cache.get(KEY), entries(tmp_path)) == (None, [])


@pytest.mark.parametrize("value", ["a lone \ud800", 2**80, {1}], ids=ascii)
def test_a_value_that_is_not_json_is_cached_as_it_is_or_not(
    value: object, cache: InspectionCache
) -> None:
    shown = ShownText("", messages=({"at": value},))
    seen = SeenHits((("AP101", Hit("", (HitEvidence(shown),)), ()),))
    cache.put(KEY, seen)
    assert repr(cache.get(KEY)) in {repr(seen), "None"}


def damaged(damage: str, content: bytes) -> bytes:
    """Spoil an entry, or sign another body."""
    match damage:
        case "cut":
            return content[:-1]
        case "a byte is another":
            return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
        case _:
            return hashlib.sha256(BODIES[damage]).digest() + BODIES[damage]


BODIES = {
    "not compressed": b"nothing",
    "no message": zlib.compress(b"\xc1"),
    "another value": zlib.compress(b"\x93\x01\x02\x03"),
    "not UTF-8": zlib.compress(b"\x81\xa4hits\xa1\xff"),
}


@pytest.mark.parametrize("damage", ["cut", "a byte is another", *BODIES])
def test_a_damaged_entry_is_not_there(damage: str, cache: InspectionCache, tmp_path: Path) -> None:
    cache.put(KEY, SEEN)
    (entry,) = entries(tmp_path)
    entry.write_bytes(damaged(damage, entry.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, SEEN)
    assert cache.get(KEY) == SEEN


def test_a_folder_for_an_entry_or_a_file_for_the_folder_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "cache" / KEY[:2] / KEY[2:]).mkdir(parents=True)
    (tmp_path / "file").write_text("here")
    for folder in ("cache", "file"):
        cache = InspectionCache(tmp_path / folder)
        cache.put(KEY, SEEN)
        cache.sweep()
        assert cache.get(KEY) is None
    assert (tmp_path / "file").read_text() == "here"


def test_a_full_disk_leaves_no_half_of_an_entry(
    cache: InspectionCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(KEY, SEEN)

    def full(handle: int, _: str) -> None:
        os.close(handle)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("autoparser.analysis.sources.local_files.os.fdopen", full)
    cache.put("cd" + KEY[2:], SEEN)
    cache.put(KEY, SeenHits())
    assert len(entries(tmp_path)) == 1
    assert cache.get(KEY) == SEEN


def test_unused_entries_are_removed_once_a_day(cache: InspectionCache, tmp_path: Path) -> None:
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


def test_the_time_of_day_has_no_part_in_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        @staticmethod
        def now() -> None:
            raise AssertionError

    for module in ("templates.environment", "history.history_renders"):
        monkeypatch.setattr(f"autoparser.analysis.{module}.datetime", Asked)
    text = "{{- strftime_now('%d %b %Y') }}{% for m in messages %}{{ m.content }}{% endfor %}"
    seen = inspect_template(InspectionTask(ChatTemplate(text), ("AP603", "AP605", "AP901")))
    assert [code for code, _, _ in seen.hits] == ["AP603"]


# Keys.


@pytest.fixture
def task(tmp_path: Path) -> InspectionTask:
    for name in ("tokenizer.json", "generation_config.json"):
        (tmp_path / name).write_text("{}")
    template = ChatTemplate("{{ messages }}", {"bos_token": "<s>"}, name="default", origin="a")
    return InspectionTask(template, ("AP101",), str(tmp_path / "tokenizer.json"), tmp_path)


def test_whatever_decides_an_answer_makes_another_key(task: InspectionTask) -> None:
    def key(limits: Limits | None = None, *, template: Any = (), **changes: Any) -> str | None:
        changed = replace(task.template, **dict(template))
        return InspectionKeys(limits).key_of(replace(task, template=changed, **changes))

    keys = [key(each) for each in (None, Limits(), Limits(seconds=1), Limits(memory=10**8))]
    keys += [
        key(template={"text": "{{ messages }} "}),
        key(template={"text": "{{ messages }}\ud800"}),
        key(template={"special_tokens": {"bos_token": "<t>"}}),
        key(template={"special_tokens": {"eos_token": "<s>"}}),
        key(template={"sandbox": SandboxKind.MUTABLE}),
        key(rules=("AP101", "AP102")),
        key(tokenizer=None),
        key(directory=None),
    ]
    assert len(set(keys)) == len(keys)
    assert key(template={"name": "tool_use", "origin": "b"}) == keys[0]
    # What cannot be seen from here has none.
    assert key(jinjas=(OtherJinja("minijinja", "2.0", ("python",)),)) is None
    assert key(tokenizer="some/model") is None


def test_other_files_of_the_model_make_another_key(task: InspectionTask, tmp_path: Path) -> None:
    tokenizer, config = tmp_path / "tokenizer.json", tmp_path / "generation_config.json"

    def key() -> str | None:
        return InspectionKeys(None).key_of(task)

    keys = [key()]
    assert keys == [key()]
    now = tokenizer.stat().st_mtime_ns
    os.utime(tokenizer, ns=(now, now + 1))
    keys.append(key())
    then = config.stat()
    config.unlink()
    config.write_text("[]")
    os.utime(config, ns=(then.st_atime_ns, then.st_mtime_ns))  # as long and as old as before
    keys.append(key())
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("x")
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_another_engine_has_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        engine_digest.cache_clear()
        return engine_digest()

    found = [digest()]
    home = tmp_path / "engine"
    rule = home / "lint" / "rule.py"
    (home / "__pycache__").mkdir(parents=True)
    rule.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(f"{RUN}.__version__", "9.9")
        found.append(digest())
        patch.setattr(f"{RUN}.HOME", home)
        for text in ("one", "two"):
            rule.write_text(text)
            found.append(digest())
        assert len(set(found)) == len(found)
        os.utime(rule, ns=(1, 1))
        (home / "__pycache__" / "rule.pyc").write_text("anything")
        assert digest() == found[-1]
    assert digest() == found[0]


OF_NO_PART = {"huggingface-hub", "httpx2", "llguidance", "msgspec", "packaging", "platformdirs"}
OF_NO_PART |= {"pyyaml", "rich", "typer"}
"""Packages without which rules would find the same."""


def test_every_package_that_is_needed_has_a_part_in_the_key_or_none() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    needed = tomllib.loads(text)["project"]["dependencies"]
    assert {re.split(r"[^\w-]", line)[0] for line in needed} == {*DECIDING} | OF_NO_PART

"""A saved format, in a process that cannot import jinja2, does what the analysis does."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import analyze, load_template

from .asking import ROOT, differing

TEMPLATES = sorted((ROOT / "fixtures" / "templates").glob("*.jinja"))
SHARES = 8
FEW = TEMPLATES[::48]


def _asked(paths: list[Path], folder: Path) -> tuple[list[str], int]:
    wrong, texts = differing({path.stem: analyze(load_template(path)) for path in paths}, folder)
    named = [f"{name}: {question}" for name, questions in wrong.items() for question in questions]
    return named, sum(texts.values())


def test_some_files_do_what_the_analyses_do(tmp_path: Path) -> None:
    wrong, texts = _asked(FEW, tmp_path)
    assert not wrong
    assert texts > len(FEW)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_files_do_what_the_analyses_do(share: int, tmp_path: Path) -> None:
    wrong, texts = _asked(TEMPLATES[share :: 4 * SHARES], tmp_path)
    assert not wrong
    assert texts

"""What is exported of real templates is read back by transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from .exports import Exported, export_table, exports

LEAST_WHOLE = 0.9
"""Of all templates, those that are expressed whole."""


STRANGE_NAMES = 1
"""The battery's message with a strange argument name, read only where arguments are JSON."""


BEGUN_OTHERWISE = {
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "Reka-Edge",
    "RekaAI-reka-edge-2603",
    "meituan-longcat-LongCat-2.0",
    "nvidia-NVIDIA-Nemotron-Nano-9B-v2-Japanese",
}
"""Templates with a setting under which a turn is begun otherwise than the export expresses."""


@pytest.fixture(scope="module")
def exported(corpus: list[Path]) -> list[Exported]:
    return exports(corpus)


def test_every_message_that_is_promised_comes_back(exported: list[Exported]) -> None:
    broken = [each for each in exported if not each.kept]
    told = "\n".join(f"{each.name}: {each.first}" for each in broken)
    assert {each.name for each in broken} == BEGUN_OTHERWISE, told


def test_almost_all_templates_are_expressed_whole(exported: list[Exported]) -> None:
    assert len(exported) >= 760
    whole = [each for each in exported if not each.limits]
    assert len(whole) >= LEAST_WHOLE * len(exported)
    assert all(each.promised and each.left_out <= STRANGE_NAMES for each in whole)


def test_the_table_names_what_is_expressed_in_part(exported: list[Exported]) -> None:
    text = export_table(exported)
    part = [each for each in exported if each.limits]
    assert [each.name for each in part if each.name not in text] == []
    assert [limit for each in part for limit in each.limits if limit not in text] == []

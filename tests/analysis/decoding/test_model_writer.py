"""A model of random weights, saved and loaded as a real one: masked, all that it writes is clean.

Without torch these tests are skipped, with that reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.decoding.answer_judge import judge_answers
from autoparser.analysis.decoding.answer_writers import ModelError, ModelWriter, load_model
from autoparser.analysis.decoding.check_vocabulary import END, made_tokenizer
from autoparser.analysis.decoding.mask_sampling import DeviceError
from autoparser.analysis.decoding.message_rendering import AnswerFault
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .tiny_model import save_tiny_model
from .trials import CITIES, analysis_of, trial_of

pytestmark = pytest.mark.slow
PLAIN = "tools-bare"


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    """Look for torch when a test runs: to collect this file must not load it."""
    pytest.importorskip("torch", reason="torch is not installed (the extra gpu)")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = made_tokenizer(analysis_of(PLAIN).grammar(CITIES))
    return save_tiny_model(tmp_path_factory.mktemp("model"), made)


ANSWER = {"enum": ["yes", "no", "perhaps"]}
REQUESTS: list[tuple[dict[str, Any], int, set[AnswerFault]]] = [
    # request, tokens of an answer, faults that are no wonder
    ({"tools": [], "json_schema": ANSWER}, 30, set()),
    # Before a call any text may stand, which nothing makes this model end.
    ({"tools": CITIES, "tool_choice": "required", "parallel": False}, 300, {AnswerFault.NOT_ENDED}),
]


@pytest.mark.parametrize(("request_", "limit", "expected"), REQUESTS)
def test_masked_all_is_clean_and_unmasked_nothing(
    directory: Path, request_: dict[str, Any], limit: int, expected: set[AnswerFault]
) -> None:
    model = load_model(directory, "auto")
    tokenizer = tokenizer_of(directory, vocab_size=model.width)
    analysis = analysis_of(PLAIN)
    prompt = analysis.turns(request_["tools"]).prompt
    assert analysis.format.openings[0].text in prompt
    trial = trial_of(PLAIN, tokenizer=tokenizer, prompt=prompt, **request_)
    asked: dict[str, Any] = {"batch": 3, "seed": 1}
    masked = ModelWriter(trial, model, prompt, **asked, limit=limit)
    report = judge_answers(masked.answers(4), trial.judge)
    assert report.answers == 4
    assert set(report.faults) <= expected, report.examples
    assert report.clean + report.faults.get(AnswerFault.NOT_ENDED, 0) == 4
    assert masked.tokens_per_second > 0
    free = ModelWriter(trial, model, prompt, **asked, limit=30, masked=False)
    assert judge_answers(free.answers(4), trial.judge).clean == 0
    assert free.tokens_per_second > 0


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no model here"):
        load_model(tmp_path, "cpu")
    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(tmp_path, "cpu")
    with pytest.raises(DeviceError, match="there is no device 'tpu7'"):
        load_model(tmp_path, "tpu7")


def test_the_end_of_an_answer_is_declared(directory: Path) -> None:
    assert tokenizer_of(directory).bytes_of(tokenizer_of(directory).eos_id).decode() == END

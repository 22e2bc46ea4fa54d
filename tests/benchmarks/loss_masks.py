"""Compare loss masks with hand-marked templates: `python -m tests.benchmarks.loss_masks`.

TRL ships templates of models twice: unchanged, and with `{% generation %}` added by hand. This
package marks the unchanged ones from their renders alone; transformers then renders six
conversations with both, and the table shows the tokens of a turn that only one of them marks.

The peer is optional, skipped with a message: its files are read in place from the environment that
has the package trl, which is not imported
(`PYTHONPATH=…/site-packages python -m tests.benchmarks.loss_masks [NAME …]`). The analyses take
minutes; a name such as `qwen3` measures one template and shows each differing turn.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from jinja2 import TemplateError

from autoparser import AutoparserError, ChatTemplate, analyze, training_template
from tests.analysis.history.renderers import answer, call, result, tools, user
from tests.benchmarks.measuring import print_lines

PEER = "trl"
MARKED = "_training"
"""Suffix of the names of templates that are marked by hand."""
TOKENS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("cohere", "cohere2"), ("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>")),
    **dict.fromkeys(
        ("deepseek_r1_distill", "deepseekv3"), ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")
    ),
    **dict.fromkeys(("gemma", "gemma3"), ("<bos>", "<eos>")),
    "glm4moe": ("", "<|endoftext|>"),
    "gptoss": ("<|startoftext|>", "<|return|>"),
    **dict.fromkeys(("lfm2", "lfm2_v2"), ("<|startoftext|>", "<|im_end|>")),
    "llama3": ("<|begin_of_text|>", "<|eot_id|>"),
    **dict.fromkeys(("phi3", "phi3_5"), ("<s>", "<|endoftext|>")),
}
"""The special tokens of the models, which TRL's files do not tell: bos and eos."""
USUAL = ("", "<|im_end|>")

Messages: TypeAlias = list[dict[str, Any]]
Turns: TypeAlias = tuple[str, ...]
"""The texts that a loss counts, in their order."""

ROME = "aB3dE6gH2"
TWO: dict[str, Any] = call()
TWO["tool_calls"] += call("Rome", id_=ROME)["tool_calls"]
LOOKED = [user(), call(reasoning="I look.")]
SECOND = result("rain", id_=ROME)
TALK = [user(), answer("Sunny.", "Fine."), user("Thanks!"), answer("Bye.", "So.")]
CONVERSATIONS: Mapping[str, tuple[Messages, bool]] = {
    "answers": ([user(), answer("Sunny."), user("Thanks!"), answer("Bye.")], False),
    "reasoning": (TALK, False),
    "a call": ([*LOOKED, result(), *TALK[1:]], True),
    "calls in a row": (
        [
            *(*LOOKED, result(), call("Rome", reasoning="More.", id_=ROME)),
            *(SECOND, answer("Done.")),
        ],
        True,
    ),
    "content beside a call": (
        [user(), call(content="Let me see."), result(), answer("Sunny.")],
        True,
    ),
    "two calls": (
        [
            *({"role": "system", "content": "Be brief."}, user(), TWO, result(), SECOND),
            *(answer("Both."), user("ok"), answer("Bye.")),
        ],
        True,
    ),
}
"""Each with whether tools are offered."""


class Compared(NamedTuple):
    """One conversation, rendered with the marks of both."""

    template: str
    conversation: str
    outcome: str
    """Refused, another text, or compared."""
    kinds: frozenset[str] = frozenset()
    """A kind of difference between two loss masks."""
    theirs: Turns = ()
    ours: Turns = ()


def counted(
    template: str, tokens: Mapping[str, str], messages: Messages, *, tooled: bool
) -> tuple[str, Turns]:
    """Return transformers' render, and the loss mask by the template's marks."""
    # Imported here because it is slow to import.
    render: Any = import_module("transformers.utils.chat_template_utils").render_jinja_template
    (text,), (ranges,) = render(
        [deepcopy(messages)],
        tools=tools() if tooled else None,
        chat_template=template,
        return_assistant_tokens_mask=True,
        **tokens,
    )
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        elif end > start:
            joined.append((start, end))
    return text, tuple(text[start:end] for start, end in joined)


def differences(theirs: Turns, ours: Turns) -> frozenset[str]:
    """Return how the counted texts of two loss masks differ."""
    if len(theirs) != len(ours):
        return frozenset({"TRL counts another number of turns"})
    return frozenset(kind for pair in zip(theirs, ours, strict=True) for kind in _kinds(*pair))


def _kinds(theirs: str, ours: str) -> Iterator[str]:
    for more, less, whose in ((theirs, ours, "TRL"), (ours, theirs, "ours")):
        core = less.strip()
        at = more.find(core)
        if at < 0:
            continue
        before, behind = more[:at], more[at + len(core) :]
        if before.strip():
            yield f"{whose} also what stands before the turn, such as what the prompt has written"
        elif len(before) > len(less) - len(less.lstrip()):
            yield f"{whose} also whitespace before the turn"
        if behind.strip():
            yield f"{whose} also what stands after the stop"
        elif len(behind) > len(less) - len(less.rstrip()):
            yield f"{whose} also whitespace after the stop"
    if theirs.strip() not in ours and ours.strip() not in theirs:
        yield "neither holds the other's"


def compared(folder: Path, name: str) -> Iterator[Compared]:
    """Compare the marks of one model's template."""
    marked = (folder / f"{name}{MARKED}.jinja").read_text(encoding="utf-8")
    plain = (folder / f"{name}.jinja").read_text(encoding="utf-8")
    bos, eos = TOKENS.get(name, USUAL)
    tokens = {"bos_token": bos, "eos_token": eos, "pad_token": "<pad>"}
    tokens = {key: token for key, token in tokens.items() if token}
    analysis = analyze(ChatTemplate(plain, tokens, name=name))
    own = training_template(analysis, briefly=True).template.text
    for conversation, (messages, tooled) in CONVERSATIONS.items():
        try:
            text, ours = counted(own, tokens, messages, tooled=tooled)
            other, theirs = counted(marked, tokens, messages, tooled=tooled)
        except (TemplateError, TypeError, ValueError, KeyError):
            yield Compared(name, conversation, "refused")
            continue
        if other != text:
            yield Compared(name, conversation, "another text")
            continue
        kinds = differences(theirs, ours)
        yield Compared(name, conversation, "compared", kinds, theirs, ours)


def lines(found: Sequence[Compared]) -> Iterator[str]:
    """Lay the comparison out."""
    outcomes = Counter(row.outcome for row in found)
    same = sum(row.outcome == "compared" and not row.kinds for row in found)
    yield f"{len({row.template for row in found}):>6}  templates, {len(found)} conversations"
    yield f"{outcomes['refused']:>6}  refused by the template"
    yield f"{outcomes['another text']:>6}  another text with TRL's template than with the model's"
    yield f"{outcomes['compared']:>6}  of the same text; in {same} both count the same"
    kinds = Counter(kind for row in found for kind in row.kinds)
    for kind, count in kinds.most_common():
        templates = {row.template for row in found if kind in row.kinds}
        yield f"{count:>6}  in {len(templates)} templates: {kind}"


def shown(found: Sequence[Compared]) -> Iterator[str]:
    """Show each turn that differs."""
    for row in found:
        yield f"{row.template}, {row.conversation}: {row.outcome}"
        for theirs, ours in zip_longest(row.theirs, row.ours):
            if theirs != ours:
                yield f"    TRL   {theirs!r}"
                yield f"    ours  {ours!r}"


def main() -> None:
    """Print the table, or what differs in the templates that are named."""
    spec = find_spec(PEER)
    places = [] if spec is None else [*(spec.submodule_search_locations or ())]
    if not places:
        print_lines([f"{PEER}: skipped (the package is not installed)"])
        return
    folder = Path(places[0]) / "chat_templates"
    known = sorted(path.stem.removesuffix(MARKED) for path in folder.glob(f"*{MARKED}.jinja"))
    names = sys.argv[1:] or known
    found: list[Compared] = []
    for name in names:
        try:
            found += compared(folder, name)
        except AutoparserError as error:
            print_lines([f"{name}: none ({error})"])
    print_lines([*(shown(found) if sys.argv[1:] else ()), *lines(found)])


if __name__ == "__main__":
    main()

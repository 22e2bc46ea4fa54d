"""Why a continuation does not pass: what the template itself does, or what is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .closed_loop import CHANNEL, ENDED, UNESCAPED, UNMARKED, UNOPENED
from .gate_judge import Verdict, Way

UNCLOSED = "behind a prompt that opens reasoning it writes content, and nothing closes reasoning"
TRACE = "reasoning that is left out leaves a line break behind"
CLOSER = "what closes a string is also how a quote inside of it is written"
COLLAPSED = "empty lines in content are left out"
ELSEWHERE = "what stands before the turn changes with it: the self-check fails, too"
MADE_UP = "names that no schema gives are written before and after a value: no grammar allows them"
INSIDE = "arguments are text inside a JSON string, to which no grammar is made"
ENDED_LATER = "turns are ended by a marker behind a tool result, and by none behind a user message"
_BY_CAUSE: Mapping[str, tuple[str, ...]] = {
    CHANNEL: (
        "CrowtherLabs-Atom-Electron-1.0",
        "LLMWildling-gpt-oss-220a20b",
        "OpenGVLab-InternVL3_5-GPT-OSS-20B-A4B-Preview",
        "Salesforce-FARE-20B",
        "llm-jp-llm-jp-4-8b-instruct",
        "llm-jp-llm-jp-4-8b-thinking",
        "microsoft-OptiMind-SFT",
        "microsoft-SchGen",
        "openai-gpt-oss-120b",
        "openai-gpt-oss-safeguard-20b",
        "unsloth-gpt-oss-20b",
    ),
    UNCLOSED: (
        "NVIDIA-Nemotron-Nano-v2",
        "nvidia-NVIDIA-Nemotron-Nano-12B-v2",
        "nvidia-NVIDIA-Nemotron-Nano-9B-v2-Japanese",
        "poolside-Laguna-XS-2.1",
        "poolside-Laguna-XS.2",
    ),
    ENDED_LATER: ("Aletheia-Bench-DPO-Think-14B",),
    UNOPENED: ("j3-4-tagged-array", "reasoning-delimiter"),
    UNMARKED: ("spitfire4794-supra-arith", "thought-action"),
    UNESCAPED: (
        "LiquidAI-LFM2.5-VL-450M",
        "baseten-Llama-3.2-3B-Instruct-pythonic",
        "directive-lines",
        "p1-3-double-quotes",
        "p1-4-unquoted",
    ),
    CLOSER: ("attributes",),
    ENDED: ("tiiuae-Falcon-H1-Tiny-Tool-Calling-90M",),
    TRACE: ("NousResearch-Kimi-K2-Thinking-Alternate-Tokenizer",),
    COLLAPSED: ("tiiuae-falcon-7b-instruct",),
    MADE_UP: ("MiniMaxAI-MiniMax-M3-MXFP8", "a6-key-is-tag"),
    INSIDE: ("OpenPipe-Llama-3.1-8B-Instruct",),
    ELSEWHERE: ("ai21labs-AI21-Jamba-Reasoning-3B",),
}
CAUSES = {name: cause for cause, names in _BY_CAUSE.items() for name in names}
"""What in a template itself keeps what it writes from being accepted or read."""

UNCHECKED = "open: the setting's format is not understood, its self-check fails"
BEGUN = "open: no generation prompt; told a prompt, the turn is taken to have begun"
UNASKED = "open: the generation prompt comes unasked; told the setting alone, it is not counted"
UNITED = "open: prompts of two settings end alike; told the prompt alone, one setting's are misread"
TOOLLESS = "open: turns are written otherwise where no tools are offered"
LEADING = "open: a header that begins with whitespace is read as content"
_OPEN = {
    "Featherless-Chat-Models-llama2-13b-chat-hf": LEADING,
}


def cause_of(name: str, verdict: Verdict, judged: Sequence[Verdict]) -> str:
    """Say why a verdict is bad, by how it is; nothing where that is unknown.

    `judged` are all verdicts on the template.
    """
    ways = {fault.way for fault in verdict.faults}
    if not verdict.checked and name not in CAUSES:
        return UNCHECKED
    if verdict.bare and ways <= {Way.PROMPT, Way.BOTH}:
        return BEGUN
    if verdict.bare and ways == {Way.SETTING} and _some(judged, verdict, tools=True):
        return UNASKED
    if ways == {Way.PROMPT}:
        return UNITED
    if not verdict.tools and not _some(judged, verdict, tools=True):
        return TOOLLESS
    return CAUSES.get(name, "") or _OPEN.get(name, "")


def _some(judged: Sequence[Verdict], verdict: Verdict, *, tools: bool) -> bool:
    """Whether the same message does not pass with tools, or without."""
    return any(
        each.faults
        for each in judged
        if each.tools is tools
        and each.title == verdict.title
        and repr(each.setting) == repr(verdict.setting)
    )

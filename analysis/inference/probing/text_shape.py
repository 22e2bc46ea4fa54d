"""Finding how plain user and assistant messages are taken, and tools before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.core.conversation import Dialogue, Message, User
from autoparser.analysis.core.message_shape import ContentForm, Shape, ToolForm

from .prober import Probe, Prober
from .suggestions import Suggestions
from .trials import ShapeTrial, UnusableTemplateError, describe, prints_parts


def tool_shape(prober: Prober, suggestions: Suggestions, trials: list[ShapeTrial]) -> Prober:
    """Find how tools are taken: bare where their wrapper hides what the template reads of them."""
    if "tools" not in suggestions.names or prober.shape.tools is not ToolForm.WRAPPED:
        return prober
    names = [str(tool["name"]) for tool in prober.tools]
    bare = prober.using(shape=replace(prober.shape, tools=ToolForm.BARE))
    if _shows(prober, names) or not _shows(bare, names):
        return prober
    trials.append(ShapeTrial(describe(bare.shape, prober.shape), "shows the tools' names"))
    return bare


def _shows(prober: Prober, words: Sequence[str]) -> bool:
    probe = prober.probe((prober.user,))
    return prober.sentinels.user in probe.text and all(word in probe.text for word in words)


def _prints_parts(prober: Prober, probe: Probe) -> bool:
    messages = prober.shape.messages(probe.dialogue, prober.sentinels.system)
    contents = (message.get("content") for message in messages)
    return any(isinstance(each, list) and prints_parts(probe.text, each) for each in contents)


def text_shape(prober: Prober, trials: list[ShapeTrial]) -> Prober:
    """Find how plain user and assistant messages are taken."""
    marks = prober.sentinels
    plain: Dialogue = (User(marks.user), Message(marks.content))
    failures: list[Probe] = []
    silent = recased = False
    shapes = [Shape()]
    shapes += [
        Shape(system=system, user_content=user, assistant_content=assistant, tools=tools)
        for tools in ToolForm
        for system in (False, True)
        for user in ContentForm
        for assistant in ContentForm
    ][1:]
    partial: Prober | None = None
    for shape in shapes:
        candidate = prober.using(shape=shape)
        probe = candidate.probe(plain, tools=shape.tools is not ToolForm.NONE)
        what = describe(shape, Shape())
        if not probe.rendered:
            failures.append(probe)
            trials.append(ShapeTrial(what, f"raises: {probe.error}"))
            continue
        shown = [word in probe.text for word in (marks.user, marks.content)]
        if _prints_parts(candidate, probe):
            trials.append(ShapeTrial(what, "prints the list of parts, brackets and all"))
            continue
        if all(shown):
            trials.append(ShapeTrial(what, "shows the user's and the assistant's text"))
            return candidate
        silent = True
        low = probe.text.lower()
        recased = recased or all(word.lower() in low for word in (marks.user, marks.content))
        trials.append(ShapeTrial(what, "drops the user's or the assistant's text"))
        if shown[0] and partial is None:
            partial = candidate
    if partial is not None:
        return partial
    if recased:
        raise UnusableTemplateError(
            "writes other letters as capitals than the messages that it is given",
            "write the content of messages as it is: a model reads other words than were said",
        )
    if silent:
        empty = not any(trial.outcome.startswith("raises") for trial in trials) and not (
            prober.probe(plain).text.strip()
        )
        raise UnusableTemplateError(
            "renders nothing" if empty else "ignores the messages that it is given",
            "check that it reads the content of every message of the role user and assistant",
        )
    raise UnusableTemplateError(
        "raises on every conversation that was tried",
        "render a conversation by hand to see what it wants",
        failures[0].error,
    )

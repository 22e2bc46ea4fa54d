"""The run itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from jinja2 import Template

from autoparser.analysis.loading.isolation import LimitReached, current_guard
from autoparser.analysis.loading.template import ChatTemplate

from .branches import Branches
from .forced_run import ForcedRun
from .watched import Watched

LONGEST_TEXT = 400_000


def force(template: ChatTemplate, variables: Mapping[str, object]) -> ForcedRun:
    """Run a template with every branch taken. Raises nothing."""
    seen = ForcedRun()
    pieces: list[str] = []
    guard = current_guard()
    try:
        with nullcontext() if guard is None else guard.rendering():
            _run(template, variables, seen, pieces)
    except LimitReached as reached:
        seen.error = reached.words
    except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
        seen.error = f"{type(error).__name__}: {error}"
    seen.text = "".join(pieces)
    return seen


def _run(
    template: ChatTemplate, variables: Mapping[str, object], seen: ForcedRun, pieces: list[str]
) -> None:
    environment = Watched(seen)
    tree = Branches().visit(environment.parse(template.text))
    tree.set_environment(environment)
    code = environment.compile(tree)
    made = Template.from_code(environment, code, {**environment.globals})
    # The time is the one that is given: what runs tomorrow finds the same.
    given = {**environment.globals, **variables}
    size = 0
    for piece in made.root_render_func(made.new_context(given)):
        # What a call block gives may be nothing.
        pieces.append(str(piece))
        size += len(pieces[-1])
        if size > LONGEST_TEXT:
            break

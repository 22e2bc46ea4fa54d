"""A template with every branch taken: what it can do, whatever the conversation.

A hostile template hides what it does after a condition that no test meets. Here its syntax tree
is changed so that both sides of each condition run, loops run at least once, and macros are
called; what cannot be computed is nothing, and goes on. It runs in the immutable sandbox, which
refuses what it always refuses; a refusal is written down instead of ending the run.

The text is not a prompt, only all that may be in one; what was done is what the template can do.
"""

from .forced_run import GADGETS, ForcedRun
from .forcing import force

__all__ = ["GADGETS", "ForcedRun", "force"]

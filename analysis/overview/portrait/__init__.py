"""All that a report on one template shows, gathered once: a value that pages are drawn from."""

from .conversation import Conversation, Step, ten_turns
from .grammars import GrammarForms, written_grammar
from .masks import MaskCost, mask_cost
from .portrait import Portrait, example_tools, portray
from .strip import TokenStrip, strip_of
from .switch_views import SwitchView, switch_views

__all__ = [
    "Conversation",
    "GrammarForms",
    "MaskCost",
    "Portrait",
    "Step",
    "SwitchView",
    "TokenStrip",
    "example_tools",
    "mask_cost",
    "portray",
    "strip_of",
    "switch_views",
    "ten_turns",
    "written_grammar",
]

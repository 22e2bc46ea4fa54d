"""Small edits of a template's text, found by its syntax; what they are good for, renders say."""

from .additions import (
    adding_edits,
    also_compared,
    asking_also,
    jinja_text,
    replaced_value,
    string_value,
)
from .decided_conditions import decided_conditions
from .generation_blocks import Authorship, Ownership, exploded, with_generation_blocks
from .kept_values import KeptValue, kept_values
from .moved_closer import after_all_messages, after_its_loop, items_after_all
from .simplifications import default_edit, template_edits
from .statement_tree import StatementBody, statement_tree
from .template_edit import TemplateEdit, changed_lines, edited, in_newlines, spans_after
from .tidied_edits import EditJudge, tidied
from .tidy_spelling import own_lines, without_brackets

__all__ = [
    "Authorship",
    "EditJudge",
    "KeptValue",
    "Ownership",
    "StatementBody",
    "TemplateEdit",
    "adding_edits",
    "after_all_messages",
    "after_its_loop",
    "also_compared",
    "asking_also",
    "changed_lines",
    "decided_conditions",
    "default_edit",
    "edited",
    "exploded",
    "in_newlines",
    "items_after_all",
    "jinja_text",
    "kept_values",
    "own_lines",
    "replaced_value",
    "spans_after",
    "statement_tree",
    "string_value",
    "template_edits",
    "tidied",
    "with_generation_blocks",
    "without_brackets",
]

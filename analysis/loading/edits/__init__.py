"""Small edits of a template's text, found by its syntax; what they are good for, renders say."""

from .additions import adding_edits, also_compared, asking_also, jinja_text, replaced_value
from .decided_conditions import decided_conditions
from .generation_blocks import Authorship, Ownership, exploded, with_generation_blocks
from .moved_closer import after_its_loop
from .simplifications import default_edit, template_edits
from .statement_tree import ItemKind, StatementBody, TemplateItem, statement_tree
from .template_edit import TemplateEdit, changed_lines, edited, in_newlines, spans_after
from .tidy_spelling import own_lines, without_brackets

__all__ = [
    "Authorship",
    "ItemKind",
    "Ownership",
    "StatementBody",
    "TemplateEdit",
    "TemplateItem",
    "adding_edits",
    "after_its_loop",
    "also_compared",
    "asking_also",
    "changed_lines",
    "decided_conditions",
    "default_edit",
    "edited",
    "exploded",
    "in_newlines",
    "jinja_text",
    "own_lines",
    "replaced_value",
    "spans_after",
    "statement_tree",
    "template_edits",
    "with_generation_blocks",
    "without_brackets",
]

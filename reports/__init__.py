"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the width that was
asked for, so that with styles or without it is the same text. What comes from a template
passes `visible`: it is never read as markup, and nothing in it moves a cursor or hides. A report is
imported when it is first used, from the module that `__init__.pyi` names: a command waits for its
own alone.
"""

from __future__ import annotations

from autoparser.lazy_names import stub_names

# Not later: the module of the same name would hide the function.
from .visible import visible as visible

__getattr__, __dir__ = stub_names(__name__)

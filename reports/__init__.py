"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the width that was
asked for, so that with styles or without it is the same text. What comes from a template
passes `visible`: it is never read as markup, and nothing in it moves a cursor or hides.
"""

from .analysis import analysis_report, phases_report
from .visible import visible

__all__ = ["analysis_report", "phases_report", "visible"]

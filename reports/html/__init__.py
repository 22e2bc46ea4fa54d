"""Pages: a value in, one self-contained HTML text out.

Contract: a page asks for nothing and runs nothing. Its policy allows no script and no request; its
texts are escaped by `element`, and hidden characters are shown by `reports/visible.py`. The page of
a survey alone has one script, a file of ours that its policy names by its digest: it sorts and
filters the rows, reads their texts alone, and writes no markup.
"""

from .comparison import comparison_page
from .report import report_page, saved_page
from .survey import survey_page

__all__ = ["comparison_page", "report_page", "saved_page", "survey_page"]

"""Pages: a value in, one self-contained HTML text out.

Contract: a page asks for nothing and runs nothing. Its policy allows no script and no request; its
texts are escaped by `element`, and hidden characters are shown by `reports/visible.py`.
"""

from .comparison import comparison_page
from .report import report_page, saved_page
from .survey import survey_page

__all__ = ["comparison_page", "report_page", "saved_page", "survey_page"]

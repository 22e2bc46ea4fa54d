"""Findings in every form that people, CI and editors read.

Contract: each module takes a `LintRun` and gives a text; nothing is written here. What comes
from a template or a file name passes `visible` and then the escaping of the form. A report
is imported when it is first used, from the module that `__init__.pyi` names.
"""

from __future__ import annotations

from autoparser.lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

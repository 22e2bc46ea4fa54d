"""What the commands use of the engine and of the reports, each imported when it is first used.

A command that prints its help, or reads its options, imports none of it. The names and their homes
stand in `wings.pyi`, which type checkers read, and which is read here when a name is first asked
for:

    from . import wings

    outlet.report(wings.message_report(message, text, outlet.width))
"""

from __future__ import annotations

from autoparser.lazy_names import stub_names

__getattr__, __dir__ = stub_names(__name__)

"""Findings in every form that people, CI and editors read.

Contract: each module takes a `LintRun` and returns a text; nothing is written here. Text of a
template or a file name passes `visible` and then the escaping of the form. The modules are imported
where they are used, so that a command waits only for its own report.
"""

"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the requested width, so
that it is the same text with and without styles. Text of a template passes `visible`: it is never
read as markup, and nothing in it moves a cursor or hides. The modules are imported where they are
used, so that a command waits only for its own report.
"""

"""What a template's own `{% generation %}` blocks mark as the model's.

The blocks are transformers' extension; a template that has them says itself what is sampled.
"""

from __future__ import annotations

from autoparser.analysis.loading.template import GENERATION_CLOSE, GENERATION_OPEN

from .history_renders import HistoryRenders, Messages


def generation_ranges(
    renders: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]] | None:
    """Return the stretches of `text` that stand in generation blocks.

    None where the template has no such block, or writes something else when its blocks are
    marked: where it changes the text of a block afterwards, nobody can tell what it marked.
    """
    if not renders.template.marks_generation:
        return None
    marked = renders.generation_text(messages, generation=generation)
    pieces = marked.split(GENERATION_OPEN)
    found: list[tuple[int, int]] = []
    length = len(pieces[0])
    whole = [pieces[0]]
    for piece in pieces[1:]:
        inside, closed, behind = piece.partition(GENERATION_CLOSE)
        if not closed:
            return None
        if inside:
            found.append((length, length + len(inside)))
        length += len(inside) + len(behind)
        whole += [inside, behind]
    return found if "".join(whole) == text else None

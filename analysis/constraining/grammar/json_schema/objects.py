"""Objects: known members in order, any of the optional ones left out, then others.

The commas are right for every choice of members without a rule for each: a chain with one rule
for each member and each number of members already written, as far as that number matters. It
matters whether it is zero, and against `minProperties` and `maxProperties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .counted_repetition import repeated
from .json_tokens import Tokens
from .unwritable import unwritable


@dataclass(frozen=True, slots=True)
class Member:
    """A member that the schema knows by name."""

    name: str
    value: str | None
    """The expression of its value; None: it has none, and must be left out."""
    required: bool


@dataclass(frozen=True, slots=True)
class Others:
    """Members that the schema does not know by name."""

    name: str
    """The expression of their names, with quotes."""
    value: str


@dataclass(frozen=True, slots=True)
class ObjectMembers:
    """What an object may hold."""

    known: Sequence[Member]
    others: Others | None
    least: int
    most: int | None
    pointer: str

    def expression(self, tokens: Tokens) -> str | None:
        """Return the object's expression; None where no object has these members.

        Raises SchemaError where several unknown members would have to have different names.
        """
        body = _Chain(self, tokens).written()
        if body is None:
            return None
        return " ".join(filter(None, [tokens.begin_object, body, tokens.end_object]))


class _Chain:
    def __init__(self, members: ObjectMembers, tokens: Tokens) -> None:
        self.members = members
        self.tokens = tokens
        self.highest = max(1, members.least, members.most or 0)
        """Numbers of members from here on need not be told apart."""

    def written(self) -> str | None:
        """Return what stands between the braces; empty: nothing; None: there is no such object."""
        known = self.members.known
        counts: list[set[int]] = [{0}]
        for member in known:
            before = counts[-1]
            taken = {self._after(count) for count in before if self._takes(member, count)}
            counts.append(taken if member.required else taken | before)
        rests = {count: self._others(count) for count in counts[-1]}
        for member, before in zip(reversed(known), reversed(counts[:-1]), strict=True):
            rests = {count: self._rest(member, count, rests) for count in before}
        return rests[0]

    def _after(self, count: int) -> int:
        return min(count + 1, self.highest)

    def _takes(self, member: Member, count: int) -> bool:
        most = self.members.most
        return member.value is not None and (most is None or count < most)

    def _rest(self, member: Member, count: int, rests: dict[int, str | None]) -> str | None:
        """Return what may follow `count` members, this one being the next that is known."""
        left_out = None if member.required else rests[count]
        pair, behind = None, None
        if self._takes(member, count) and (behind := rests[self._after(count)]) is not None:
            key = self.tokens.string(member.name)
            pair = self._joined(count, f"{key} {self.tokens.colon} {member.value}")
        if pair is None:
            return left_out
        if left_out is None:
            return _sequence(pair, behind)
        if left_out == behind:
            body = _sequence(f"({pair})?", behind)
        else:
            body = f"{_sequence(pair, behind)} | {left_out or chr(34) * 2}"
        return self.tokens.rules.add(f"{'from' if count else 'first'}-{member.name}", body)

    def _joined(self, count: int, member: str) -> str:
        return f"{self.tokens.comma} {member}" if count else member

    def _others(self, count: int) -> str | None:
        """Return what may follow `count` members where no more are known."""
        others, most = self.members.others, self.members.most
        least = max(0, self.members.least - count)
        room = None if most is None else most - count
        if room is not None and least > room:
            return None
        if others is None or room == 0:
            return None if least else ""
        if least > 1:
            raise unwritable(
                "minProperties",
                self.members.pointer,
                "members with unknown names might be written twice",
            )
        rules = self.tokens.rules
        pair = rules.add("other-member", f"{others.name} {self.tokens.colon} {others.value}")
        behind = rules.add("next-member", f"{self.tokens.comma} {pair}")
        if count:
            return repeated(behind, least, room, rules)
        written = _sequence(pair, repeated(behind, 0, None if room is None else room - 1, rules))
        return written if least else f"({written})?"


def _sequence(*pieces: str | None) -> str:
    return " ".join(piece for piece in pieces if piece and piece != '""') or '""'

"""Formulas of computed columns: text parsed into a tree. Nothing of a formula is ever run as Python.

    income / household_size                 arithmetic: + - * / ** and brackets
    18 <= age and age < 30                  comparisons, and, or, not
    if(missing(`Last visit`), "never", "yes")   functions; backticks around names with spaces or signs

What the functions are is in `functions.py`, what a formula gives for a table in `evaluate.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from gamcore.common.numbers import count

LONGEST: Final = 2_000
DEEPEST: Final = 40
MOST_TOKENS: Final = 300
"""Most brackets around one another, and most words and signs: every level of a tree is a call on the stack."""

TOKEN: Final = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>"[^"]*"|'[^']*')
    | `(?P<quoted>[^`]*)`
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>\*\*|<=|>=|==|!=|<>|[-+*/^<>=(),]))""",
    re.VERBOSE,
)
COMPARE: Final = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "==", "=": "==", "!=": "!=", "<>": "!="}


class FormulaError(ValueError):
    """A formula that cannot be used; the message says where and what to do. at : the character, from 1; 0 for none."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(f"Character {at}: {message}" if at else message)
        self.at = at


@dataclass(frozen=True)
class Constant:
    """A number, a text, or true or false."""

    value: float | str | bool
    at: int


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    name: str
    at: int


@dataclass(frozen=True)
class Call:
    """A function or an operator of its arguments."""

    function: str
    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Chain:
    """Comparisons in a row, as in 18 <= age < 30: k + 1 values and the k signs between them, with their places.

    A value between two signs is in the tree once, so that a tree has no more nodes than its text has words and signs.
    """

    signs: tuple[tuple[str, int], ...]
    parts: tuple[Node, ...]

    @property
    def at(self) -> int:
        """The place of the last sign."""
        return self.signs[-1][1]


Node = Constant | Column | Call | Chain
TokenKind = Literal["number", "text", "quoted", "name", "sign", "end"]


@dataclass(frozen=True)
class _Token:
    kind: TokenKind
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        if match is None:
            start = len(text) - len(text[place:].lstrip())
            odd = text[start]
            if odd in "\"'`":
                raise FormulaError(f"the quote {odd} is never closed: add another at its end.", start + 1)
            raise FormulaError(f"{odd!r} means nothing in a formula: put odd names between backticks.", start + 1)
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        yield _Token(kind, match.group(kind), match.start(kind) + 1)
        place = match.end()
    yield _Token("end", "the end", end + 1)


def parse(text: str) -> Node:
    """Return the tree of a formula; FormulaError where it is none."""
    if len(text) > LONGEST:
        raise FormulaError(
            f"The formula has {count(len(text))} characters, more than {count(LONGEST)}: split it in two columns."
        )
    if not text.strip():
        raise FormulaError("The formula is empty: write one, such as a / b.")
    tokens = list(_tokens(text))
    if len(tokens) > MOST_TOKENS:
        at = tokens[MOST_TOKENS].at
        raise FormulaError(f"more than {MOST_TOKENS} words and signs end here: split the formula in two columns.", at)
    parser = _Parser(tokens)
    node = parser.either()
    left = parser.next
    if left.kind != "end":
        raise FormulaError(f"{left.text} does not belong here: an operator or a comma is missing before it.", left.at)
    return node


def columns_of(node: Node) -> list[str]:
    """Return the names of the columns that a formula uses, each once."""
    if isinstance(node, Column):
        return [node.name]
    if isinstance(node, Constant):
        return []
    return list(dict.fromkeys(name for part in node.parts for name in columns_of(part)))


class _Parser:
    """Reads tokens from the loosest operator (or) to the tightest (a power)."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._place, self._depth = tokens, 0, 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *texts: str, kind: TokenKind = "sign") -> _Token | None:
        """Return the next token and step over it if it is one of these; words in any case."""
        token = self.next
        if token.kind != kind or (texts and token.text.lower() not in texts):
            return None
        self._place += 1
        return token

    def either(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"more than {DEEPEST} brackets are nested here: split the formula.", self.next.at)
        node = self._both()
        while token := self._take("or", kind="name"):
            node = Call("or", (node, self._both()), token.at)
        self._depth -= 1
        return node

    def _both(self) -> Node:
        node = self._negated()
        while token := self._take("and", kind="name"):
            node = Call("and", (node, self._negated()), token.at)
        return node

    def _negated(self) -> Node:
        first, words = self.next, 0
        while self._take("not", kind="name"):
            words += 1
        node = self._compared()
        for _ in range(min(words, 2 - words % 2)):  # not not not x is not x
            node = Call("not", (node,), first.at)
        return node

    def _compared(self) -> Node:
        values, signs = [self._sum()], list[tuple[str, int]]()
        while token := self._take(*COMPARE):
            signs.append((COMPARE[token.text], token.at))
            values.append(self._sum())
        if len(signs) > 1:  # 18 <= age < 30
            return Chain(tuple(signs), tuple(values))
        return Call(signs[0][0], tuple(values), signs[0][1]) if signs else values[0]

    def _sum(self) -> Node:
        node = self._product()
        while token := self._take("+", "-"):
            node = Call(token.text, (node, self._product()), token.at)
        return node

    def _product(self) -> Node:
        node = self._signed()
        while token := self._take("*", "/"):
            node = Call(token.text, (node, self._signed()), token.at)
        return node

    def _signed(self) -> Node:
        """Read signs, which bind less than a power: -2 ** 2 is -4."""
        first, minus = self.next, False
        while token := self._take("+", "-"):
            minus ^= token.text == "-"
        node = self._power()
        return Call("negative", (node,), first.at) if minus else node

    def _power(self) -> Node:
        base = self._atom()
        token = self._take("**", "^")
        if token is None:
            return base
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError(f"more than {DEEPEST} powers are nested here: split the formula.", token.at)
        power = Call("**", (base, self._signed()), token.at)
        self._depth -= 1
        return power

    def _atom(self) -> Node:
        token = self.next
        self._place += 1
        match token.kind:
            case "number":
                value = float(token.text)
                if not math.isfinite(value):
                    raise FormulaError("this number is too large.", token.at)
                return Constant(value, token.at)
            case "text":
                return Constant(token.text[1:-1], token.at)
            case "quoted":
                return Column(token.text, token.at)
            case "name":
                return self._named(token)
        if token.text == "(":
            node = self.either()
            self._close(token)
            return node
        self._place -= 1
        raise FormulaError(f"a name, a number or a bracket should come here, not {token.text}.", token.at)

    def _named(self, token: _Token) -> Node:
        word = token.text.lower()
        if opening := self._take("("):
            parts: list[Node] = []
            if self.next.text != ")" or self.next.kind != "sign":
                parts.append(self.either())
                while self._take(","):
                    parts.append(self.either())
            self._close(opening)
            return _case(parts, token.at) if word == "case" else Call(word, tuple(parts), token.at)
        if word in ("true", "false"):
            return Constant(word == "true", token.at)
        if word in ("and", "or", "not"):
            raise FormulaError(f"{word} needs a condition before and after it.", token.at)
        return Column(token.text, token.at)

    def _close(self, opening: _Token) -> None:
        if not self._take(")"):
            raise FormulaError(
                f"the bracket that opens at character {opening.at} should close before {self.next.text}.", self.next.at
            )


def _case(parts: list[Node], at: int) -> Node:
    """Return conditions with their values, and a last value, as ifs within one another."""
    if len(parts) < 3 or len(parts) % 2 == 0:
        raise FormulaError("case needs pairs of a condition and a value, and at the end the value of all others.", at)
    node = parts[-1]
    for k in range(len(parts) - 3, -1, -2):
        node = Call("if", (parts[k], parts[k + 1], node), at)
    return node

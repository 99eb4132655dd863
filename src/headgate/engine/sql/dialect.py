"""Spark SQL as Headgate reads and writes it: every function keeps the name that the user gave it.

What Spark gets is always written from the tree that was checked, never the user's own characters. So a text that
Spark would read in another way than this parser gains nothing by it.
"""

import re
from itertools import pairwise
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from headgate.errors import InputError

_WITH_WORDS = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING")
"""Functions whose arguments may be told apart by words, such as CAST(x AS INT)."""

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A word that is one word to everybody, without quotes."""

_RULE = "a query is valid Spark SQL"
_BEGINNINGS = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN}


class AsWritten(Spark):
    """Spark's dialect without sqlglot's own model of functions, which would rename and rewrite some."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar = ["\\", "'", '"']  # Spark 4 reads 'it''s' as one literal

    class Parser(SparkParser):
        FUNCTIONS: ClassVar = {}
        NO_PAREN_FUNCTIONS: ClassVar = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        FUNCTION_PARSERS: ClassVar = {word: SparkParser.FUNCTION_PARSERS[word] for word in _WITH_WORDS}
        ARRAY_CONSTRUCTORS: ClassVar = {}
        PIPE_SYNTAX_TRANSFORM_PARSERS: ClassVar = {}


def read(text: str) -> exp.Query:
    """The one query that a text holds."""
    tokens = _tokens(text)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise InputError(_RULE, "an empty text", "Write a SELECT.")
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise InputError("a query is one statement", "a second one", "Register each by itself.", _at(token))
    if tokens[0].token_type not in _BEGINNINGS:
        raise _no_query(tokens[0].text, _at(tokens[0]))
    for token, following in pairwise(tokens):
        if token.token_type is TokenType.WINDOW and following.token_type is TokenType.L_PAREN:
            token.token_type = TokenType.VAR  # the function, not the clause
    try:
        (tree,) = AsWritten().parser().parse(tokens, text)
    except ParseError as error:
        raise _syntax(error) from None
    except TokenError:  # of a hint, which is a text within the text
        raise InputError(_RULE, "a hint that cannot be read", "Leave it out.", _at(tokens[0])) from None
    if not isinstance(tree, exp.Query):
        raise _no_query(tree.key.upper() if tree else "nothing", _at(tokens[0]))
    for name in tree.find_all(exp.Identifier):
        # What is one name here might be several words to Spark, which takes more characters for white space.
        name.set("quoted", name.quoted or not PLAIN.fullmatch(name.name))
    return tree


def expression(text: str) -> exp.Expr:
    """An expression that Headgate wrote itself."""
    select = read(f"SELECT {text}")
    found: exp.Expr = select.selects[0]
    return found.pop()


def identifier(name: str) -> exp.Identifier:
    """A name as it stands in SQL, in backticks if it could be read as something else."""
    plain = PLAIN.fullmatch(name) and AsWritten().tokenize(name)[0].token_type is TokenType.VAR
    return exp.to_identifier(name, quoted=not plain)


def write(tree: exp.Expr) -> str:
    """A tree as Spark SQL, on one line and without comments."""
    return tree.sql(AsWritten, comments=False, normalize_functions=False)


def place(node: exp.Expr) -> str | None:
    """Where something stands in the text, or the nearest thing around it that has a place."""
    # Hints are read as a text of their own, and have places in that.
    marks = [each.meta for each in node.walk(prune=lambda n: isinstance(n, exp.Hint)) if "start" in each.meta]
    if not marks:
        return place(node.parent) if node.parent else None
    mark = min(marks, key=lambda m: int(m["start"]))
    return f"line {mark['line']}, column {mark['col'] - (mark['end'] - mark['start'])}"


def _tokens(text: str) -> list[Token]:
    try:
        return AsWritten().tokenize(text)
    except TokenError as error:
        found = re.search(r"(\d+):(\d+)$", str(error.__cause__ or error))
        where = f"line {found[1]}" if found else None
        raise InputError(_RULE, "a quote or a comment without its end", "Close it.", where) from None


def _at(token: Token) -> str:
    return f"line {token.line}, column {token.col - (token.end - token.start)}"


def _no_query(got: str, where: str) -> InputError:
    return InputError("a continuous query is a SELECT", f"'{got}'", "Write what it reads, not what it does.", where)


def _syntax(error: ParseError) -> InputError:
    first = error.errors[0]
    word = first["highlight"] or ""
    where = f"line {first['line']}, column {(first['col'] or 1) - max(len(word) - 1, 0)}"
    before = " ".join((first["start_context"] or "").split())[-40:]
    return InputError(_RULE, f"'{word}' after '{before}'", "Check the syntax there.", where)

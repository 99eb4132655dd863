"""Strings are computed as Spark computes them: by code point, with Unicode's cases, and patterns of Java."""

import random

import pyarrow as pa
import pytest

from engine.kernel.against_spark import Sides

LETTERS = [
    *("a", "b", "A", "X", "x", "K", "ß", "İ", "ı", "Σ", "σ", "ﬁ", "ǆ", "é", "e\u0301", "😀", "𐐀", "\u212a", "ΐ"),
    *(
        ".",
        "%",
        "_",
        "\\",
        " ",
        "\t",
        "\n",
        "\r",
        "\u2028",
        "\u0085",
        "\u00a0",
        "\x00",
        "-",
        "0",
        "9",
        "$",
        "^",
        "[",
        "'",
    ),
]
GIVEN = [
    None,
    "",
    "a",
    "abc",
    "a\r\n",
    "a\n",
    "a\r",
    "ab\r\n",
    "9",
    "aXbXc",
    "a.b.c",
    "..",
    "aaa",
    "aaaa",
    "😀😀",
    "x" * 300,
]
PARTS = [None, "", "a", "X", ".", "b", "é", "😀", "ab", "\n", "%"]
NUMBERS = [None, -100, -3, -2, -1, 0, 1, 2, 3, 100, 2**31 - 1, -(2**31)]


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    chance = random.Random(3)
    texts = [*GIVEN, *("".join(chance.choices(LETTERS, k=chance.randint(1, 7))) for _ in range(800))]
    rows = {
        "s": pa.array(texts, pa.string()),
        "p": pa.array(chance.choices(PARTS, k=len(texts)), pa.string()),
        "i": pa.array(chance.choices(NUMBERS, k=len(texts)), pa.int32()),
        "j": pa.array(chance.choices(NUMBERS, k=len(texts)), pa.int32()),
        "raw": pa.array([b"a"] * len(texts), pa.binary()),
    }
    return Sides(spark, tmp_path_factory.mktemp("strings"), pa.table(rows))


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


CASES = [
    *("upper(s)", "lower(s)", "length(s)", "octet_length(s)", "bit_length(s)", "reverse(s)"),
    *("startswith(s, p)", "endswith(s, p)", "contains(s, p)", "startswith(s, 'a')", "contains(s, '')"),
    *(
        "s = p",
        "s < p",
        "s >= p",
        "s <=> p",
        "s IN ('a', 'abc', '😀😀')",
        "s NOT IN ('a', NULL)",
        "s BETWEEN 'a' AND 'b'",
    ),
    *("greatest(s, p)", "least(s, p)", "coalesce(p, s)", "nullif(s, 'a')", "if(s LIKE 'a%', upper(s), p)"),
]
PARTLY = [
    *(f"substring(s, {start}, {length})" for start in (-3, 0, 1, 2, 100) for length in (-1, 0, 1, 3, 2**31 - 1)),
    *("substring(s, i, j)", "substring(s, i)", "substring(s, 2, j)", "left(s, i)", "left(s, 2)", "left(s, NULL)"),
    *("right(s, i)", "right(s, 2)", "right(s, 0)", "concat(s, p, 'z')", "s || p", "concat_ws('-', s, p)"),
    *("concat_ws('', s, p, 'x')", "concat_ws(NULL, s)", "concat_ws('-')", "concat(s, NULL)"),
    *(
        "trim(s)",
        "ltrim(s)",
        "rtrim(s)",
        "btrim(s)",
        "btrim(s, 'a')",
        "trim(BOTH 'aX' FROM s)",
        "trim(BOTH '' FROM s)",
    ),
    *("trim(LEADING 'é😀' FROM s)", "trim(TRAILING '\u0301' FROM s)", "trim(BOTH NULL FROM s)"),
]
CHANGED = [
    *(
        f"{name}(s, {quoted(old)}, {quoted(new)})"
        for name in ("replace", "translate")
        for old, new in (
            ("a", "b"),
            ("a", ""),
            ("", "z"),
            ("😀", "$1"),
            ("aX", "é"),
            ("aa", "b"),
            (".", "\\0"),
            ("aXa😀", "1é2"),
        )
    ),
    *(
        f"{name}(s, {length}, '{pad}')"
        for name in ("lpad", "rpad")
        for length in (-1, 0, 1, 3, 10)
        for pad in ("x", "yz", "", "é😀")
    ),
    *("lpad(s, 5)", "lpad(s, 5, NULL)", "repeat(s, -1)", "repeat(s, 0)", "repeat(s, 1)", "repeat(s, 3)"),
]
FOUND = [
    *(f"instr(s, '{part}')" for part in ("a", "", "ab", "😀", "aa", "e")),
    *(f"locate('{part}', s, {start})" for part in ("a", "", "😀", "aa") for start in (-1, 0, 1, 2, 5)),
    *(f"substring_index(s, '{part}', {count})" for part in ("a", "", "ab", "😀") for count in (-2, -1, 0, 1, 2)),
    *(f"split_part(s, '{part}', {number})" for part in ("a", "ab", "😀", "aa") for number in (-2, -1, 1, 2, 9)),
]
LIKE = [
    "",
    "a",
    "a%",
    "%a",
    "%a%",
    "%",
    "_",
    "__",
    "%_",
    "a_%",
    "a%b",
    "%a%b%",
    "😀%",
    "_😀",
    "\\%%",
    "a\\_b",
    "\\\\%",
]
LIKE += ["%.%", "(a", "[a]%", "%\n%", "_\n", "é%", "%%a%%", "%ß%", "%İ%", "%k%"]
REGEX = [
    "",
    "a",
    "a+",
    "^a",
    "a$",
    "^a$",
    "^(a|b)$",
    "a|b$",
    "a.b",
    "a.",
    "^.$",
    "^...$",
    "[ab]+",
    "[^ab]",
    "\\d",
    "\\w",
]
REGEX += [
    "\\s",
    "\\D",
    "\\S",
    "[\\d.]",
    "(?i)ab",
    "(?i)[a-c]x",
    "(?i)k",
    "(?i)ß",
    "a{2}",
    "a{2,3}",
    "(ab)*a",
    "(?:a|x)b?",
]
REGEX += [
    "\\.",
    "\\\\",
    "a*?",
    "é",
    "😀+",
    "^😀$",
    "\\n",
    "[\\]\\[]",
    "\\$",
    "^$",
    "^",
    "$",
    "[.]",
    "%",
    "a||b",
    "[ab]$",
]
MATCHED = [
    *(f"s LIKE {quoted(pattern)}" for pattern in LIKE),
    *(f"s ILIKE {quoted(pattern)}" for pattern in LIKE),
    *(f"s RLIKE {quoted(pattern)}" for pattern in REGEX),
    *("s LIKE 'aX%%' ESCAPE 'X'", "s LIKE NULL", "s NOT LIKE 'a%'", "regexp_like(s, 'a')"),
]


@pytest.mark.parametrize("expressions", [CASES, PARTLY, CHANGED, FOUND, MATCHED])
def test_expressions_of_strings_give_what_spark_gives(sides, expressions):
    assert sides.check_each(expressions) == {}


def test_every_character_has_the_cases_of_spark(spark, tmp_path):
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    words = [" ".join(characters[at : at + 16]) for at in range(0, len(characters), 16)]
    assert Sides(spark, tmp_path, pa.table({"s": words})).check_each(["upper(s)", "lower(s)"]) == {}


REFUSED = {
    "length(raw)": "binary",
    "raw || raw": "binary",
    "s LIKE p": "no constant",
    "s LIKE 'a\\\\b'": "an escape before what needs none",
    "s LIKE 'a\\\\'": "an escape before what needs none",
    "s RLIKE p": "no constant",
    "replace(s, p, 'x')": "no constant",
    "concat_ws(p, s)": "no constant",
    "lpad(s, 5000, 'x')": "more than",
    "repeat(s, 5000)": "more than",
    "substring_index(s, 'aa', 1)": "overlap",
    "split_part(s, '', 1)": "without a delimiter",
    "initcap(s)": "initcap",
    "regexp_replace(s, 'a', 'b')": "regexp_replace",
    "s LIKE ANY ('a%', 'b%')": "likeany",
    **{
        f"s RLIKE {quoted(pattern)}": "outside of Java"
        for pattern in (
            *("^[^a]$", "\\W$", "a\\n$", "[\\w-]", "a++", "a**", "\\bA", "(?=a)", "(?s)a", "[a&&b]", "[-a]", "[z-a]"),
            *("x{200}", "\\pL", "\\Aa", "[$^]", "[[a]]", "(a)\\1", "a$b", "(a$)", "\\x41", "\\é"),
        )
    },
}


def test_what_is_left_to_spark_says_why(sides):
    reasons = sides.check_each(REFUSED)
    assert [each for each, why in REFUSED.items() if why not in reasons.get(each, "taken")] == []

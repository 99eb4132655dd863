"""Expressions over numbers and truth values are those of Spark, at the ends of every type too."""

import pytest

from engine.kernel.against_spark import Sides, assert_same, evaluate
from engine.kernel.values import rows

WHOLE = ("tiny", "small", "i", "l")
NUMBERS = (*WHOLE, "x", "f", "d", "e", "m", "n")
SIGNS = ("=", "<", "<=", ">", ">=", "<=>", "<>")


def each(texts, names=NUMBERS, but=()):
    """The texts for columns of several types."""
    return [text.format(a=f"{name}1", b=f"{name}2") for name in names if name not in but for text in texts]


def casts(types, names):
    return [f"CAST({name}1 AS {kind})" for name in names for kind in types.split()]


LONG = "it computes decimals of more than 38 digits"

EXPRESSIONS = {
    "comparisons": each(
        [*("{a} " + sign + " {b}" for sign in SIGNS), "{a} IS NULL", "{b} IS NOT NULL", "isnan({a})"]
    ),
    "comparisons of types": [
        *(f"{a}1 {sign} {b}2" for a, b in ("de", "en", "di", "nl", "dx", "if", "lx") for sign in ("<", "=")),
        *("x1 > 1e3", "d1 > 3", "i1 > 2.5", "l1 > 1.5e3", "tiny1 < 300", "x1 >= -0.0", "f1 > 0.1"),
        *("ok1 = ok2", "ok1 < ok2", "s1 < s2", "s1 = s2", "i1 <=> NULL", "x1 = double('NaN')"),
    ],
    "lists": [
        *each(["{a} IN (1, 0, 2.5)", "{a} IN (1, NULL)", "{a} IN ({b}, 1)", "{a} BETWEEN {b} AND 5"]),
        "x1 IN (double('NaN'), 0)",
        "s1 IN ('1', 'true', '')",
        "s1 NOT IN ('1', NULL)",
        "ok1 IN (true, NULL)",
    ],
    "logic": [
        *("ok1 AND ok2", "ok1 OR ok2", "NOT ok1", "ok1 AND NULL", "NULL OR ok1", "ok1 IS TRUE", "ok1 IS NOT FALSE"),
        *("NOT (i1 > 1 AND x1 < 2)", "ok1 <=> ok2", "i1 > 0 OR x1 IS NULL"),
    ],
    "choices": [
        *each(
            [
                *(
                    "greatest({a}, {b})",
                    "least({a}, {b}, 0)",
                    "nullif({a}, {b})",
                    "coalesce({a}, {b})",
                    "nvl2({a}, 1, 2)",
                ),
                *(
                    "IF({a} > {b}, {a}, {b})",
                    "CASE WHEN {a} > 1 THEN {a} WHEN {b} > 1 THEN {b} END",
                    "ifnull({a}, 0)",
                ),
            ]
        ),
        "nanvl(x1, x2)",
        "nanvl(f1, f2)",
        "zeroifnull(i1)",
        "nullifzero(i1)",
        "decode(i1, 1, 'a', 2, 'b', 'c')",
        "CASE i1 WHEN 1 THEN 'one' WHEN 2 THEN s1 ELSE 'many' END",
        "greatest(s1, s2)",
        "greatest(ok1, ok2)",
    ],
    "sums": [*each(["{a} + {b}", "{a} - {b}"], but="m"), "x1 + 1", "tiny1 + small2", "d1 + e2", "n1 - l2", "i1 + f2"],
    "products": [*each(["{a} * {b}"], but="m"), "x1 * 1.5", "i1 * 2.5", "d1 * 1.1", "d1 * e2", "i1 * d2", "e() * x1"],
    "quotients": [
        *each(["{a} / {b}"], but="mn"),
        *("x1 / 3", "x1 / 2", "x1 / 0", "f1 / 3", "d1 / 3", "100 / d1", "d1 / e2", "10 / i1", "x1 / 7.3"),
        "x1 / (CASE WHEN i1 > 1 THEN 3 ELSE 7 END)",
        *each(["{a} div {b}"], WHOLE),
    ],
    "remainders": each(["{a} % {b}"]) + each(["pmod({a}, {b})"], (*WHOLE, "x", "f")) + ["x1 % 3", "pmod(l1, -7)"],
    "signs": each(["-{a}", "abs({a})", "+{a}"], but="m") + each(["sign({a})"]),
    "tries": each(["try_add({a}, {b})", "try_subtract({a}, {b})", "try_multiply({a}, {b})"], (*WHOLE, "x", "f"))
    + each(["try_divide({a}, {b})"], ("i", "x")),
    "bits": each(["{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}", "bit_count({a})"], WHOLE)
    + [f"shiftleft({a}1, {n})" for a in "il" for n in (0, 1, 31, 33, 63)]
    + [f"{f}({a}1, {n})" for f in ("shiftright", "shiftrightunsigned") for a in "il" for n in (0, 1, 31, 40)],
    "rounding": each(["round({a})", "round({a}, 1)", "round({a}, 2)"], but="fm")
    + each(["ceil({a})", "floor({a})"])
    + each(["bround({a}, 1)", "bround({a})"], (*WHOLE, "x")),
    "functions": each(["sqrt({a})", "degrees({a})", "radians({a})", "power({a}, 2)", "power({a}, 0.5)", "rint({a})"]),
    "casts of numbers": casts("tinyint smallint int bigint float double boolean", NUMBERS)
    + casts("decimal(10,2) decimal(5,4) decimal(38,6) decimal(38,0) decimal(3,0)", (*WHOLE, "d", "e", "m", "n"))
    + casts("decimal(10,2) decimal(15,3) decimal(3,0) decimal(4,4) decimal(15,15)", ["x"])
    + casts("tinyint int bigint double decimal(10,2) decimal(1,1)", ["ok"]),
    "casts of text": casts("string", (*WHOLE, "d", "e", "m", "n", "ok"))
    + casts("tinyint smallint int bigint boolean double float", ["s"]),
}


@pytest.fixture(scope="module")
def sides(spark, tmp_path_factory):
    return Sides(spark, tmp_path_factory.mktemp("sides"), rows())


@pytest.mark.parametrize("family", EXPRESSIONS)
def test_expressions_are_those_of_spark(sides, family):
    sides.check_all(EXPRESSIONS[family])


REFUSED = {
    "CAST(x1 AS STRING)": "it casts double to string",
    "CAST(x1 AS DECIMAL(16, 2))": "it casts double to decimal(16,2)",
    "CAST(f1 AS DECIMAL(10, 2))": "it casts float to decimal(10,2)",
    "try_cast(s1 AS INT)": "it calls try_cast()",
    "m1 + m2": LONG,
    "n1 / n2": LONG,
    "-m1": "it changes the sign of decimals of more than 34 digits",
    "round(f1, 1)": "it rounds values of type float",
    "round(x1, -1)": "it rounds to places that are no constant from 0 on",
    "shiftleft(i1, i2)": "it shifts by what is no constant",
    "power(x1, 3)": "it calls power()",
    "hash(i1)": "it calls hash()",
    "exp(x1)": "it calls exp()",
    "CAST(CAST(i1 AS DECIMAL(30, 10)) AS STRING)": "it casts decimal(30,10) to string",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_would_differ_is_refused_with_the_reason(sides, text):
    assert sides.check_each([text]) == {text: REFUSED[text]}


@pytest.mark.parametrize("family", EXPRESSIONS)
def test_a_row_gives_the_same_alone_and_among_others(sides, family):
    texts = EXPRESSIONS[family]
    found = sides.segment(f"SELECT {', '.join(f'{text} AS c{i}' for i, text in enumerate(texts))} FROM t")
    all_rows = evaluate(found, sides.rows)
    for start, count in ((0, 0), (5, 1), (17, 2), (100, 150)):
        assert_same(evaluate(found, sides.rows.slice(start, count)), all_rows.slice(start, count), family)

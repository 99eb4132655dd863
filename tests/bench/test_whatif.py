"""What the benchmark of predictions concludes: the worst round counts, and pairs of ways that have an order."""

import pytest

from headgate.bench.whatif import CLASSES, LOADS, WAYS, checks

LIVE = {"fcfs": 4.0, "bsd": 1.5, "cqc": 1.0, "dilos": 1.0}


def rows(**changed):
    """Both rounds of all loads: the means of `LIVE`, predicted exactly, but for (round, way, kind) that changed."""
    found = []
    for load in LOADS:
        for k in range(2):
            for way in WAYS:
                for cls in CLASSES:
                    cases = {
                        kind: {"mean": changed.get(f"{kind}_{way.name}_{k}", LIVE[way.name]), "loss": 0.0}
                        for kind in ("measured", "predicted", "what_if")
                    }
                    cases["what-if"] = cases.pop("what_if")
                    found.append({"load": load, "round": k, "way": way.name, "cls": cls.name, **cases})
    return found


def values(found):
    return [each.value for each in checks(found)]


def test_what_is_predicted_exactly_meets_all_goals():
    assert all(each.ok for each in checks(rows()))
    assert values(rows())[-2:] == [1.0, 1.0]


def test_the_worst_round_counts():
    found = list(checks(rows(predicted_dilos_1=1.2)))
    assert found[0].value == pytest.approx(20.0)
    assert not next(checks(rows(predicted_dilos_0=2.0))).ok


def test_pairs_count_whose_order_is_the_same_in_both_rounds():
    # Five of the six pairs have an order, in each of two rounds; the prediction of one of them is wrong in one round.
    assert "30 in all" in list(checks(rows()))[-2].what
    assert values(rows(what_if_bsd_0=0.5))[-2] == pytest.approx(1 - 2 / 10)
    # As soon as the rounds disagree, or one shows less than a quarter, there is nothing to predict.
    for mean in (1.1, 0.5):
        some = list(checks(rows(measured_bsd_1=mean, what_if_bsd_0=0.5)))
        assert "18 in all" in some[-2].what
        assert some[-2].value == 1.0

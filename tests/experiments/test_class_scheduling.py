"""The published claims about classes in short form; `headgate reproduce CLS` has the long one."""

import pytest

from headgate.experiments.class_scheduling import EXPERIMENTS, changing, comparison, dual_core, inversion, single_core
from headgate.experiments.class_scheduling.cases import Case, simulate
from headgate.experiments.class_scheduling.program import e31, longest_wait, orders
from headgate.experiments.class_scheduling.workloads import W3D_6, W5G_4, W5I, C, D, E
from headgate.experiments.report import Scale

QUICK = Scale(quick=True, traces=())


def shortened(case, seconds):
    return simulate(Case(**{**vars(case), "seconds": seconds}))


def test_every_published_experiment_is_there_once():
    assert sorted(int(e.id.removeprefix("CLS-E")) for e in EXPERIMENTS) == list(range(1, 32))


def test_full_and_quick_runs_name_their_simulations_by_what_they_are():
    for e in EXPERIMENTS:
        for scale in (QUICK, Scale(quick=False, traces=())):
            assert e.tasks(scale)
            assert all(arguments in ((key,), ()) for key, (_, arguments) in e.tasks(scale).items())
    assert set(comparison.EXPERIMENTS[2].tasks(QUICK)) < set(comparison.EXPERIMENTS[3].tasks(QUICK))


def test_cqc_helps_the_first_class_and_the_last_one_pays():
    cqc, hr = (shortened(single_core.case(QUICK, C, name, 1), 0.3) for name in ("cqc", "hr"))
    assert hr.mean[0] > 4 * cqc.mean[0]
    assert cqc.mean[1] < hr.mean[1]
    assert cqc.mean[2] > hr.mean[2]
    assert all(stamped < mean for stamped, mean in zip(cqc.stamped, cqc.mean, strict=True))


def test_abd_is_ahead_of_cqc_and_keeps_the_order():
    abd, cqc = (shortened(dual_core.case(QUICK, D, name, 1), 0.5) for name in ("abd", "cqc"))
    assert abd.wavg < cqc.wavg
    assert abd.mean[0] < 0.7 * cqc.mean[0]
    assert not abd.victims()


def test_abd_slots_grow_from_wherever_they_begin():
    for first in (20, 1000):
        lengths = shortened(dual_core.case(QUICK, E, "abd", 1, first), 0.3).slots
        assert lengths[0] == pytest.approx(first * 1e-6)
        assert lengths[-1] > 2e-3


def test_with_equal_loads_mbd_orders_the_classes_and_turns_do_not():
    mbd, mrr = (shortened(comparison.case(QUICK, W3D_6, name, 1), 0.2) for name in ("mbd", "mrr"))
    assert not mbd.victims()
    assert mbd.mean[0] < mrr.mean[0] < mbd.mean[2]
    assert max(mrr.mean) < 1.1 * min(mrr.mean)


def test_slow_streams_make_the_third_class_slower_than_the_fourth():
    plain = simulate(inversion.case(QUICK, 3, 1))
    assert plain.victims() == [3]
    assert plain.updates == 0
    assert plain.inversion() == pytest.approx(30 / 20 * (plain.mean[2] / plain.mean[3] - 1))


def test_a_module_moves_the_program_until_classes_are_in_order():
    seen = simulate(inversion.case(QUICK, 3, 1, "dsp"))
    assert seen.updates > 0
    assert 0 < seen.updated < 0.6


def test_other_priorities_are_followed_only_with_the_module_for_it():
    raised = ((0.1, (("1", 50.0), ("5", 15.0))),)
    before = W5I.prioritised(*changing.RAISED)
    plain, up = (
        simulate(Case(before, "mbd", 0.5, 1, options, changes=raised)).between(0.2, 0.5)
        for options in ((), (("up", True),))
    )
    assert plain[0] == pytest.approx(plain[1], rel=0.25)
    assert up[0] < 0.98 * up[1]
    assert up[4] > 1.1 * up[3]
    assert up[4] > plain[4]


def test_ambd_pays_for_its_look_ahead():
    ambd, mbd = (shortened(comparison.case(QUICK, W5G_4, name, 1), 0.3) for name in ("ambd", "mbd"))
    assert ambd.wavg > mbd.wavg


def test_a_program_lets_the_first_class_wait_four_slots_where_visits_let_it_wait_ten():
    assert all(row.verdict in ("in band", "reported") for row in e31(QUICK, {"program": orders()}).rows)
    assert longest_wait([0, 1, 1, 0, 2], 0) == 2
    assert longest_wait([0, 1, 2], 0) == 2

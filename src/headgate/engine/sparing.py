"""What an iteration may take that begins now, by how all queries with a deadline stand at that moment."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from headgate.control.deadlines.feedback import Estimate, Plan
from headgate.control.deadlines.profiles import Profile
from headgate.control.deadlines.spare import Claim, affordable
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.seen import Seen


def budget(
    unit: DeadlineUnit,
    plan: Plan,
    planned: Mapping[str, Estimate],
    profile: Profile,
    seen: Seen,
    share: float,
    now: float,
) -> float:
    """The seconds for an iteration of that unit; those of the plan where it is not known how it stands."""
    mine = plan.allowances[unit.name].budget
    claims = dict(_claims(plan, planned, profile, seen, share, now))
    if unit.name not in claims or not claims[unit.name].waiting:
        return mine
    place, earliest = list(claims).index(unit.name), profile.order == "edf"
    found = affordable(now, list(claims.values()), place, profile.margin, earliest=earliest)
    # Of a stream that is read from far behind many windows end at once. Nobody gives for them what has been planned.
    return found if all(each.by_clock for each in list(seen.units)) else max(mine, found)


def _claims(
    plan: Plan, planned: Mapping[str, Estimate], profile: Profile, seen: Seen, share: float, now: float
) -> Iterator[tuple[str, Claim]]:
    """What all may ask for, in the order of priority."""
    units = {unit.name: unit for unit in list(seen.units)}
    for name in plan.order:
        allowance, unit = plan.allowances.get(name), units.get(name)
        if allowance is None:
            continue
        # Whoever was taken in and has not come yet may be released as soon as it comes.
        claim = Claim.of(planned[name], allowance.budget, profile.floor, now)
        # What begins late has little time, of which the margin is nothing: runs vary by more.
        claim = replace(claim, reserve=profile.margin * planned[name].due)
        if unit is None:
            yield name, claim
        elif standing := unit.standing(now):
            left = standing.left / seen.part(unit, share)
            yield (
                name,
                replace(claim, next=standing.next, waiting=standing.waiting, left=left, first=standing.first),
            )

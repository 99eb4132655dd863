"""Tasks of constant cost on the processor: what the analysis speaks of, run and looked at."""

import math
from collections.abc import Sequence
from heapq import heapify, heapreplace

from headgate.control.deadlines.task import Task
from headgate.sim.deadlines.processor import EPS, Job, Processor


def late(
    tasks: Sequence[Task], horizon: float, phases: Sequence[float] = (), *, earliest: bool = False
) -> list[tuple[int, int]]:
    """The iterations that are not done when they are due, by number of the task and of the iteration, from 0.

    The first task goes before the second and so on, or with `earliest` the nearest deadline before the others.
    `phases` are the first releases, all at 0 where none are given. Deadlines after the horizon do not count, and what
    costs nothing is done at its release.
    """
    processor, jobs = Processor(), []
    releases = [(phases[i] if phases else 0.0, i, 0) for i in range(len(tasks))]
    heapify(releases)
    while True:
        ends, now = processor.ends(), releases[0][0]
        if ends < now - EPS:
            now = ends
        if now > horizon + EPS:
            break
        processor.advance(now)
        while releases[0][0] <= now + EPS:
            at, i, k = releases[0]
            task = tasks[i]
            due = at + float(task.deadline)
            job = Job((due if earliest else 0.0, i, k), at, due, float(task.cost), float(task.piece))
            jobs.append(job)
            if job.cost > EPS:
                processor.add(job)
            else:
                job.finish = at
            start = phases[i] if phases else 0.0
            heapreplace(releases, (start + (k + 1) * float(task.period), i, k + 1))
        processor.dispatch()
    return [
        (job.key[1], job.key[2])
        for job in jobs
        if job.due <= horizon + EPS and (job.finish if job.finish is not None else math.inf) > job.due + EPS
    ]

"""Jobs of several ranks that meet in collectives, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.job.builder import Trace

Lateness = Callable[[int, int], float]


def never(rank: int, step: int) -> float:
    """Nobody is late."""
    return 0.0


def job(
    ranks: int = 2,
    steps: int = 8,
    *,
    work: float = 3,
    wire: float = 2,
    late: Lateness = never,
    busy_with: str = "augment.py(3): crop",
    clocks: Mapping[int, float] | None = None,
    world: int | None = None,
    operation: str = "allreduce",
    told: bool = True,
    leaves: Lateness = never,
    begins: Mapping[int, int] | None = None,
    given: int | None = None,
) -> list[Trace]:
    """Each step every rank computes `work` ms, is `late` (rank, step) ms in Python, and meets the others.

    The wire takes `wire` ms from the moment the last rank came; a rank `leaves` some ms after that. The rank's clock is
    `clocks` ms ahead, its trace `begins` some steps later, and only the first `given` ranks are recorded.
    """
    clocks, begins, world = clocks or {}, begins or {}, world or ranks
    traces = [Trace(rank=i, world=world, source=f"rank{i}.json", clock_ms=clocks.get(i, 0)) for i in range(ranks)]
    at = 0.0
    for step in range(steps):
        came = [at + work + 0.1 + late(rank, step) for rank in range(ranks)]
        over = max(came) + wire
        for rank, trace in enumerate(traces):
            if step < begins.get(rank, 0):
                continue
            trace.launch(at, work)
            if late(rank, step):
                trace.python(busy_with, at + work + 0.05, late(rank, step))
            trace.op("c10d::allreduce_", came[rank] - 0.03, 0.02)
            until = over + leaves(rank, step)
            trace.collective(came[rank], until - came[rank], operation, size=world, told=told)
            trace.sync(came[rank], until - came[rank])
        at = over + 0.1 + max(leaves(rank, step) for rank in range(ranks))
    return traces[:given]


def only(who: int, ms: float) -> Lateness:
    """One rank is late in every step."""
    return lambda rank, step: ms if rank == who else 0.0

"""What must be said beside the numbers of one rank: what was not seen, and how sure the rest is."""

from __future__ import annotations

from collections.abc import Mapping

from longpole import units
from longpole.job.attribution import Attribution, names_device
from longpole.timeline.columns import Kind
from longpole.timeline.intervals import Spans, intersect, join


def notes_of(attribution: Attribution, charged: Mapping[str, Spans]) -> list[str]:
    """What must be said beside the numbers of one rank."""
    timeline, window = attribution.timeline, attribution.window_ns
    notes = list(timeline.notes)
    if "network" in charged and charged["network"].total:
        ranks = f" of {timeline.world_size}" if timeline.world_size else ""
        one = "one rank" + ranks if timeline.rank is None else f"rank {timeline.rank}{ranks}"
        notes.append(
            f"collectives of {one} that no other trace answers can't be split into the wire and waiting for a late rank"
        )
    if not attribution.host.feeding.any():
        notes.append("the trace has no host events: what the device waited for was not recorded")
    if intersect(attribution.device.hidden, attribution.spans("unknown")).total > 0.01 * window:
        notes.append(
            "work was launched whose kernels the trace does not show; the device may have been busy where it looks idle"
        )
    stuck = intersect(join([attribution.host.syncing, attribution.host.copying]), attribution.spans("unknown")).total
    if stuck > 0.01 * window:
        notes.append(
            f"the host waits {units.duration(stuck)} for the device while nothing that was recorded runs on it: "
            "the kernels of a graph replay, or another process's work, are not in the trace"
        )
    unseen = attribution.spans("unknown").total
    if unseen > 0.05 * window and len(attribution.device.busy.start):
        notes.append(
            f"{units.percent(unseen / window)} of the window is unknown: nothing that was recorded says what the "
            "device did or waited for"
        )
    silent = attribution.spans("serial").total
    if silent > 0.1 * window and not len(timeline.rows(Kind.PYTHON)):
        notes.append(
            "serial is read from silence: no operator or call of the feeding threads for over a millisecond; a trace "
            "without stacks can't tell computing from waiting or saving"
        )
    if attribution.spans("gpu.compute").total > 0.5 * window:
        notes.append("gpu.compute is all kernels: a trace without bytes or counters can't tell arithmetic from memory")
    if attribution.saves.inferred and attribution.spans("checkpoint").total > 0.01 * window:
        notes.append(
            "checkpoint is inferred from runs of copies to the host with no kernel launched between; "
            "offloading and evaluating on the CPU would look alike"
        )
    if not len(attribution.device.busy.start) and not len(timeline.rows(Kind.CALL)):
        if names_device(timeline):
            notes.append("a GPU is named but none of its work was recorded: profile with CUDA activities")
        else:
            notes.append("no device appears in the trace: judged as a CPU job")
    return notes

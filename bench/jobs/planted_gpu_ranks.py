"""Two-rank jobs with one planted bottleneck each, and the same without it, measured bare and traced.

python bench/jobs/planted_gpu_ranks.py -o DIR [--only NAMES] [--device cpu]: prints one JSON line a job and form.
It starts both ranks itself; a straggler's truth names what the late rank was doing after "<-".
"""

import sys

import rank_jobs as ranks
from harness import Job, main

WIRE, LATE = "network.collective", "network.imbalance"
JOBS = [
    Job("gather_big", ranks.gather_big, WIRE, timeout=45),
    Job("reduce_overlapped", ranks.reduce_overlapped, "gpu.compute", timeout=45),
    Job("sharded_by_hand", ranks.sharded_by_hand, WIRE, ("network.imbalance",), sync="step", timeout=45),
    Job("late_input", ranks.late_input, f"{LATE}<-input", ("input",), timeout=45),
    Job("late_compute", ranks.late_compute, f"{LATE}<-gpu.compute", ("gpu.compute",), sync="step", timeout=45),
    Job("late_by_turns", ranks.late_by_turns, f"{LATE}<-serial", ("serial",), sync="step", timeout=45),
    Job("late_checkpoint", ranks.late_checkpoint, f"{LATE}<-checkpoint", ("checkpoint",), count=15, timeout=45),
    Job("ddp_compute", ranks.ddp_compute, "gpu.compute", timeout=45),
    Job("ddp_wire", ranks.ddp_wire, WIRE, timeout=45),
    Job("groups", ranks.groups, WIRE, timeout=45),
    Job("pipeline", ranks.pipeline, LATE, ("gpu.compute", "network"), timeout=45),
    Job("fully_sharded", ranks.fully_sharded, WIRE, sync="step", count=10, timeout=45),
]

if __name__ == "__main__":
    sys.exit(main(JOBS, 2, "ranks"))

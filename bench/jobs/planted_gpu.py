"""One-GPU jobs with one planted bottleneck each, and the same without it, measured bare and traced.

python bench/jobs/planted_gpu.py -o DIR [--only NAMES] [--device cpu]: prints one JSON line a job and form.
"""

import dataclasses
import sys

import gpu_jobs as host
import gpu_kernel_jobs as gpu
from harness import Job, main

PLAIN = [
    Job("input_main", host.input_main, "input", ("input.cpu",)),
    Job("input_workers", host.input_workers, "input", ("input.disk", "input.cpu"), sync="step"),
    Job("input_queue", host.input_queue, "input", ("wait", "serial")),
    Job("serial_python", host.serial_python, "serial", sync="step"),
    Job("serial_hidden", host.serial_hidden, "gpu.compute"),
    Job("sleeping", host.sleeping, "wait", ("serial",)),
    Job("cpu_op", host.cpu_op, "serial", sync="step"),
    Job("eval_numpy", host.eval_numpy, "serial", ("copy",)),
    Job("copy_small", host.copy_small, "copy", ("launch",)),
    Job("copy_back", host.copy_back, "copy", sync="step"),
    Job("copy_pinned", host.copy_pinned, "copy", sync="step"),
    Job("copy_overlapped", host.copy_overlapped, "gpu.compute"),
    Job("cpu_adam", host.cpu_adam, "serial", ("copy",)),
    Job("checkpoint_fourth", host.checkpoint_fourth, "checkpoint", count=16),
    Job("checkpoint_memory", host.checkpoint_memory, "checkpoint", sync="step"),
    Job("item_per_layer", gpu.item_per_layer, "launch"),
    Job("item_harmless", gpu.item_harmless, "gpu.compute"),
    Job("memory_bound", gpu.memory_bound, "gpu.memory", ("gpu.compute",)),
    Job("matmul_loop", gpu.matmul_loop, "gpu.compute"),
    Job("tie_mix", gpu.tie_mix, "tie", ("gpu.compute", "launch"), sync="step", count=12),
    Job("alloc_each_step", gpu.alloc_each_step, "alloc"),
    Job("adam_unfused", gpu.adam_unfused, "launch", count=12),
    Job("graph_step", gpu.graph_step, "gpu.compute"),
    Job("two_streams", gpu.two_streams, "gpu.compute", sync="step"),
    Job("decode", gpu.decode, "launch", count=12),
    Job("healthy", gpu.healthy, "gpu.compute", ("gpu.memory",), fixable=False),
    Job("cold_start", host.cold_start, "startup", count=5, startup=True),
    Job("recompile_aot", gpu.recompile_aot, "compile", ("serial",), count=8, bare=8, warm=2, timeout=90),
    Job("recompile_inductor", gpu.recompile_inductor, "compile", ("serial",), count=3, bare=3, warm=1, timeout=120),
]
NAMED = {job.name: job for job in PLAIN}


def again(name: str, suffix: str, **changes: object) -> Job:
    """Return a job of the list, recorded another way."""
    return dataclasses.replace(NAMED[name], name=f"{name}_{suffix}", fixable=False, **changes)


RECORDED_OTHERWISE = [
    again("serial_python", "one_step", count=1),
    again("matmul_loop", "one_step", count=1),
    again("serial_python", "schedule", schedule=True),
    again("matmul_loop", "schedule", schedule=True),
    again("input_main", "schedule", schedule=True),
    again("serial_python", "stack", stack=True),
    again("input_workers", "stack", stack=True),
    again("decode", "stack", stack=True, count=8),
]
JOBS = [j for j in PLAIN if j.truth != "compile"] + RECORDED_OTHERWISE + [j for j in PLAIN if j.truth == "compile"]

if __name__ == "__main__":
    sys.exit(main(JOBS, 1, "gpu"))

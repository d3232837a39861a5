"""What every cause of a job means, how longpole knows it and how it is usually fixed; and the words of the evidence.

These are the texts behind `longpole explain`. They hold no numbers of a run: what a run measured is in its verdict.
"""

from __future__ import annotations

import msgspec

from longpole.verdict import Cause


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A word of the evidence, as `longpole explain` tells it."""

    word: str
    title: str
    meaning: str
    measured: str


#: In the order of the chain, from the queue to the last wait; `unknown` is last.
CAUSES: tuple[Cause, ...] = (
    Cause(
        word="queue",
        title="waiting for the scheduler",
        charged_when="The job was submitted and had not started: no node, no quota, a lower priority, a dependency.",
        measured="From the scheduler's own accounting (the submit and start times of sacct). A trace of the job "
        "itself begins too late to hold it.",
        fixed="Ask for what is free: a shorter time limit lets a backfilling scheduler start the job earlier, and so "
        "do fewer nodes or another partition. Split a long job at its checkpoints. If the queue is always long, the "
        "answer is capacity or quota, not code.",
    ),
    Cause(
        word="startup",
        title="starting up",
        charged_when="From the start of the process to the first step: interpreter, imports, the CUDA context, "
        "building the environment, loading weights; and one-off calls of the device's API (a first launch that loads "
        "a module, a first library handle).",
        measured="Device API calls of over 1 ms that come before any device work, or that are rare and slow among "
        "calls of their own name. A cudaFree that is slow every time is `alloc`, not start-up.",
        fixed="Load only the kernels that are used (CUDA_MODULE_LOADING=LAZY, the default since CUDA 12.2). Import "
        "less: `python -X importtime` shows what. Keep the environment and the weights on a local disk rather than on "
        "a network file system. Keep the process alive between jobs. In a trace, skip it: profile after a few warm-up "
        "steps.",
    ),
    Cause(
        word="compile",
        title="compiling kernels",
        charged_when="The host compiles while the device is idle: torch.compile, Inductor, Triton, nvrtc, XLA, a C++ "
        "extension, or the driver loads and links code.",
        measured="Frames and ranges of the compilers by name (torch._dynamo and _inductor, Triton's compile, nvrtc) "
        "and module and library loads. Running compiled code is not compiling and is never charged here.",
        fixed="If it happens once, take it out of the measurement or keep its result: TORCHINDUCTOR_CACHE_DIR "
        "and TRITON_CACHE_DIR on a disk that outlives the job. If it comes back in the middle of a run, something "
        "keeps changing: TORCH_LOGS=recompiles names it; mark shapes as dynamic, pad or bucket them.",
    ),
    Cause(
        word="input",
        title="waiting for the next batch",
        charged_when="The device is idle and the step waits for its next batch, and the trace does not show what the "
        "loader was doing meanwhile.",
        measured="The loader's ranges and frames on the main thread (enumerate(DataLoader), __next__, "
        "IteratorGetNext, DALI), less the time in which the device was at work underneath.",
        fixed="First: num_workers up to the number of cores this rank owns, prefetch_factor 4, persistent_workers and "
        "pin_memory on. Then find what the workers wait for: with one worker that is busy all the time it is CPU "
        "(`input.cpu`), otherwise disk, files or network. Last: decode and augment ahead of time, or on the GPU.",
    ),
    Cause(
        word="input.cpu",
        title="waiting for the next batch: its workers compute",
        charged_when="The device is idle, the step waits for its next batch, and the loader's workers are busy on the "
        "CPU (decoding, augmenting, tokenising, collating). A profiler trace alone does not show the workers: there "
        "it is `input`.",
        measured="The wait on the main thread, beside samples of the workers that show them running rather than "
        "blocked, or loader work recorded on the main thread itself (num_workers=0).",
        fixed="More workers, up to the cores this rank owns (a container's quota counts, not the machine's cores). "
        "Give each worker one thread: torch.set_num_threads(1), OMP_NUM_THREADS=1. A faster decoder (libjpeg-turbo, "
        "torchcodec), batched transforms instead of one call a sample. Prepare the data once and store the result. "
        "Decode on the GPU (nvJPEG, DALI).",
    ),
    Cause(
        word="input.disk",
        title="waiting for the next batch: its bytes come from a disk",
        charged_when="The device is idle, the step waits for its next batch, and the loader's workers are blocked in "
        "reads of regular files. A profiler trace alone does not show the workers: there it is `input`.",
        measured="The wait on the main thread, beside workers in uninterruptible sleep or in read on a regular file, "
        "and the bytes that they read.",
        fixed="More workers hide latency, though not bandwidth. Copy the data set to a local NVMe disk before "
        "training. Read in large sequential pieces (shards of 100 MB or more) rather than at random. Store it "
        "smaller: compressed, or in the resolution that is used. Leave memory free for the page cache.",
    ),
    Cause(
        word="input.metadata",
        title="waiting for the next batch: files are opened and looked up",
        charged_when="The device is idle, the step waits for its next batch, and the loader's workers are in open, "
        "stat and readdir, or read files so small that opening them is most of the work.",
        measured="The wait on the main thread, beside workers blocked in those calls.",
        fixed="Pack small files into shards (WebDataset tar, Parquet, MDS, an LMDB): this is the usual cure. List the "
        "data set once and keep the list. Do not check os.path.exists for every sample. Move off a network file "
        "system, whose every open is a round trip.",
    ),
    Cause(
        word="input.network",
        title="waiting for the next batch: it comes over a socket",
        charged_when="The device is idle, the step waits for its next batch, and the loader's workers wait on a "
        "socket: an object store, a data service, a remote reader.",
        measured="The wait on the main thread, beside workers blocked in recv or poll on a socket.",
        fixed="More requests in flight: workers, prefetch_factor, several ranges at once. Reuse connections. Fetch "
        "large shards, not single samples. Cache them on a local disk during the first epoch. Keep the bucket in the "
        "region of the GPUs.",
    ),
    Cause(
        word="checkpoint",
        title="saving checkpoints",
        charged_when="The job saves its state and the device does nothing else: collecting it, copying it out, "
        "serialising, writing, fsync, upload.",
        measured="Ranges and frames of the savers (torch.save, distributed.checkpoint, save_pretrained, fsync), and a "
        "run of large device-to-host copies between two steps. File writes can't be seen in a PyTorch trace; "
        "off-loading or evaluation on the CPU can look alike.",
        fixed="Save less often: the interval should match what a failure costs. Save asynchronously "
        "(torch.distributed.checkpoint.async_save): only the copy out stays. Write to a local disk and upload in the "
        "background. Save sharded, every rank its own part, not everything through rank 0.",
    ),
    Cause(
        word="disk",
        title="the main thread reads or writes files",
        charged_when="The device is idle and the main thread itself is blocked in reads or writes of files, outside "
        "the loader and outside a checkpoint.",
        measured="Python frames of read and write on the main thread, or samples of it in those system calls.",
        fixed="Buffer it and write less often (logs, samples, metrics). Move it to a thread; file reads and writes "
        "let go of the GIL. Use a local disk for what is read or written each step.",
    ),
    Cause(
        word="metadata",
        title="the main thread opens and looks up files",
        charged_when="The device is idle and the main thread itself is in open, stat, readdir or unlink.",
        measured="Python frames of those calls on the main thread, or samples of it in those system calls.",
        fixed="Look up once and remember. Replace polling for a file with a message. Delete old checkpoints in the "
        "background. Keep small state in one file.",
    ),
    Cause(
        word="network.io",
        title="the main thread waits on a socket",
        charged_when="The device is idle and the main thread itself waits on a socket: a tracker, an object store, an "
        "HTTP call. Collectives between ranks are not meant.",
        measured="Python frames of send and recv, of HTTP clients and object-store clients on the main thread, or "
        "samples of it blocked on a socket.",
        fixed="Move logging and uploads to a thread or a process (most trackers have an offline or asynchronous "
        "mode). Send fewer, larger messages. Set a time-out: a slow service should not stop the GPUs.",
    ),
    Cause(
        word="network",
        title="exposed communication, wire and waiting not told apart",
        charged_when="A collective runs and no kernel hides it, and only this rank of several was recorded: whether "
        "the wire is slow or another rank is late can't be known from one side.",
        measured="Collective kernels (NCCL, RCCL, custom all-reduces, DeepEP) less the kernels that run beside them; "
        "on a CPU job the Gloo and MPI ranges.",
        fixed="Record every rank and give longpole all the traces: it then tells the wire (`network.collective`) from "
        "waiting for a late rank (`network.imbalance`). The two have different fixes.",
    ),
    Cause(
        word="network.collective",
        title="exposed communication on the wire",
        charged_when="A collective runs, no kernel hides it, and every rank has arrived: the bytes are on their way.",
        measured="The n-th collective of each rank side by side, the clocks aligned by their common end. What comes "
        "after the last arrival is the wire.",
        fixed="Hide it: let it overlap the backward pass (DDP's bucket_cap_mb, FSDP's backward_prefetch), and keep "
        "synchronisations that break the overlap out of the step. Send less: bf16 gradients, gradient accumulation "
        "(no_sync), shard within a node and replicate across nodes (HSDP). Check the path: NCCL_DEBUG=INFO shows "
        "whether NVLink, InfiniBand or plain sockets are used; tensor parallelism belongs inside a node.",
    ),
    Cause(
        word="network.imbalance",
        title="waiting for a late rank",
        charged_when="A collective runs, no kernel hides it, and some rank has not arrived yet. The time is charged "
        "to those that wait; the cause lies with the one that is late.",
        measured="The n-th collective of each rank side by side, the clocks aligned by their common end. The last to "
        "arrive is the straggler, and its own trace says what it was doing.",
        fixed="Fix what the straggler was doing: the evidence `straggler` names it, and its own part of the verdict "
        "has its links. If it is a different rank each time, balance the work: bucket by length, equal tokens a rank, "
        "the same number of experts. If it is always one machine, look at that host: clocks, power cap, noisy "
        "neighbours.",
    ),
    Cause(
        word="copy",
        title="copies between host and device",
        charged_when="A copy between host and device, or between devices, runs and no kernel hides it; or the host is "
        "blocked in a copy call that does not return.",
        measured="Copy-engine intervals less the kernels beside them. Direction, bytes and pageable or pinned memory "
        "are in the evidence, from the copies' own records.",
        fixed="pin_memory=True in the loader and .to(device, non_blocking=True): pageable copies run at a fraction of "
        "the link and block the host. Copy the next batch on a side stream while this one computes. Send uint8 and "
        "convert on the device. Keep on the device what is used again. Avoid .item(), .cpu() and printing tensors in "
        "the step.",
    ),
    Cause(
        word="launch",
        title="the GPU waits for the host to dispatch kernels",
        charged_when="The device is idle while the threads that feed it go from operator to operator: each kernel is "
        "shorter than the time it takes to launch the next.",
        measured="Idle device while operators and launches follow each other on the feeding threads (autograd's "
        "thread included) without a gap of 1 ms. The profiler slows dispatch itself: give `--bare-step` the time of a "
        "step without it.",
        fixed="A larger batch, if memory allows. torch.compile, with mode='reduce-overhead' to use CUDA graphs; or "
        "torch.cuda.make_graphed_callables. Fused optimisers (fused=True) and fused attention. Take synchronisations "
        "(.item(), nonzero, boolean masks) out of the step, so that the host can run ahead. A faster core also helps: "
        "dispatch is one thread.",
    ),
    Cause(
        word="serial",
        title="the GPU waits for one host thread that computes",
        charged_when="The device is idle, no kernels are being dispatched, and one host thread computes: Amdahl's "
        "serial section.",
        measured="Gaps of more than about 1 ms between operators on every feeding thread, in which nothing else was "
        "seen. With Python stacks in the trace (with_stack=True) the evidence names the function.",
        fixed="Move it out of the step: metrics, logging, post-processing on the CPU every n-th step, or in a thread "
        "or a process. Vectorise it, or run it on the device. Garbage collection in long steps: gc.freeze() and "
        "collect at a chosen moment.",
    ),
    Cause(
        word="alloc",
        title="blocked in device memory allocation",
        charged_when="The device is idle and the host is inside cudaMalloc, cudaFree, hipMalloc, hipFree, host "
        "registration or their like. A free waits for the device to become idle.",
        measured="Those calls on the feeding threads, less one-off calls at the start.",
        fixed="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation. Never torch.cuda.empty_cache() "
        "in the step. If memory is nearly full the caching allocator frees and retries: a smaller batch or activation "
        "checkpointing. Libraries that allocate on their own: a pool (cudaMallocAsync), or allocate once.",
    ),
    Cause(
        word="gpu.compute",
        title="kernels at work",
        charged_when="A kernel runs that is not a collective, and nothing shows it to be bound by device memory. The "
        "job is healthy: it runs at the pace of the part that was paid for.",
        measured="The union of the kernels on all streams. Only the time in which the host waits for the device would "
        "go with faster kernels; the rest hides dispatch that would come out instead.",
        fixed="bf16 or fp8, TF32 on (torch.set_float32_matmul_precision('high')), torch.compile, flash attention, "
        "shapes that are multiples of 64. Then the kernels themselves: a profile with Nsight Compute. Then more or "
        "faster GPUs.",
    ),
    Cause(
        word="gpu.memory",
        title="kernels at work, bound by device memory",
        charged_when="A kernel runs and its bytes come near to the rate of the device's memory. The job is healthy, "
        "and more FLOP/s would not help.",
        measured="Bytes moved or DRAM counters against the part's limit. A kernel's name is never evidence; without "
        "bytes or counters the time is charged to `gpu.compute`.",
        fixed="Fuse element-wise work (torch.compile, fused norms and optimisers). Move fewer bytes: bf16 "
        "activations, quantised weights or KV cache. Larger batches for decoding, so that weights are read once for "
        "more tokens. Channels-last for convolutions.",
    ),
    Cause(
        word="cpu",
        title="a CPU job at work",
        charged_when="The job uses no device and several cores compute.",
        measured="Operators and functions on the threads of a job without device work, or samples that show its cores "
        "busy.",
        fixed="A profiler of functions (py-spy, perf) says where; a vectorised library says how. Check the number of "
        "threads against the cores of the container: too many costs as much as too few.",
    ),
    Cause(
        word="memory",
        title="CPU code that waits on memory",
        charged_when="CPU code runs and most of its time goes into waiting for DRAM.",
        measured="Native samples or hardware counters. Without them the time is charged to `cpu`.",
        fixed="Touch less: smaller types, blocking, fewer passes over the same arrays. Bind processes to the memory "
        "they use (numactl --cpunodebind --membind). Spread over more sockets rather than more cores of one.",
    ),
    Cause(
        word="wait",
        title="waiting for a lock, a sleep or another process",
        charged_when="The device is idle and the main thread waits: a lock, the GIL, a sleep, a queue, a subprocess. "
        "Where what it waits for was recorded, the time is charged to that instead.",
        measured="Python frames of acquire, wait, join, sleep, poll, queue.get and subprocess.wait on the feeding "
        "threads.",
        fixed="Follow the wait: the frame in the evidence says for whom. A sleep in a polling loop becomes a "
        "condition. A thread that holds the GIL (a logger, a prefetcher in pure Python) becomes a process.",
    ),
    Cause(
        word="profiler",
        title="the measuring itself",
        charged_when="The profiler asks for buffers, flushes them or instruments code while the device is idle. It "
        "never binds, and it is taken out before ceilings are computed.",
        measured="The recorder's own overhead events.",
        fixed="Record fewer steps; leave out shapes, stacks and memory where they are not needed. Give `--bare-step` "
        "the time of a step without the profiler.",
    ),
    Cause(
        word="unknown",
        title="not seen",
        charged_when="None of the other causes was seen: no event covers the time, or what ran was not recorded "
        "(kernels inside a graph launch). Nobody invents a cause for it, and it can't bind.",
        measured="What is left of the window when every other cause has been charged.",
        fixed="Record more: CPU and CUDA activities together, with_stack=True for Python functions, every rank, and "
        "the kernels of graphs.",
    ),
)

#: The words of the evidence a job's verdict may hold.
EVIDENCE: tuple[Finding, ...] = (
    Finding(
        word="trace_coverage",
        title="how much of the window was recorded",
        meaning="The share of the window in which the trace has any event at all. What is missing is time nobody saw.",
        measured="The union of all recorded intervals against the window. The window is the recorder's own span, "
        "never the span of the device's events.",
    ),
    Finding(
        word="steps",
        title="the time of a step",
        meaning="The mean is what the job costs; the median is what a usual step costs. A mean far above the median "
        "says that a few steps pay for something: a checkpoint, an evaluation, a compilation.",
        measured="Marked steps (ProfilerStep, step ranges); where there are none, a period that repeats in the host's "
        "calls.",
    ),
    Finding(
        word="worst_step",
        title="the longest step",
        meaning="Which step took longest, how long, and what it was charged with. One of these every n steps is a "
        "rhythm to look for.",
        measured="The same marks as `steps`.",
    ),
    Finding(
        word="warm_up",
        title="the first steps",
        meaning="Time that comes once, before the job has reached its pace: allocation, algorithm choice, "
        "compilation. It is part of the window, and a short trace overstates it.",
        measured="The first steps against the median of the others.",
    ),
    Finding(
        word="kernels",
        title="how busy the GPU is with kernels",
        meaning="The time in which at least one kernel ran that is not a collective, and the kernels that took most "
        "of it. Busy is not the same as efficient: a kernel can run all the time far below the part's limit.",
        measured="The union of kernel intervals over all streams of the device.",
    ),
    Finding(
        word="exposed_collectives",
        title="communication that nothing hides",
        meaning="The time in which a collective ran and no kernel ran beside it. Only this part can be won back.",
        measured="Collective kernels less the union of all other kernels.",
    ),
    Finding(
        word="hidden_collectives",
        title="communication behind kernels",
        meaning="Collectives that run while kernels run. They cost nothing on the wall-clock, apart from the device "
        "memory rate and multiprocessors that they take from the kernels.",
        measured="Collective kernels at the same time as other kernels.",
    ),
    Finding(
        word="collective_rate",
        title="the rate of large collectives",
        meaning="Bytes that a rank's links must carry for the collectives of a megabyte and more, over the time they "
        "took: what NCCL calls bus bandwidth. Far under what the links promise, they are not what bounds it: topology, "
        "the protocol, few channels, or a network between hosts does.",
        measured="Elements and type of each collective from its kernel's record, 2(n-1)/n of them for an all-reduce of "
        "n ranks; the time from the last rank's arrival on where all ranks were given.",
    ),
    Finding(
        word="straggler",
        title="the rank that comes late",
        meaning="Which rank arrives last at the collectives, how often and how late, and what it was doing while the "
        "others waited. The fix lies there, not in the network.",
        measured="The n-th collective of each rank side by side on one clock; the last start is the late rank, and "
        "its own trace says what it was charged with in that time.",
    ),
    Finding(
        word="clock_alignment",
        title="how well the ranks' clocks agree",
        meaning="Ranks record on their own clocks. One collective ends everywhere at nearly the same moment, which "
        "gives the offset; what is left over is the error of every statement about who is late.",
        measured="The spread of the ends of the same collective after alignment.",
    ),
    Finding(
        word="pageable_copies",
        title="copies from or to ordinary memory",
        meaning="The driver stages them through a small pinned buffer: they run at a fraction of the link's rate and "
        "block the host. The limit shown is what pinned memory reaches on the same link.",
        measured="Copies whose record says Pageable: their bytes over their time.",
    ),
    Finding(
        word="pinned_copies",
        title="copies from or to page-locked memory",
        meaning="They run at the rate of the link and can go on beside kernels. Slow ones point at small copies, a "
        "narrow link or a busy root complex.",
        measured="Copies whose record says Pinned: their bytes over their time.",
    ),
    Finding(
        word="device_copies",
        title="copies within one device",
        meaning="Copies from device memory to device memory: contiguous(), cat, layout changes. They use the device's "
        "memory, not the link.",
        measured="Copies whose record says Device to Device on one device: their bytes over their time.",
    ),
    Finding(
        word="peer_copies",
        title="copies between devices",
        meaning="Copies from one GPU to another, over NVLink or PCIe; without peer access they go through the host "
        "and are many times slower.",
        measured="Copies whose record says Peer to Peer: their bytes over their time.",
    ),
    Finding(
        word="small_copies",
        title="many small copies",
        meaning="Copies between host and device of less than a megabyte, many of them for each launch. The link is not "
        "what they wait for: each costs the host a call of 10 us or more, and a round trip where memory is pageable.",
        measured="Copies by direction and bytes, counted against the launches of the feeding threads.",
    ),
    Finding(
        word="loader_wait",
        title="waits for the next batch",
        meaning="How long the main thread waited for batches, how often and how long at most. Waits that are always "
        "long say too little throughput; rare long ones say one slow sample, one slow shard, or workers that start "
        "anew each epoch.",
        measured="The loader's ranges on the main thread; only the part with an idle device is charged to `input`.",
    ),
    Finding(
        word="checkpoint_saves",
        title="saves of the state",
        meaning="How many saves there were, how long each stopped the job, and the bytes copied out.",
        measured="The savers' ranges and frames, and runs of large device-to-host copies between two steps.",
    ),
    Finding(
        word="dispatch",
        title="launching kernels",
        meaning="How many kernels the host launches and how long each takes it. Eager PyTorch needs 5 to 10 us a "
        "kernel on a good core; kernels shorter than that leave the device idle.",
        measured="Launch calls and the runs of operators around them, over all threads that feed the device. The "
        "profiler itself makes this slower.",
    ),
    Finding(
        word="synchronisation",
        title="the host waits while the GPU has nothing to do",
        meaning="The host is blocked in a synchronisation after the device has already finished, and the device idles "
        "until the host launches again. A wait for a busy device costs nothing and is not counted.",
        measured="Synchronising calls less the time in which the device was at work.",
    ),
    Finding(
        word="allocation",
        title="allocating and freeing device memory",
        meaning="How many allocations and frees went to the driver and how long they blocked the host. A steady step "
        "should have none: the caching allocator serves it.",
        measured="cudaMalloc, cudaFree, hipMalloc, hipFree and their like on the threads that feed the device.",
    ),
    Finding(
        word="compilation",
        title="compilers at work",
        meaning="When and how long compilers ran. In the first steps it is expected; later it is a recompilation.",
        measured="Frames and ranges of the compilers by name, and module loads.",
    ),
    Finding(
        word="start_up",
        title="before the first step",
        meaning="What happened once before the job reached its first step, and how long it took.",
        measured="One-off device API calls, and the time before the first device work.",
    ),
    Finding(
        word="serial_sections",
        title="where one host thread keeps the GPU waiting",
        meaning="The Python functions, or the gaps between operators, in which the device was idle and nothing was "
        "being dispatched, the longest first.",
        measured="Gaps of more than about 1 ms on every feeding thread; the function is the Python frame that covers "
        "the gap, where the trace has stacks.",
    ),
    Finding(
        word="graph_launches",
        title="kernels hidden in graph launches",
        meaning="A graph was launched and the kernels inside it were not recorded. The time until the device is next "
        "heard of counts as `unknown`: an idle GPU would be a guess.",
        measured="Graph launches (cudaGraphLaunch, hipGraphLaunch) without any device work of the same correlation.",
    ),
    Finding(
        word="profiler_overhead",
        title="what the measuring cost",
        meaning="Time that would not exist without the profiler. Ceilings leave it out; the slow-down of dispatch "
        "can't be read from a trace and is corrected by `--bare-step`.",
        measured="The recorder's own overhead events, and the bare step time where it was given.",
    ),
    Finding(
        word="set_aside",
        title="events that were not used",
        meaning="What the file held but could not be trusted: negative or impossible durations, events without a "
        "time, broken records. Much of it makes the verdict weaker.",
        measured="Counted by the reader, by reason.",
    ),
    Finding(
        word="missing_ranks",
        title="ranks that were not given",
        meaning="The job has more ranks than traces were read. Waiting for a rank that was not recorded can't be told "
        "from a slow wire.",
        measured="The world size in the traces, or the size of the collectives' groups, against the ranks that were "
        "read.",
    ),
    Finding(
        word="host_threads",
        title="the threads that feed the device",
        meaning="Which threads handed work to the device, and how busy each was. A single one at 100 % is a limit of "
        "its own.",
        measured="Threads that make a noticeable share of the launches; operators and calls on each.",
    ),
)

#: The words of the page itself.
GLOSSARY: tuple[Finding, ...] = (
    Finding(
        word="binding",
        title="the link that sets the pace",
        meaning="The cause whose removal gives most. None is named where the first two are too close to call, or where "
        "more was not seen than any could give.",
        measured="The cause with the largest removable time; `profiler` and `unknown` never bind.",
    ),
    Finding(
        word="share",
        title="what a cause was charged with",
        meaning="A part of the window. Each nanosecond is charged to exactly one cause: shares add up to the window.",
        measured="The first rule that covers a nanosecond is charged: device work, then what the host was doing.",
    ),
    Finding(
        word="removable",
        title="what would go with a cause",
        meaning="What the window would lose if the cause took no time and all else stayed as it is. It is at most the "
        "share: time in which something else of the job was at work underneath does not go.",
        measured="For device work, the time the host waited for it; for the host's, the time the device was idle.",
    ),
    Finding(
        word="ceiling",
        title="the most that removing a link can give",
        meaning="Work / (work - removable): the speed-up if the link took no time, a range where the trace carries no "
        "single number. Work is the window less the profiler's own share.",
        measured="From the removable time and its bounds; above 5x a trace can't carry the number.",
    ),
    Finding(
        word="cap",
        title="the most that all else can give",
        meaning="Work / share: Amdahl's other side. A link with 5 % of the work caps every other speed-up at 20x.",
        measured="From what the cause was charged with.",
    ),
    Finding(
        word="window",
        title="the time that was judged",
        meaning="From the first to the last event of any thread or device, or the marked steps and what they queued.",
        measured="The recorder's own span is longer; `trace_coverage` says how much of it was judged.",
    ),
    Finding(
        word="rank-time",
        title="the time of all ranks together",
        meaning="The window of a job of several ranks is the sum of theirs: two ranks for a second are two seconds.",
        measured="The sum of the ranks' windows.",
    ),
)

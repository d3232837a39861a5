"""What names mean: which kernels talk, which API calls block, which Python frames wait.

The names are CUDA's, HIP's, NCCL's, PyTorch's and Python's own, not a trace format's. Each pattern is matched once
a distinct name, never once a row, and compiled when it is first used. A name is only used where it says what the code does (`cudaFree`); it is never
evidence of how well it does it (a kernel called `gemm` may still be bound by memory).
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longpole.timeline.columns import I64, Kind, Timeline


class Call(enum.IntEnum):
    """What a call of the device's API does to the thread that makes it."""

    OTHER = 0
    LAUNCH = 1  #: hands a kernel to the device
    GRAPH = 2  #: hands a graph of kernels to the device
    SYNC = 3  #: waits for the device
    COPY = 4  #: starts a copy; blocks where the memory is pageable or the call is synchronous
    ALLOC = 5  #: allocates or frees memory through the driver
    LOAD = 6  #: loads or links code


_CALLS = (
    (Call.GRAPH, r"^(cuda|cu|hip)GraphLaunch"),
    (
        Call.LAUNCH,
        r"^(cuda|cu|hip)(Ext)?(Module|Lib)?Launch|^hipHccModuleLaunch|^runFunction|[Ll]aunchKernel",
    ),
    (Call.SYNC, r"^(cuda|cu|hip)\w*(Synchronize|WaitEvent)|^synchronize$|Synchronize"),
    (Call.COPY, r"^(cuda|cu|hip)Memcpy|^copy(In|Out)?$|[mM]emcpy"),
    (
        Call.ALLOC,
        r"^(cuda|cu|hip)(Ext)?(Malloc|Free|MemAlloc|MemFree|HostAlloc|HostRegister|HostUnregister|MemCreate|MemMap|MemUnmap"
        r"|MemRelease|MemSetAccess|MemAddress|MemPool|HostMalloc|HostFree)",
    ),
    (
        Call.LOAD,
        r"^(cuda|cu|hip)(ModuleLoad|LibraryLoad|LinkAdd|LinkCreate|LinkComplete|FatBinary|KernelGetFunction)|^nvrtc",
    ),
)
#: An event wait is queued on a stream: it returns at once and blocks no thread.
_NOT_BLOCKING = r"StreamWaitEvent|EventQuery|StreamQuery"

#: Kernels that talk to other ranks: NCCL and RCCL of any age, custom all-reduces of the inference servers, DeepEP and
#: NVSHMEM.
COLLECTIVE = (
    r"(?i)^_?nccl|ncclKernel|ncclDev|\brccl|^msccl|mscclpp|oneccl|all_?reduce_(one|two)_?shot"
    r"|(one|two)_shot_all_?reduce"
    r"|cross_device_reduce|multimem_all|allreduce_fusion|lamport|quickreduce|quick_?reduce::|userbuffers"
    r"|^deep_?ep\b|deep_?ep::"
    r"|(intranode|internode|internode_ll)::(dispatch|combine|notify|cached_notify|get_dispatch)|nvshmem|rocshmem"
    r"|all_?reduce_?kernel|all_?gather_?kernel|reduce_?scatter_?kernel|symm_?mem|fast_all_?reduce|custom_all_?reduce"
)
#: Host-side ranges of collectives that run on GPUs, and of those that run on the CPU.
DEVICE_COLLECTIVE = r"(?i)^(nccl|rccl):"
HOST_BACKEND = r"(?i)^(gloo|mpi|ucc):"
HOST_COLLECTIVE = r"(?i)^(gloo|mpi|ucc):|^c10d::(?!.*barrier_wait)|^ProcessGroup(Gloo|MPI|UCC)"
#: What the device library reports as overhead and is the program's own: its code being loaded on first use.
LOADING = r"Lazy Function Loading|Module Loading"
#: Frames in which the profiler starts, stops and writes.
PROFILER = r"torch/(autograd/)?profiler(/profiler)?\.py\(\d+\): "
#: Ranges and frames in which a step waits for its next batch.
LOADER = (
    r"(?i)^enumerate\(DataLoader\)|DataLoader.*__next__"
    r"|dataloader\.py\(\d+\): (__next__|_next_data|_get_data|_try_get_data)"
    r"|train_dataloader_next|val_dataloader_next|\bfetch_next\b|^IteratorGetNext|^Iterator::|^data[ _-]?load"
    r"|^load[ _-]?(batch|data)\b"
    r"|^(get|next|fetch)[ _-]?batch\b|^#+ ?(data[ _-]?load\w*|load[ _-]?data|copy_batch_to_gpu_wait) ?#+|^dali"
)
#: Ranges and frames that save a state.
SAVER = (
    r"(?i)torch/serialization\.py\(\d+\): (save|_save|_legacy_save)|checkpoint/state_dict_saver|save_checkpoint"
    r"|^checkpoint[ _-]?sav"
    r"|^sav(e|ing)[ _-]?(checkpoint|model|state)|save_pretrained|_save_checkpoint|safetensors/\w+\.py\(\d+\): save"
    r"|async_save|^#+ ?(checkpoint|save)\w* ?#+|^checkpoint$|: save_state\b|built-in method fsync"
)
#: Ranges and frames in which code is being compiled (not those in which compiled code runs).
COMPILER = (
    r"_compile\.compile_inner|entire_frame_compile|backend_compile|inductor_compile|compile_fx\b|fx_codegen_and_compile"
    r"|GraphLowering\.(run|compile_to)|Scheduler\.codegen|async_compile\.(wait|precompile)"
    r"|aot_(joint|forward)_graph|bytecode_tracing"
    r"|create_aot_dispatcher_function|call_user_compiler|^dynamo_timed|compile_file"
    r"|triton/(compiler|backends)/.*: (compile|make_)"
    r"|torch/_dynamo/(convert_frame|symbolic_convert|output_graph)\.py\(\d+\): (_compile|compile_inner|run|compile_and_call)"
    r"|torch/_inductor/(compile_fx|codecache|async_compile|graph|scheduler)\.py"
    r"|CachingAutotuner\.(benchmark|precompile)"
    r"|xla::\w*Compile|jit_compile|^nvrtc|cpp_extension\.py\(\d+\): (load|_jit_compile)"
)
#: Frames of Python in which the thread waits for somebody else.
WAITER = (
    r"<built-in (method|function) (sleep|acquire|wait|poll|select|waitpid|join)\b"
    r"|threading\.py\(\d+\): (wait|join|_wait_for_tstate_lock)"
    r"|queue\.py\(\d+\): get|subprocess\.py\(\d+\): (wait|communicate)|concurrent/futures/_base\.py\(\d+\): result"
)
#: Frames of Python that read or write files, look files up, or talk over a socket.
FILER = r"<built-in (method|function) (read|readinto|readline|readlines|write|flush|pread|pwrite|sendfile|tofile|fromfile)\b|numpy/.*: (fromfile|load)"
LOOKER = (
    r"<built-in (method|function) (open|stat|lstat|listdir|scandir|unlink|mkdir|rename|replace)\b"
    r"|glob\.py\(\d+\)|os\.py\(\d+\): walk"
)
TALKER = (
    r"<built-in (method|function) (recv|recv_into|send|sendall|connect|do_handshake)\b|urllib3?/"
    r"|requests/(api|sessions)\.py|botocore/"
)


class Calls(NamedTuple):
    """Calls of the device's API: their rows in a timeline, ascending, and what each is (a `Call`)."""

    row: I64
    kind: NDArray[np.int8]

    def are(self, *kinds: Call) -> NDArray[np.bool_]:
        """One flag a call: whether it is one of these."""
        wanted = np.zeros(len(Call), bool)
        wanted[list(kinds)] = True
        return np.asarray(wanted[self.kind])

    def of(self, *kinds: Call) -> I64:
        """The rows of the calls that are one of these."""
        return np.asarray(self.row[self.are(*kinds)])


def calls_of(timeline: Timeline) -> Calls:
    """All calls of a timeline; each distinct name is looked at once."""
    rows = timeline.rows(Kind.CALL)
    kinds = np.zeros(len(timeline.names), np.int8)
    for i in np.flatnonzero(np.bincount(timeline.name[rows], minlength=len(kinds))).tolist():
        kinds[i] = _kind_of(timeline.names[i])
    return Calls(rows, kinds[timeline.name[rows]])


def _kind_of(name: str) -> Call:
    if re.search(_NOT_BLOCKING, name):
        return Call.OTHER
    return next((kind for kind, pattern in _CALLS if re.search(pattern, name)), Call.OTHER)


def named(timeline: Timeline, rows: I64, pattern: str) -> I64:
    """The rows, of those given, whose name matches; only the names that occur there are looked at."""
    if not len(rows):
        return rows
    used = np.zeros(len(timeline.names), bool)
    used[timeline.name[rows]] = True
    search, hit = re.compile(pattern).search, np.zeros(len(timeline.names), bool)
    for i in np.flatnonzero(used):
        hit[i] = search(timeline.names[i]) is not None
    return rows[hit[timeline.name[rows]]]


def collective_rows(timeline: Timeline, kernels: I64) -> I64:
    """Those of the kernels that talk to other ranks: by what the source says of them, or by name."""
    talks = np.zeros(len(timeline), bool)
    talks[named(timeline, kernels, COLLECTIVE)] = True
    talks[timeline.collectives.row] = True
    return kernels[talks[kernels]]

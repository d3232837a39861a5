"""What Kineto's categories and names mean: which `Kind` an event is, and the canonical names of copies.

The categories are those of Kineto's ActivityType, the names that older versions gave them, and those of the profilers
that write the same format. Each is looked up once a distinct word, never once an event.
"""

from __future__ import annotations

import re

from longpole.timeline.columns import Kind

#: The kind of an event whose category says nothing: `Kind` has no such number.
UNTOLD = 255

_CATEGORIES: dict[str, Kind] = {
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.COPY,
    "memcpy": Kind.COPY,
    "gpu_memset": Kind.FILL,
    "memset": Kind.FILL,
    "gpu_user_annotation": Kind.DEVICE_RANGE,
    "cuda_profiler_range": Kind.DEVICE_RANGE,
    "xpu_scope_profiler": Kind.DEVICE_RANGE,
    "mtia_insight": Kind.DEVICE_RANGE,
    "cuda_sync": Kind.DEVICE_SYNC,
    "cuda_event": Kind.DEVICE_SYNC,
    "xpu_sync": Kind.DEVICE_SYNC,
    "cuda_runtime": Kind.CALL,
    "cuda_driver": Kind.CALL,
    "runtime": Kind.CALL,
    "driver": Kind.CALL,
    "hip_runtime": Kind.CALL,
    "hip_driver": Kind.CALL,
    "xpu_runtime": Kind.CALL,
    "xpu_driver": Kind.CALL,
    "mtia_runtime": Kind.CALL,
    "glow_runtime": Kind.CALL,
    "hpu_op": Kind.CALL,
    "privateuse1_runtime": Kind.CALL,
    "privateuse1_driver": Kind.CALL,
    "cpu_op": Kind.OPERATOR,
    "operator": Kind.OPERATOR,
    "user_annotation": Kind.RANGE,
    "user": Kind.RANGE,
    "collective_comm": Kind.RANGE,
    "python_function": Kind.PYTHON,
    "overhead": Kind.OVERHEAD,
    "trace": Kind.SPAN,
    # MTIA writes all that runs on the device under one category: the names tell copies and events apart.
    "mtia_ccp_events": Kind.KERNEL,
}
_STEP = re.compile(r"^ProfilerStep#\d+$")
_ANNOTATION = re.compile(r"^enumerate\(DataLoader\)#|^Optimizer\.(step|zero_grad)#|^DistributedDataParallel\.|^## ")
_COPY = re.compile(r"^Memcpy [A-Z]\w{1,3} \(|^Copy(Host|Device)To(Host|Device)|^\[CUDA memcpy |^dma_request$")
_FILL = re.compile(r"^Memset( \(|$)|^FillBuffer|^\[CUDA memset")
_SYNC = re.compile(r"^event_(wait|record)$")
_CANONICAL = re.compile(r"^Memcpy (HtoD|DtoH|DtoD|HtoH|PtoP|HtoA|AtoH|AtoA|AtoD|DtoA) \(.+ -> .+\)$")
_DIRECTIONS = (
    (re.compile(r"H(ost)?[ _]?(to|2)[ _]?D|M2D|S2D", re.IGNORECASE), "Memcpy HtoD (Host -> Device)"),
    (re.compile(r"D(evice)?[ _]?(to|2)[ _]?H|D2[MS]", re.IGNORECASE), "Memcpy DtoH (Device -> Host)"),
    (
        re.compile(r"D(evice)?[ _]?(to|2)[ _]?D|P(eer)?[ _]?(to|2)[ _]?P", re.IGNORECASE),
        "Memcpy DtoD (Device -> Device)",
    ),
    (re.compile(r"H(ost)?[ _]?(to|2)[ _]?H|M2M", re.IGNORECASE), "Memcpy HtoH (Host -> Host)"),
)


def kind_of_category(category: object) -> int:
    """The `Kind` of a category, or UNTOLD."""
    return _CATEGORIES.get(category.lower(), UNTOLD) if isinstance(category, str) else UNTOLD


def kind_of_host_name(name: str, kind: int) -> int:
    """The kind of an operator or range by its name: steps, and the annotations that old versions call operators."""
    if _STEP.match(name):
        return Kind.STEP
    return Kind.RANGE if _ANNOTATION.match(name) else kind


def kind_of_device_name(name: str) -> int:
    """The kind of what a device ran by its name, for sources that call everything a kernel."""
    if _COPY.match(name):
        return Kind.COPY
    if _FILL.match(name):
        return Kind.FILL
    return Kind.DEVICE_SYNC if _SYNC.match(name) else Kind.KERNEL


def copy_name(name: str, direction: object = None) -> str:
    """A copy's canonical name; as it is where it does not say the direction."""
    if _CANONICAL.match(name):
        return name
    said = f"{name} {direction}" if isinstance(direction, str) else name
    return next((canonical for pattern, canonical in _DIRECTIONS if pattern.search(said)), name)


#: How many bytes an element of a collective has, by the names that PyTorch gives its types.
_ELEMENT_BYTES = {
    "double": 8, "long": 8, "complexfloat": 8, "complexdouble": 16, "float": 4, "int": 4, "uint32": 4, "uint64": 8,
    "half": 2, "bfloat16": 2, "short": 2, "uint16": 2, "byte": 1, "char": 1, "bool": 1, "qint8": 1, "quint8": 1,
}  # fmt: skip


def element_bytes(dtype: object) -> int | None:
    """The size of one element of a type as PyTorch calls it, None where it is not known."""
    if not isinstance(dtype, str):
        return None
    word = dtype.lower().removeprefix("c10::")
    return 1 if word.startswith("float8") else _ELEMENT_BYTES.get(word)

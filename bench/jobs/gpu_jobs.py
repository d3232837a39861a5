"""The one-GPU jobs whose plant is a host, a copy or a save: each a generator that yields once a step."""

import io
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from harness import Context
from torch import nn
from torch.utils.data import DataLoader, Dataset


def busy(ms: float) -> None:
    """Keep this thread computing for `ms` milliseconds."""
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        sum(range(1000))


def mlp(ctx: Context, width: int, depth: int) -> nn.Module:
    """Return a stack of Linear and GELU."""
    with ctx.dev:
        return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(depth)])


class Trainer:
    """A training step of about 4 ms of GPU time on an H200: 4 layers of 2048, a batch of 2048, float32."""

    def __init__(self, ctx: Context, width: int = 0, depth: int = 4, batch: int = 0) -> None:
        self.width = width or ctx.pick(2048, 64)
        self.net = mlp(ctx, self.width, depth)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-4, fused=ctx.cuda)
        self.x = torch.randn(batch or ctx.pick(2048, 32), self.width, device=ctx.dev)
        self.k = 0

    def step(self, x: torch.Tensor | None = None) -> torch.Tensor:
        """Take one step; like most loops it reads the loss every tenth time."""
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x if x is None else x).pow(2).mean()
        loss.backward()
        self.opt.step()
        self.k += 1
        if self.k % 10 == 0:
            loss.item()
        return loss.detach()


class Items(Dataset):
    """A data set whose items each cost `work(index)`."""

    def __init__(self, width: int, work: Callable[[int], None]) -> None:
        self.width, self.work = width, work

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        self.work(index)
        return torch.full((self.width,), float(index % 5))


def batches(ctx: Context, width: int, work: Callable[[int], None], workers: int) -> Iterator[torch.Tensor]:
    """Iterate over batches of 64 of `Items`."""
    keep = workers > 0
    data = Items(width, work)
    return iter(DataLoader(data, batch_size=64, num_workers=workers, pin_memory=ctx.cuda, persistent_workers=keep))


def input_main(ctx: Context) -> Iterator[None]:
    """The loader runs on the main thread and each item takes 0.15 ms."""
    t = Trainer(ctx)
    for x in batches(ctx, t.width, lambda i: None if ctx.fixed else busy(0.15), 0):
        t.step(x.to(ctx.dev, non_blocking=True))
        yield


def input_workers(ctx: Context) -> Iterator[None]:
    """Two workers read a file and sleep as slow storage would; fixed: eight workers and no sleep."""
    t = Trainer(ctx)
    path = ctx.tmp / "item"
    path.write_bytes(os.urandom(1 << 14))

    def work(index: int) -> None:
        path.read_bytes()
        if not ctx.fixed:
            time.sleep(0.0005)

    for x in batches(ctx, t.width, work, ctx.pick(8, 2) if ctx.fixed else 2):
        t.step(x.to(ctx.dev, non_blocking=True))
        yield


def input_queue(ctx: Context) -> Iterator[None]:
    """A hand-written prefetch thread that sleeps 12 ms a batch; the main thread waits in queue.get."""
    t = Trainer(ctx)
    ready: queue.Queue = queue.Queue(maxsize=2)

    def produce() -> None:
        while True:
            if not ctx.fixed:
                time.sleep(0.012)
            ready.put(torch.ones(64, t.width))

    threading.Thread(target=produce, daemon=True).start()
    while True:
        t.step(ready.get().to(ctx.dev))
        yield


def serial_python(ctx: Context) -> Iterator[None]:
    """8 ms of Python on the main thread in every step."""
    t = Trainer(ctx)
    while True:
        if not ctx.fixed:
            busy(8)
        t.step()
        yield


def serial_hidden(ctx: Context) -> Iterator[None]:
    """3 ms of Python a step, hidden under 14 ms of queued matrix products: the GPU binds."""
    t = Trainer(ctx)
    m = ctx.pick(8192, 256)
    a = torch.randn(m, m, device=ctx.dev, dtype=torch.bfloat16)
    while True:
        for _ in range(1 if ctx.fixed else 8):
            a @ a
        t.step()
        busy(3)
        yield


def sleeping(ctx: Context) -> Iterator[None]:
    """The main thread sleeps 8 ms in every step."""
    t = Trainer(ctx)
    while True:
        t.step()
        if not ctx.fixed:
            time.sleep(0.008)
        yield


def cpu_op(ctx: Context) -> Iterator[None]:
    """A long operator on CPU tensors in every step."""
    t = Trainer(ctx)
    values = torch.rand(ctx.pick(200_000, 40_000))
    while True:
        scale = float(values[:10].mean()) if ctx.fixed else float(values.sort().values[::2].mean())
        t.step(t.x * scale)
        yield


def eval_numpy(ctx: Context) -> Iterator[None]:
    """Every step takes the output to NumPy and sorts it there."""
    t = Trainer(ctx)
    while True:
        t.step()
        if not ctx.fixed:
            with torch.no_grad():
                out = t.net(t.x[:64]).cpu().numpy()
            np.sort(np.tile(out.ravel(), 8))
        yield


def copy_small(ctx: Context) -> Iterator[None]:
    """150 pageable copies of 256 KB to the device in every step; fixed: one pinned copy."""
    t = Trainer(ctx)
    n = ctx.pick(150, 20)
    parts = [torch.randn(1 << 16) for _ in range(n)]
    whole = torch.cat(parts)
    whole = whole.pin_memory() if ctx.cuda else whole
    while True:
        if ctx.fixed:
            whole.to(ctx.dev, non_blocking=True)
        else:
            _ = [p.to(ctx.dev) for p in parts]
        t.step()
        yield


def copy_back(ctx: Context) -> Iterator[None]:
    """Big activations come back to pageable memory in every step."""
    t = Trainer(ctx)
    act = torch.randn(ctx.pick(1 << 24, 1 << 16), device=ctx.dev)
    while True:
        t.step()
        if not ctx.fixed:
            act.cpu()
        yield


def copy_pinned(ctx: Context) -> Iterator[None]:
    """512 MB of pinned memory go to the device before each step, on the stream that computes."""
    t = Trainer(ctx)
    host = torch.randn(ctx.pick(1 << 27, 1 << 18))
    host = host.pin_memory() if ctx.cuda else host
    room = torch.empty_like(host, device=ctx.dev)
    while True:
        if not ctx.fixed:
            room.copy_(host, non_blocking=True)
        t.step(t.x + room[0] * 0)
        yield


def copy_overlapped(ctx: Context) -> Iterator[None]:
    """256 MB of pinned memory travel on a side stream under 14 ms of matrix products: the GPU binds."""
    t = Trainer(ctx)
    m = ctx.pick(8192, 256)
    a = torch.randn(m, m, device=ctx.dev, dtype=torch.bfloat16)
    host = torch.randn(ctx.pick(1 << 26, 1 << 16))
    host = host.pin_memory() if ctx.cuda else host
    room = torch.empty_like(host, device=ctx.dev)
    side = torch.cuda.Stream() if ctx.cuda else None
    while True:
        if side is not None:
            with torch.cuda.stream(side):
                room.copy_(host, non_blocking=True)
        for _ in range(1 if ctx.fixed else 10):
            a @ a
        t.step()
        if side is not None:
            torch.cuda.current_stream().wait_stream(side)
            side.wait_stream(torch.cuda.current_stream())
        yield


def cpu_adam(ctx: Context) -> Iterator[None]:
    """Four accumulated backward passes, then gradients go to the host, Adam runs there and weights come back."""
    t = Trainer(ctx)
    params = list(t.net.parameters())
    masters = [p.detach().cpu().clone() for p in params]
    offload = torch.optim.AdamW(masters, lr=1e-4)
    while True:
        t.net.zero_grad(set_to_none=True)
        for part in t.x.chunk(4):
            t.net(part).pow(2).mean().backward()
        if ctx.fixed:
            t.opt.step()
        else:
            for master, p in zip(masters, params, strict=True):
                master.grad = p.grad.cpu()
            offload.step()
            with torch.no_grad():
                for master, p in zip(masters, params, strict=True):
                    p.copy_(master)
        yield


def checkpoint_fourth(ctx: Context) -> Iterator[None]:
    """Every fourth step the model alone is saved to a file and flushed."""
    t = Trainer(ctx, width=ctx.pick(2048, 512))
    k = 0
    while True:
        t.step()
        k += 1
        if not ctx.fixed and k % 4 == 0:
            with open(ctx.tmp / "model.pt", "wb") as file:
                torch.save(t.net.state_dict(), file)
                file.flush()
                os.fsync(file.fileno())
        yield


def checkpoint_memory(ctx: Context) -> Iterator[None]:
    """Every step saves model and optimiser into a buffer in memory."""
    t = Trainer(ctx, width=ctx.pick(1024, 64), batch=ctx.pick(8192, 32))
    while True:
        t.step()
        if not ctx.fixed:
            torch.save({"model": t.net.state_dict(), "opt": t.opt.state_dict()}, io.BytesIO())
        yield


def cold_start(ctx: Context) -> Iterator[None]:
    """The trace begins before the first CUDA call: context, kernels and the first steps are in it."""
    t = Trainer(ctx)
    while True:
        t.step()
        yield

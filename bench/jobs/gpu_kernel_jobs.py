"""The one-GPU jobs whose plant is on the device, in its queue, in its allocator or in the compiler."""

from collections.abc import Iterator

import torch
from gpu_jobs import Trainer, mlp
from harness import Context
from torch import nn


def square(ctx: Context, gpu: int = 8192, cpu: int = 256) -> torch.Tensor:
    """Return a square bfloat16 matrix."""
    m = ctx.pick(gpu, cpu)
    return torch.randn(m, m, device=ctx.dev, dtype=torch.bfloat16)


def item_per_layer(ctx: Context) -> Iterator[None]:
    """A check of every one of 100 small layers reads its value back."""
    net = mlp(ctx, ctx.pick(512, 32), 100)
    x = torch.randn(64, ctx.pick(512, 32), device=ctx.dev)
    while True:
        with torch.no_grad():
            y = x
            for layer in net:
                y = layer(y)
                if not ctx.fixed:
                    y.abs().max().item()
        yield


def item_harmless(ctx: Context) -> Iterator[None]:
    """Big matrix products, and the loss is read every step: the read waits, but costs nothing."""
    t = Trainer(ctx)
    a = square(ctx)
    while True:
        for _ in range(1 if ctx.fixed else 10):
            a @ a
        t.step().item()
        yield


def memory_bound(ctx: Context) -> Iterator[None]:
    """Eight element-wise passes over 4 GB in every step; fixed: one."""
    t = Trainer(ctx)
    big = torch.ones(ctx.pick(1 << 30, 1 << 18), device=ctx.dev)
    while True:
        for _ in range(1 if ctx.fixed else 8):
            big.mul_(1.0001)
        t.step()
        yield


def matmul_loop(ctx: Context) -> Iterator[None]:
    """Ten big matrix products a step and no synchronisation."""
    t = Trainer(ctx)
    a = square(ctx)
    while True:
        for _ in range(1 if ctx.fixed else 10):
            a @ a
        t.step()
        yield


def tie_mix(ctx: Context) -> Iterator[None]:
    """About 8 ms of matrix products, then about as long of tiny launches: neither binds alone. Fixed: no launches."""
    a = square(ctx)
    tiny = torch.ones(64, device=ctx.dev)
    while True:
        for _ in range(6):
            b = a @ a
        b[0, 0].item()
        for _ in range(0 if ctx.fixed else ctx.pick(750, 100)):
            tiny.mul_(1.0001)
        tiny[0].item()
        yield


def alloc_each_step(ctx: Context) -> Iterator[None]:
    """Eight big tensors are allocated and given back to the driver in every step."""
    t = Trainer(ctx)
    n = ctx.pick(1 << 28, 1 << 12)
    while True:
        rooms = [torch.empty(n + (k << 20), device=ctx.dev) for k in range(8)]
        t.step()
        del rooms
        if not ctx.fixed and ctx.cuda:
            torch.cuda.empty_cache()
        yield


def adam_unfused(ctx: Context) -> Iterator[None]:
    """AdamW one parameter and one operation at a time over 80 small parameters; fixed: fused."""
    width = ctx.pick(256, 16)
    net = mlp(ctx, width, 40)
    mode = {"fused": True} if ctx.fixed else {"foreach": False, "fused": False}
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, **mode)
    x = torch.randn(64, width, device=ctx.dev)
    while True:
        opt.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        opt.step()
        yield


def graph_step(ctx: Context) -> Iterator[None]:
    """The whole training step is one CUDA graph with about 16 ms of kernels."""
    width = ctx.pick(2048, 32)
    net = mlp(ctx, width, 4)
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(ctx.pick(1024 if ctx.fixed else 8192, 16), width, device=ctx.dev)

    def step() -> None:
        opt.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        opt.step()

    if not ctx.cuda:
        while True:
            step()
            yield
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    while True:
        graph.replay()
        yield


def recompile(ctx: Context, backend: str) -> Iterator[None]:
    """torch.compile meets a new shape in every step; fixed: always the same."""
    torch._dynamo.config.recompile_limit = 512
    torch._dynamo.config.accumulated_recompile_limit = 512
    net = mlp(ctx, ctx.pick(1024, 32), 4)
    fast = torch.compile(net, backend=backend, dynamic=False)
    k = 0
    while True:
        k += 1
        with torch.no_grad():
            fast(torch.randn(64 if ctx.fixed else 64 + 8 * k, ctx.pick(1024, 32), device=ctx.dev))
        yield


def recompile_aot(ctx: Context) -> Iterator[None]:
    """Recompilation without Inductor."""
    return recompile(ctx, "aot_eager")


def recompile_inductor(ctx: Context) -> Iterator[None]:
    """Recompilation with Inductor and Triton."""
    return recompile(ctx, "inductor")


def two_streams(ctx: Context) -> Iterator[None]:
    """Matrix products on two streams at once."""
    a, b = square(ctx, 4096), square(ctx, 4096)
    tail = Trainer(ctx)
    other = torch.cuda.Stream() if ctx.cuda else None
    n = 2 if ctx.fixed else 40
    while True:
        if other is not None:
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                for _ in range(n):
                    b @ b
        for _ in range(n):
            a @ a
        if other is not None:
            torch.cuda.current_stream().wait_stream(other)
        tail.step()
        yield


class Token(nn.Module):
    """A small decoder layer stack on one token, without a cache: many tiny kernels."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        self.head = nn.Linear(width, 1000)
        self.embed = nn.Embedding(1000, width)

    def forward(self, token: torch.Tensor) -> torch.Tensor:
        """Return the next token."""
        x = self.embed(token)
        for norm, up, down in zip(self.norms, self.ups, self.downs, strict=True):
            x = x + down(torch.nn.functional.silu(up(norm(x))))
        return self.head(x).argmax(-1)


def decode(ctx: Context) -> Iterator[None]:
    """Six tokens a step, one by one, each read back; fixed: the token's forward pass is a CUDA graph."""
    net = Token(ctx.pick(1024, 32), 16).to(ctx.dev).eval()
    token = torch.zeros(1, dtype=torch.long, device=ctx.dev)
    graph = None
    with torch.no_grad():
        if ctx.fixed and ctx.cuda:
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    net(token)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                following = net(token)
        while True:
            for _ in range(6):
                if graph is not None:
                    graph.replay()
                    token.copy_(following)
                else:
                    token = net(token)
                token.item()
            yield


def healthy(ctx: Context) -> Iterator[None]:
    """A transformer in bfloat16 with fused attention and a fused optimiser: nothing is planted."""
    width = ctx.pick(2048, 32)
    with ctx.dev:
        block = nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        net = nn.TransformerEncoder(block, 4, enable_nested_tensor=False)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=ctx.cuda)
    x = torch.randn(ctx.pick(8, 2), ctx.pick(1024, 8), width, device=ctx.dev)
    while True:
        opt.zero_grad(set_to_none=True)
        with torch.autocast(ctx.dev.type, dtype=torch.bfloat16):
            loss = net(x).float().pow(2).mean()
        loss.backward()
        opt.step()
        yield

"""The two-rank jobs: a wire, a late rank or neither; each a generator that yields once a step."""

import contextlib
from collections.abc import Iterator

import torch
import torch.distributed as dist
from gpu_jobs import Trainer, batches, busy, mlp
from gpu_kernel_jobs import square
from harness import Context
from torch import nn


def average(net: nn.Module) -> None:
    """All-reduce every gradient, one collective a parameter."""
    for p in net.parameters():
        dist.all_reduce(p.grad)


class RankTrainer(Trainer):
    """A `Trainer` whose step averages the gradients of all ranks."""

    def step(self, x: torch.Tensor | None = None) -> torch.Tensor:
        """Take one step; the loss is read every tenth time."""
        self.opt.zero_grad(set_to_none=True)
        loss = self.net(self.x if x is None else x).pow(2).mean()
        loss.backward()
        average(self.net)
        self.opt.step()
        self.k += 1
        if self.k % 10 == 0:
            loss.item()
        return loss.detach()


def gather_big(ctx: Context) -> Iterator[None]:
    """Every step gathers 2 GB from each rank."""
    t = RankTrainer(ctx)
    mine = torch.ones(ctx.pick(1 << 29, 1 << 18), device=ctx.dev)
    room = torch.empty(mine.numel() * ctx.world, device=ctx.dev)
    while True:
        if not ctx.fixed:
            dist.all_gather_into_tensor(room, mine)
        t.step()
        yield


def reduce_overlapped(ctx: Context) -> Iterator[None]:
    """A 1 GB all-reduce runs beside 14 ms of matrix products and is hidden by them: the GPU binds."""
    t = RankTrainer(ctx)
    a = square(ctx)
    big = torch.ones(ctx.pick(1 << 28, 1 << 14), device=ctx.dev)
    while True:
        work = dist.all_reduce(big, async_op=True)
        for _ in range(1 if ctx.fixed else 12):
            a @ a
        work.wait()
        big.fill_(1.0)
        t.step()
        yield


def sharded_by_hand(ctx: Context) -> Iterator[None]:
    """Each layer gathers its weights, and each gradient is scattered, with nothing underneath."""
    width, depth = ctx.pick(8192, 64), ctx.pick(16, 4)
    shards = [torch.randn(width // ctx.world, width, device=ctx.dev, dtype=torch.bfloat16) for _ in range(depth)]
    whole = torch.empty(width, width, device=ctx.dev, dtype=torch.bfloat16)
    x = torch.randn(ctx.pick(512, 8), width, device=ctx.dev, dtype=torch.bfloat16)
    while True:
        for shard in shards:
            if not ctx.fixed:
                dist.all_gather_into_tensor(whole, shard)
            x @ whole
        for shard in shards:
            grad = x.T @ x
            if not ctx.fixed:
                dist.reduce_scatter_tensor(torch.empty_like(shard), grad)
        yield


def fully_sharded(ctx: Context) -> Iterator[None]:
    """PyTorch's fully_shard with big layers and a small batch: the wire sets the pace."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    net = mlp(ctx, ctx.pick(8192, 64), 8)
    mesh = init_device_mesh(ctx.dev.type, (ctx.world,))
    if not ctx.fixed:
        for layer in net:
            fully_shard(layer, mesh=mesh)
        fully_shard(net, mesh=mesh)
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(64, ctx.pick(8192, 64), device=ctx.dev)
    while True:
        opt.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        opt.step()
        yield


def late_input(ctx: Context) -> Iterator[None]:
    """Rank 1's loader takes 12 ms a batch, the other rank waits for it in its collective."""
    t = RankTrainer(ctx)
    slow = ctx.rank == 1 and not ctx.fixed
    for x in batches(ctx, t.width, lambda i: busy(0.19) if slow else None, 0):
        t.step(x.to(ctx.dev, non_blocking=True))
        yield


def late_compute(ctx: Context) -> Iterator[None]:
    """Rank 0 has ten big matrix products more than rank 1."""
    t = RankTrainer(ctx)
    a = square(ctx)
    while True:
        for _ in range(10 if ctx.rank == 0 and not ctx.fixed else 0):
            a @ a
        t.step()
        yield


def late_by_turns(ctx: Context) -> Iterator[None]:
    """Now one rank, now the other, is 12 ms late; which one looks random and is the same in every run."""
    t = RankTrainer(ctx)
    k = 0
    while True:
        k += 1
        if (k * 7919 >> 3) % ctx.world == ctx.rank and not ctx.fixed:
            busy(12)
        t.step()
        yield


def late_checkpoint(ctx: Context) -> Iterator[None]:
    """Rank 0 alone saves the model every third step while the other waits."""
    t = RankTrainer(ctx)
    k = 0
    while True:
        t.step()
        k += 1
        if k % 3 == 0 and ctx.rank == 0 and not ctx.fixed:
            torch.save(t.net.state_dict(), ctx.tmp / "model.pt")
        yield


def parallel(ctx: Context, net: nn.Module) -> nn.Module:
    """Wrap a model in DistributedDataParallel."""
    return nn.parallel.DistributedDataParallel(net, device_ids=[ctx.dev.index] if ctx.cuda else None)


def ddp_compute(ctx: Context) -> Iterator[None]:
    """DistributedDataParallel with a large batch: its buckets hide under the backward pass."""
    width = ctx.pick(2048, 64)
    net = parallel(ctx, mlp(ctx, width, 8))
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(ctx.pick(512 if ctx.fixed else 8192, 64), width, device=ctx.dev)
    while True:
        opt.zero_grad(set_to_none=True)
        net(x).pow(2).mean().backward()
        opt.step()
        yield


def ddp_wire(ctx: Context) -> Iterator[None]:
    """DistributedDataParallel with a dense embedding of 2 GB and next to no work; fixed: no_sync."""
    rows, width = ctx.pick(1 << 19, 512), ctx.pick(1024, 32)
    with ctx.dev:
        net = nn.Sequential(nn.Embedding(rows, width), nn.Linear(width, width))
    net = parallel(ctx, net)
    opt = torch.optim.SGD(net.parameters(), lr=1e-4)
    ids = torch.randint(0, rows, (256,), device=ctx.dev)
    while True:
        opt.zero_grad(set_to_none=True)
        with net.no_sync() if ctx.fixed else contextlib.nullcontext():
            net(ids).pow(2).mean().backward()
        opt.step()
        yield


def groups(ctx: Context) -> Iterator[None]:
    """Collectives in three groups: both ranks twice over, and each rank with itself."""
    t = RankTrainer(ctx)
    second = dist.new_group(list(range(ctx.world)))
    alone = [dist.new_group([r]) for r in range(ctx.world)][ctx.rank]
    big = torch.ones(ctx.pick(1 << 29, 1 << 18), device=ctx.dev)
    small = torch.ones(1 << 10, device=ctx.dev)
    while True:
        dist.all_reduce(small, group=alone)
        if not ctx.fixed:
            dist.all_reduce(big, group=second)
        dist.all_reduce(small)
        t.step()
        yield


def pipeline(ctx: Context) -> Iterator[None]:
    """Rank 0 computes and sends, rank 1 receives and computes: each waits while the other works."""
    a = square(ctx)
    n = 1 if ctx.fixed else 6
    while True:
        if ctx.rank == 0:
            for _ in range(n):
                b = a @ a
            dist.send(b, 1)
            dist.recv(b, 1)
        else:
            b = torch.empty_like(a)
            dist.recv(b, 0)
            for _ in range(n):
                c = b @ a
            dist.send(c, 0)
        yield

"""Hold longpole's verdicts against jobs with a known bottleneck.

python bench/accuracy.py DIR

DIR holds what `bench/jobs/planted_gpu.py` or `planted_gpu_ranks.py` wrote: traces `NAME[.fixed][.rankN].json.gz` and
`*.results.jsonl` with the time of a bare step, planted and fixed. Prints a Markdown row a job: the true cause, the
verdict, what the verdict says can be taken out of a step, what taking the plant out truly saved; then one JSON line.
What it does not cover: ceilings; jobs whose fixed twin keeps part of the plant save less than the cause could give.
"""

import argparse
import json
import re
from pathlib import Path

import longpole
from longpole.verdict import Verdict


def results(folder: Path) -> dict[tuple[str, bool], dict]:
    """The recorded jobs by name and whether the plant was taken out."""
    rows = (json.loads(line) for path in folder.glob("*.results.jsonl") for line in path.read_text().splitlines())
    return {(row["name"], row["fixed"]): row for row in rows if "bare_mean_ms" in row}


def traces(folder: Path, name: str) -> list[Path]:
    """The planted job's traces, one a rank."""
    form = re.compile(rf"{re.escape(name)}(\.rank\d+)?\.json\.gz")
    return sorted(path for path in folder.iterdir() if form.fullmatch(path.name))


def right(verdict: Verdict, row: dict) -> bool:
    """Whether the binding cause is the planted one, or one that the job accepts beside it."""
    truth = row["truth"].split("<-")[0]
    if truth == "tie":
        return verdict.binding is None or verdict.binding in row["accept"]
    return verdict.binding is not None and (verdict.binding.startswith(truth) or verdict.binding in row["accept"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    jobs, good = results(folder), 0
    planted = [row for (_, fixed), row in sorted(jobs.items()) if not fixed and traces(folder, row["name"])]
    print("| job | truth | verdict | can go, ms a step | saved, ms a step |\n|---|---|---|---|---|")
    for row in planted:
        paths = traces(folder, row["name"])
        verdict = longpole.why(paths)
        verdict.check()
        good += right(verdict, row)
        leader = verdict.leader
        scale = 1e6 * row["steps"] * len(paths)
        goes = (
            f"{leader.removable / scale:.2f} ({leader.low / scale:.2f} - {leader.high / scale:.2f})" if leader else ""
        )
        fixed = jobs.get((row["name"], True))
        saved = f"{row['bare_mean_ms'] - fixed['bare_mean_ms']:.2f}" if fixed else ""
        mark = "" if right(verdict, row) else " **(wrong)**"
        print(f"| {row['name']} | {row['truth']} | {verdict.binding or 'no single link'}{mark} | {goes} | {saved} |")
    print(json.dumps({"bench": "accuracy", "jobs": len(planted), "right": good}))


if __name__ == "__main__":
    main()

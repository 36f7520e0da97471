"""Many trials of an experiment: run, kept as they finish, gone on with after an interruption, and written up."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn import __version__
from infonn.errors import InfonnError, MissingPartError, unknown_name
from infonn.experiments.curve_file import Journal, plain, write_json
from infonn.experiments.trial import Curve, Probe, Setup, run_setups
from infonn.loop import stacks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Report = Callable[[int, int, int, int], None]  # curves done, curves in all, rounds done, rounds of this part


@dataclass(frozen=True)
class Plan:
    """One way to run an experiment: the settings of a preset, the seed, where deep learners compute."""

    settings: Mapping[str, Any]
    seed: int = 0
    device: str = "cpu"

    def seed_of(self, trial: int) -> int:
        """The seed all methods of a trial share."""
        return 1000 * self.seed + trial


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or of ours), where it stands, and whether the curves bear it out.

    `holds` is None where these curves cannot tell.
    """

    id: str
    text: str
    where: str
    holds: bool | None
    evidence: Any


@dataclass(frozen=True)
class Experiment:
    """A figure or table as data: how its curves are set up, what they should show, how they are drawn.

    Each preset holds `trials` and the experiment's own settings. `build` gives the setups of one trial;
    `together` is how many trials are built and run in lockstep, for learners that fit many as one.
    """

    name: str
    title: str
    where: str
    minutes: Mapping[str, float]  # by preset, on 2 cores
    presets: Mapping[str, Mapping[str, Any]]
    build: Callable[[Plan, int], Sequence[Setup | Probe]]
    claims: Callable[[Sequence[Curve]], Sequence[Claim]]
    figures: Callable[[Sequence[Curve]], Mapping[str, Figure]]
    tables: Callable[[Sequence[Curve]], Mapping[str, str]] = lambda curves: {}  # name -> Markdown
    together: int = 1
    notes: Sequence[str] = field(default=())  # departures from the paper, and what a reader should know

    def settings(self, preset: str) -> dict[str, Any]:
        """The settings of a preset, a copy."""
        if preset not in self.presets:
            raise unknown_name("Preset", preset, self.presets)
        return dict(self.presets[preset])


def run_experiment(
    experiment: Experiment,
    preset: str = "paper",
    *,
    trials: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    folder: Path | None = None,
    processes: int = 1,
    restart: bool = False,
    report: Report | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run what is not yet in `folder`, then write `results.json` and the figures there. Gives the results."""
    settings = experiment.settings(preset)
    n_trials = settings.pop("trials") if trials is None else trials
    settings.pop("trials", None)
    if n_trials < 1:
        raise InfonnError(f"{n_trials} trials; at least 1 is needed.")
    _check_device(device)
    plan = Plan(settings, seed, device)
    folder = Path("runs") / experiment.name if folder is None else folder
    spec = {"experiment": experiment.name, "preset": preset, "settings": settings, "seed": seed, "device": device}
    journal = Journal.open(folder / "curves.jsonl", plain(spec), restart=restart, say=say)
    blocks = _blocks(n_trials, experiment.together, processes)
    watch = _Watch(report)
    if processes > 1 and len(blocks) > 1:
        from infonn.experiments.processes import run_blocks

        run_blocks(experiment, plan, blocks, journal, processes, watch, say)
    else:
        for number, block in enumerate(blocks):
            run_block(experiment, plan, block, journal, lambda *done, n=number: watch.update(n, len(blocks), *done))
    journal.close()

    curves = [curve for curve in journal.curves if curve.trial < n_trials]
    curves.sort(key=lambda curve: curve.trial)  # stable: within a trial in the order of `build`
    results = {
        "experiment": experiment.name,
        "title": experiment.title,
        "where": experiment.where,
        "preset": preset,
        "version": __version__,
        "spec": {**spec, "trials": n_trials},
        "seeds": [plan.seed_of(trial) for trial in range(n_trials)],
        "seconds": round(journal.seconds, 1),
        "machine": machine(device),
        "notes": list(experiment.notes),
        "curves": [curve.to_json() for curve in curves],
        "claims": [vars(claim) for claim in experiment.claims(curves)],
    }
    write_json(folder / "results.json", results)
    for name, table in experiment.tables(curves).items():
        (folder / f"{name}.md").write_text(table, encoding="utf-8")
    from infonn.plots.look import save

    for name, figure in experiment.figures(curves).items():
        save(figure, folder / name)
    return results


def run_block(
    experiment: Experiment,
    plan: Plan,
    trials: Sequence[int],
    journal: Journal,
    report: Callable[[int, int, int, int], None],
) -> None:
    """Run the curves of `trials` that the journal lacks; each is kept when it is finished."""
    built = [part for trial in trials for part in experiment.build(plan, trial)]
    pending = [part for part in built if not journal.has(part)]
    probes = [part for part in pending if isinstance(part, Probe)]
    setups = [part for part in pending if isinstance(part, Setup)]
    groups = [[setups[row] for row in group] for group in stacks([setup.learner for setup in setups])]
    done = len(built) - len(pending)
    for group in groups:
        curves = run_setups(group, lambda r, n, d=done: report(d, len(built), r, n))  # type: ignore[misc]
        for curve in curves:
            journal.add(curve)
        done += len(curves)
        report(done, len(built), 0, 0)
    for probe in probes:
        queries, triplets, measures = probe.run()
        settings = dict(probe.settings)
        journal.add(
            Curve(probe.method, probe.learner_name, settings, probe.trial, probe.seed, queries, triplets, measures)
        )
        done += 1
        report(done, len(built), 0, 0)
    report(done, len(built), 0, 0)


class _Watch:
    """Adds up the progress of blocks, whose sizes are known once they are built."""

    def __init__(self, report: Report | None) -> None:
        self.report = report
        self.blocks: dict[int, tuple[int, int, int, int]] = {}

    def update(self, block: int, n_blocks: int, done: int, total: int, round: int, rounds: int) -> None:
        self.blocks[block] = (done, total, round, rounds)
        if self.report is not None:
            expected = total * n_blocks  # blocks are alike, but for the last
            known = sum(entry[1] for entry in self.blocks.values())
            all_done = sum(entry[0] for entry in self.blocks.values())
            self.report(all_done, known if len(self.blocks) == n_blocks else max(expected, known), round, rounds)


def _blocks(n_trials: int, together: int, processes: int) -> list[list[int]]:
    """Trials that are run together; fewer of them where processes would stand idle."""
    size = max(1, min(together, -(-n_trials // max(1, processes))))
    return [list(range(first, min(first + size, n_trials))) for first in range(0, n_trials, size)]


def _check_device(device: str) -> None:
    if device != "cpu" and not device.startswith("cuda"):
        raise InfonnError(f'Device "{device}" is unknown. Known: "cpu", "cuda", "cuda:0" and so on.')
    if device != "cpu":
        try:
            import torch
        except ImportError:
            raise MissingPartError(f'Device "{device}" needs torch: pip install "infonn[deep]".') from None
        if not torch.cuda.is_available():
            raise InfonnError(f'Device "{device}" was asked for, and torch finds no GPU here. Use --device cpu.')
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # sums in one order: a second run gives the same


def machine(device: str) -> dict[str, Any]:
    """What the seconds were measured on."""
    described: dict[str, Any] = {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "device": device,
    }
    if device.startswith("cuda"):
        import torch

        described["device"] = torch.cuda.get_device_name(torch.device(device))
    return described

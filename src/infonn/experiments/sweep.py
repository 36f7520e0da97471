"""Many trials of an experiment: run, kept as they finish, gone on with after an interruption, and written up."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infonn import __version__
from infonn.engines import Engine, Processes, n_cores, open_engine
from infonn.errors import InfonnError, MissingPartError, unknown_name
from infonn.experiments.curve_file import Journal, check_apart, key_of, plain, write_json
from infonn.experiments.gpu_sharing import gpu_shared
from infonn.experiments.table import EXPERIMENTS, load, location
from infonn.experiments.trial import Curve, Probe, Setup, failed_trial, run_setups
from infonn.loop import stacks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[int, int, int, int], None]  # curves done, curves in all, rounds done, rounds of this part


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
    engine: Engine | None = None,
    restart: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run what is not yet in `folder`, then write `results.json` and the figures there. Gives the results.

    `engine` says where; without one, it is so many processes of this machine. Neither changes a curve.
    """
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
    with nullcontext(engine) if engine is not None else open_engine(processes=processes) as opened:
        _run_blocks(experiment, plan, n_trials, journal, opened, progress, say)
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


# --- blocks of trials, one step after the other ----------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Trials that are run side by side, and the keys of those of their curves that are finished."""

    number: int
    trials: tuple[int, ...]
    finished: frozenset[str]


@dataclass(frozen=True)
class Step:
    """Curves of a block that are run as one, now that they are: what comes back, and how many the block has."""

    curves: Sequence[Curve]
    n_curves: int


def _run_blocks(
    experiment: Experiment,
    plan: Plan,
    n_trials: int,
    journal: Journal,
    engine: Engine,
    progress: Progress | None,
    say: Callable[[str], None],
) -> None:
    """Run what the journal lacks, wherever the engine says; curves are kept as they come, and by this process alone."""
    # Functions do not travel well between machines, names do; what was made on the fly has none and travels itself.
    place = location(experiment.name) if experiment.name in EXPERIMENTS and not engine.is_here else experiment
    blocks = [
        Block(number, trials, journal.keys_of(trials))
        for number, trials in enumerate(_blocks(n_trials, experiment.together, engine.n_workers))
    ]
    watch = _Watch(progress, len(blocks))
    take = _Steps(place, plan, watch.rounds if engine.is_here else None)
    sharing = gpu_shared(plan.device, say) if isinstance(engine, Processes) else nullcontext()
    with sharing:
        for block, step in engine.run(take, blocks, _following):
            for curve in step.curves:
                journal.add(curve)
            watch.curves(block, step)


def _following(block: Block, step: Step) -> list[Block]:
    """What a block goes on with; nothing once it is finished."""
    finished = block.finished | {key_of(curve) for curve in step.curves}
    return [replace(block, finished=finished)] if step.curves and len(finished) < step.n_curves else []


@dataclass
class _Steps:
    """Takes one step of a block: those of its unfinished curves that come first and are run as one.

    The parts of the block it saw last are kept, for it is likely to come back.
    """

    place: str | Experiment  # where the experiment is found, or itself
    plan: Plan
    progress: Callable[[int, int], None] | None = None
    latest: tuple[tuple[int, ...], list[Setup | Probe]] | None = None

    def __call__(self, block: Block) -> Step:
        parts = self._parts(block.trials)
        pending = [part for part in parts if key_of(part) not in block.finished]
        setups = [part for part in pending if isinstance(part, Setup)]
        probes = [part for part in pending if isinstance(part, Probe)][:1]
        stack = [setups[row] for row in stacks([setup.learner for setup in setups])[0]] if setups else []
        try:
            curves = run_setups(stack, self.progress) if stack else [_measured(probe) for probe in probes]
        except Exception as error:
            raise failed_trial(stack or probes, error) from error
        return Step(curves, len(parts))

    def _parts(self, trials: tuple[int, ...]) -> list[Setup | Probe]:
        if self.latest is None or self.latest[0] != trials:
            experiment = load(self.place) if isinstance(self.place, str) else self.place
            self.latest = trials, [part for trial in trials for part in experiment.build(self.plan, trial)]
            check_apart(self.latest[1])
        return self.latest[1]


def _measured(probe: Probe) -> Curve:
    queries, triplets, measures = probe.run()
    settings = dict(probe.settings)
    return Curve(probe.method, probe.learner_name, settings, probe.trial, probe.seed, queries, triplets, measures)


class _Watch:
    """Adds up the progress of blocks, whose sizes are known once they are built."""

    def __init__(self, progress: Progress | None, n_blocks: int) -> None:
        self.progress, self.n_blocks = progress, n_blocks
        self.blocks: dict[int, tuple[int, int]] = {}  # curves done, and in all

    def curves(self, block: Block, step: Step) -> None:
        """Curves of a block have come."""
        self.blocks[block.number] = len(block.finished) + len(step.curves), step.n_curves
        self.rounds(0, 0)

    def rounds(self, round: int, rounds: int) -> None:
        """What is running now has got so far."""
        if self.progress is None:
            return
        done, known = (sum(counts) for counts in zip(*self.blocks.values())) if self.blocks else (0, 0)
        largest = max((total for _, total in self.blocks.values()), default=0)  # blocks are alike, but for the last
        expected = known if len(self.blocks) == self.n_blocks else max(largest * self.n_blocks, known)
        self.progress(done, expected, round, rounds)


def _blocks(n_trials: int, together: int, n_workers: int) -> list[tuple[int, ...]]:
    """Trials that are run together; fewer of them where workers would stand idle."""
    size = max(1, min(together, -(-n_trials // max(1, n_workers))))
    return [tuple(range(first, min(first + size, n_trials))) for first in range(0, n_trials, size)]


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
        "cores": n_cores(),
        "device": device,
    }
    if device.startswith("cuda"):
        import torch

        described["device"] = torch.cuda.get_device_name(torch.device(device))
    return described

"""Rank trials of psiz: a query, its references in the order in which they were selected, then those left.

A trial that ranks its selections is read as what the person did: the nearest of all, then the nearest of those left.
Where selections have no order among them, each is the nearest of itself and what was not selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infonn.contracts.storage import Answered
from infonn.errors import DataError
from infonn.formats.triplets import Triplet, answered_from


def from_trials(
    stimulus_set: Any,
    study: str,
    item_names: Sequence[str],
    *,
    n_select: Any = 1,
    is_ranked: Any = True,
    agent_id: Any = None,
    rt_ms: Any = None,
    placeholder: int = -1,
) -> list[Answered]:
    """Answers of `stimulus_set` (trials, 1 + references). The others are one value, or one for each trial.

    `placeholder` fills short trials; where it is 0, as in newer versions, stimuli are counted from 1.
    """
    trials = np.asarray(stimulus_set)
    if trials.ndim != 2 or trials.shape[1] < 3 or not np.issubdtype(trials.dtype, np.integer):
        raise DataError(f"stimulus_set is {trials.dtype} of shape {trials.shape}; (trials, 1 + references) is right.")
    selected = np.broadcast_to(np.asarray(n_select), len(trials))
    ranked = np.broadcast_to(np.asarray(is_ranked, bool), len(trials))
    agents = np.broadcast_to(np.asarray("" if agent_id is None else agent_id), len(trials))
    times = np.broadcast_to(np.asarray(np.nan if rt_ms is None else rt_ms, float), len(trials))
    rows: list[Triplet] = []
    for number, trial in enumerate(trials):
        query, *references = [int(s) - (placeholder == 0) for s in trial if s != placeholder]
        chosen = int(selected[number])
        if not 1 <= chosen < len(references):
            raise DataError(f"Trial {number} selects {chosen} of {len(references)}; from 1 to all but one is right.")
        seconds = None if np.isnan(times[number]) else float(times[number]) / 1000
        for step in range(chosen):
            left = references[step + 1 :] if ranked[number] else references[chosen:]
            rows += [
                Triplet(query, references[step], far, f"trial {number}.{step}", str(agents[number]), seconds)
                for far in left
            ]
    return answered_from(rows, study, item_names, "psiz")

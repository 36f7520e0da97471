"""What people are told about a fit, and where they see it: in a study, in its summary, on the owner's page."""

import numpy as np
import pytest

from infonn import create_study
from infonn.beliefs import Belief
from infonn.findings import CHAINS_DISAGREE, Findings, Outlook, findings_of
from infonn.live.cold_fits import fit_cold
from infonn.live.status import study_status
from infonn.maths.forecast import Gain
from infonn.notebook import study_html, summary
from infonn.oracles.distances import DistanceOracle
from infonn.storage.memory import MemoryStorage

NAMES = [f"item {i}" for i in range(8)]


class Telling:
    """A learner whose belief says what it is told to."""

    def __init__(self, **state):
        self.state = {name: np.array(value) for name, value in state.items()}

    def fit(self, answers, rng, start=None):
        places = np.random.default_rng(1).standard_normal((8, 2))
        return Belief(places, state=self.state)


def told(learner):
    study = create_study(NAMES, learner=learner, first=30, storage=MemoryStorage())
    for question in study.ask(6):
        study.tell(question, 0)
    return study


def test_nothing_is_said_that_nobody_knows():
    found = findings_of(Belief(np.zeros((3, 2))), 2)
    assert found == Findings(2)
    assert found.sentences == ["The map has 2 columns, as many as the answers support."]
    assert Findings.from_json(found.to_json()) == found
    assert Findings(1, 1).sentences == ["The map has 1 column, as asked for."]


def test_features_are_told_in_the_study_its_summary_the_status_and_the_stored_model():
    study = told(Telling(feature_share=[0.9, 0.94], r_hat=1.4))
    assert summary(study).findings == ()  # nothing is fitted for a summary
    assert "Features explain 92 % of the map." in study.findings().sentences
    assert "Features explain 92 % of the map." in str(summary(study))
    assert "Features explain 92 % of the map." in study_html(study)
    fit_cold(study.storage, study, 0)
    status = study_status(study.storage, study.storage.study(study.name))
    assert "Features explain 92 % of the map." in status.findings
    assert not any("disagree" in warning for warning in status.warnings)


def test_chains_that_disagree_are_a_warning():
    study = told(Telling(r_hat=CHAINS_DISAGREE + 1))
    assert study.findings().chains_disagree
    assert "The chains disagree (R-hat 4.0, and it should be below 3)" in study.findings().sentences[-1]
    fit_cold(study.storage, study, 0)
    status = study_status(study.storage, study.storage.study(study.name))
    assert any("disagree" in warning for warning in status.warnings)
    assert not any("disagree" in sentence for sentence in status.findings)
    assert not told(Telling(r_hat=CHAINS_DISAGREE)).findings().chains_disagree


def test_an_outlook_says_when_to_stop():
    assert Outlook(Gain(300, 0.004, 0.001, 0.008), "x").stop
    assert not Outlook(Gain(300, 0.004, 0.001, 0.02), "x").stop
    assert not Outlook(None, "x", "Wait.").stop
    assert Outlook(None, "x", "Wait.").sentences == ["Wait."]


def test_a_study_has_an_outlook_by_its_draws_or_by_hold_out_answers(rng):
    learner = {"name": "posterior", "n_chains": 6, "moves": 2}
    study = create_study(NAMES, learner=learner, first=60, storage=MemoryStorage())
    assert study.outlook().sentences == ["An outlook needs at least 3 answers."]
    oracle = DistanceOracle(np.arange(8.0)[:, None])
    questions = study.ask(40)
    for question, response in zip(questions, oracle.answer(np.array([q.query for q in questions]), rng)):
        study.tell(question, int(response))
    outlook = study.outlook()
    assert 0 <= outlook.gain.low <= outlook.gain.expected <= outlook.gain.high
    assert outlook.gain.n_answers == 40
    assert outlook.measured_by == "what the model's draws expect"
    held_out = study.new_questions(25, "hold_out")
    study.storage.add_questions(study.name, held_out)
    for question, response in zip(held_out, oracle.answer(np.array([q.query for q in held_out]), rng)):
        study.tell(question, int(response))
    assert study.outlook().measured_by == "25 hold-out answers"


def test_without_draws_an_outlook_needs_hold_out_answers():
    study = told(Telling())
    assert study.outlook().gain is None
    assert study.outlook().sentences == [
        "An outlook needs 20 hold-out answers, or a learner with draws, as the default has."
    ]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_shares_at_their_ends_are_whole_numbers(share):
    assert Findings(2, feature_share=share).sentences[1] == f"Features explain {100 * share:.0f} % of the map."

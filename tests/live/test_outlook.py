"""Sentences for the owner: whether to go on, and how long questions should be."""

import numpy as np

from infonn import create_study
from infonn.beliefs import Belief
from infonn.contracts.storage import Answered
from infonn.findings import length_sentences
from infonn.live.cold_fits import length_measures
from infonn.live.outlook import AccuracyPoint, outlook, recorded_times, study_paces
from infonn.maths.pace import Pace
from infonn.maths.responses import ResponseSettings
from infonn.records import Answer, Question, Round


def points_of(accuracies, step, n_hold_out=400):
    return [
        AccuracyPoint(
            n_answers=step * (i + 1), n_hold_out=n_hold_out, accuracy=value, low=0, high=1, log_loss=None, at=0
        )
        for i, value in enumerate(accuracies)
    ]


def answered(query, seconds, outcome="answered"):
    question = Question("q", "study", tuple(query), (), (), (), "nearest")
    return Answered(question, Answer("a", "q", "p", 0, outcome, response_time_s=seconds))


def test_a_flat_curve_is_told_to_stop_with_what_more_would_add():
    out = outlook(points_of([0.8] * 20, 100), 1 / 3, 0)
    assert out.stop
    assert out.sentences[0].startswith("100 more answers are expected to add 0.")
    assert out.sentences[1] == "You could stop: they almost surely add less than 1 percentage point."


def test_a_rising_curve_is_told_where_it_goes():
    out = outlook(points_of(np.linspace(0.4, 0.7, 10), 20), 1 / 3, 1000)
    assert not out.stop
    assert "percentage points (" in out.sentences[0]
    assert any(sentence.startswith("At 1,000 answers the accuracy should be about") for sentence in out.sentences)


def test_without_a_forecast_the_length_is_spoken_of_all_the_same():
    out = outlook([], 1 / 3, 0, [Pace(2, 0.5, 2.0), Pace(3, 0.5, 3.0, recorded=True)], 3)
    assert out.sentences[0] == "A forecast needs at least 20 hold-out answers and three fits of the model."
    assert out.sentences[1] == (
        "Questions with 2 candidates would tell most in a minute: 15.0 nats against 10.0 with 3; an answer took 3.0 s "
        "with 3 candidates, and other lengths are taken to need time in proportion to the items shown."
    )


def test_a_small_difference_between_lengths_is_not_worth_a_change():
    (sentence,) = length_sentences([Pace(2, 0.5, 2.0), Pace(3, 0.72, 3.0)], 3)
    assert sentence.startswith("No other number of candidates would tell much more in a minute than 3 (14.4 nats)")
    assert length_sentences([], 3) == []


def test_times_are_medians_by_length_of_answers_in_earnest():
    pairs = [answered((0, 1, 2), seconds) for seconds in np.linspace(1, 3, 21)]
    pairs += [answered((0, 1, 2), 99.0, "skipped"), answered((0, 1, 2), None), answered((0, 1, 2, 3), 5.0)]
    assert recorded_times(pairs) == {2: 2.0}


def test_the_latest_fit_and_the_recorded_times_make_the_pace_of_a_study():
    study = create_study([str(item) for item in range(12)], candidates=2, learner="mds", first=100)
    storage = study.storage
    assert study_paces(storage, "study") == []
    for question in study.ask(20):
        study.tell(question.id, 0, response_time_s=3.0)
    draws = np.random.default_rng(0).standard_normal((16, 12, 2))
    belief = Belief(draws[0], draws, response=ResponseSettings(0.5))
    storage.add_round("study", Round(0, 20, length_measures(belief, study), 0.0))
    measured = study_paces(storage, "study")
    assert [pace.candidates for pace in measured] == [2, 3, 4, 5, 6]
    assert (measured[0].seconds, measured[0].recorded) == (3.0, True)
    assert measured[1].seconds == 4.0
    assert all(pace.nats > 0 for pace in measured)
    assert length_measures(Belief(draws[0]), study) == {}

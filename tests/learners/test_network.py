"""The neural embedding learner: stacked slices agree with lone ones, and every mistake gets a sentence."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from infonn.errors import DataError, TrainingError, UnknownNameError
from infonn.learners.networks import stacks
from infonn.learners.networks.bodies import FromModule, FullyConnected
from infonn.learners.networks.losses import Hinge, Likelihood
from infonn.learners.networks.network import Network, _own_answers, fit_stack, network
from infonn.maths.distances import triplet_margins
from infonn.maths.responses import ResponseSettings, nearest_log_probs
from infonn.oracles.distances import DistanceOracle
from infonn.queries import Answers, draw_queries, no_answers, rank_of_orders, split_into_triplets

N_ITEMS, N_FEATURES = 14, 4


def items(rng, n=N_ITEMS):
    return rng.normal(size=(n, N_FEATURES))


def answers_of(features, n, rng, n_candidates=3, kind="nearest"):
    """True answers by the distance along the first two features."""
    queries = draw_queries(n, len(features), n_candidates, rng)
    truth = features[:, :2]
    distances = ((truth[queries[:, 1:]] - truth[queries[:, :1]]) ** 2).sum(-1)
    if kind == "ranking":
        return Answers(queries, rank_of_orders(np.argsort(distances, axis=1)), kind)
    return Answers(queries, distances.argmin(axis=1).astype(np.int32))


def accuracy(embedding, answers):
    return float((triplet_margins(embedding, split_into_triplets(answers)) > 0).mean())


def by_hand(features, answers, weights, rate, epochs):
    """Hinge triplets, one at a time, through torch's own Adam: the twin of the stacked trainer."""
    layers = [{k: torch.tensor(weights[f"{i}.{k}"], requires_grad=True) for k in ("weight", "bias")} for i in range(2)]
    parameters = [p for layer in layers for p in layer.values()]
    adam = torch.optim.Adam(parameters, lr=rate)
    inputs = torch.tensor((features - features.mean(0)) / features.std(0))
    for _ in range(epochs):
        hidden = (inputs @ layers[0]["weight"] + layers[0]["bias"]).relu()
        embedding = hidden @ layers[1]["weight"] + layers[1]["bias"]
        loss = torch.zeros((), dtype=torch.float64)
        for reference, near, far in split_into_triplets(answers).tolist():
            close = ((embedding[reference] - embedding[near]) ** 2).sum()
            away = ((embedding[reference] - embedding[far]) ** 2).sum()
            loss = loss + torch.clamp(1 + close - away, min=0)
        adam.zero_grad()
        loss.backward()
        adam.step()
    hidden = (inputs @ layers[0]["weight"] + layers[0]["bias"]).relu()
    return (hidden @ layers[1]["weight"] + layers[1]["bias"]).detach().numpy()


def test_training_is_torchs_adam_on_the_hinge_of_every_triplet(rng):
    features = items(rng)
    answers = answers_of(features, 6, rng)
    learner = Network(features, (5, 3), epochs=7, learning_rate=0.02, precision="float64")
    start = learner.fit(no_answers(3), rng)
    weights = {k: v[0] for k, v in start.state.items() if not k.startswith("features.")}
    fitted = learner.fit(answers, rng, start)
    np.testing.assert_allclose(fitted.embedding, by_hand(features, answers, weights, 0.02, 7), atol=1e-9)


@pytest.mark.parametrize("batch_size", [None, 8])
@pytest.mark.parametrize("loss", [Hinge(), Likelihood(fit_lapse=True)])
def test_a_slice_ends_where_it_would_have_ended_alone(rng, loss, batch_size):
    features = [items(rng) for _ in range(4)]
    answers = [answers_of(f, n, rng) for f, n in zip(features, (12, 3, 0, 20))]  # ragged on purpose
    learners = [
        Network(f, (6, 3), loss=loss, epochs=5, batch_size=batch_size, precision="float64", members=2) for f in features
    ]
    seeds = [np.random.default_rng(i) for i in range(4)]
    stacked = fit_stack(learners, answers, seeds, [None] * 4)
    for i, learner in enumerate(learners):
        alone = learner.fit(answers[i], np.random.default_rng(i))
        np.testing.assert_allclose(stacked[i].embedding, alone.embedding, atol=1e-6)
        assert stacked[i].response.lapse == pytest.approx(alone.response.lapse, abs=1e-6)


def test_short_queries_and_long_ones_train_together(rng):
    features = items(rng)
    long = answers_of(features, 10, rng)
    short = answers_of(features, 10, rng, n_candidates=2)
    together = Answers(np.vstack([long.queries, np.pad(short.queries, ((0, 0), (0, 1)), constant_values=-1)]),
                       np.concatenate([long.responses, short.responses]))  # fmt: skip
    for loss in (Hinge(), Likelihood(ResponseSettings(mu=0.5, lapse=0.1))):
        learner = Network(features, (6, 3), loss=loss, epochs=60, learning_rate=0.02)
        belief = learner.fit(together, rng)
        assert accuracy(belief.embedding, together) > 0.9


def test_rankings_train_by_their_likelihood(rng):
    features = items(rng)
    answers = answers_of(features, 30, rng, kind="ranking")
    learner = Network(features, (8, 3), loss=Likelihood(), epochs=100, learning_rate=0.02)
    assert accuracy(learner.fit(answers, rng).embedding, answers) > 0.9


@pytest.mark.parametrize("loss", [Likelihood(ResponseSettings(mu=1.0, lapse=0.05)), Hinge()])
def test_odd_ones_train_by_their_likelihood_or_their_triplets(loss, rng):
    features = items(rng)
    triples = draw_queries(60, len(features), 2, rng)
    answers = Answers(triples, DistanceOracle(features, "odd_one_out").answer(triples, rng), "odd_one_out")
    learner = Network(features, (8, 3), loss=loss, epochs=100, learning_rate=0.02)
    assert accuracy(learner.fit(answers, rng).embedding, answers) > 0.9


def test_training_lowers_the_likelihood_loss_as_written(rng):
    features = items(rng)
    answers = answers_of(features, 30, rng)
    settings = ResponseSettings(mu=0.5, sharpness=2.0, lapse=0.1)

    def loss_of(belief):
        queries = answers.queries
        squared = ((belief.embedding[queries[:, 1:]] - belief.embedding[queries[:, :1]]) ** 2).sum(-1)
        return -nearest_log_probs(squared, settings)[np.arange(len(answers)), answers.responses].sum()

    learner = Network(features, (8, 3), loss=Likelihood(settings), epochs=40, learning_rate=0.01)
    start = learner.fit(no_answers(3), rng)
    assert loss_of(learner.fit(answers, rng, start)) < loss_of(start) - 5


def test_the_fitted_lapse_rate_rises_with_the_share_of_random_answers(rng):
    features = items(rng, 40)
    true = answers_of(features, 400, rng)
    noisy = Answers(
        true.queries, np.where(np.arange(400) < 160, rng.integers(0, 3, 400), true.responses).astype(np.int32)
    )
    loss = Likelihood(ResponseSettings(mu=0.01, sharpness=3, lapse=0.2), fit_lapse=True)
    learner = Network(features, (6, 2), loss=loss, epochs=200, learning_rate=0.02)
    low, high = learner.fit_many([true, noisy], [np.random.default_rng(i) for i in (0, 1)], [None, None])
    assert low.response.lapse < 0.1
    assert 0.25 < high.response.lapse < 0.5  # 0.4 in truth


def test_a_warm_start_goes_on_and_a_cold_one_does_not(rng):
    features = items(rng)
    answers = answers_of(features, 10, rng)
    warm = Network(features, (6, 3), epochs=3, first_learning_rate=0.1)
    first = warm.fit(answers, np.random.default_rng(1))
    again = warm.fit(answers, np.random.default_rng(1), first)
    assert np.abs(again.embedding - first.embedding).max() < np.abs(first.embedding).max() / 4
    cold = Network(features, (6, 3), epochs=3, warm_start=False)
    one, two = (cold.fit(answers, np.random.default_rng(1), start) for start in (None, first))
    np.testing.assert_array_equal(one.embedding, two.embedding)


def test_a_bootstrap_member_is_the_network_trained_on_its_own_resample(rng):
    features = rng.standard_normal((12, 4))
    answers = answers_of(features, 30, rng)
    learner = Network(features, (6, 3), members=3, bootstrap=True, epochs=5, precision="float64")
    plain = replace(learner, bootstrap=False)
    counts = [[len(_own_answers(learner, answers.take(slice(0, n)), m)) for n in range(31)] for m in range(3)]
    assert len({tuple(own) for own in counts}) == 3  # members differ
    assert len({tuple(_own_answers(plain, answers, m).responses) for m in range(3)}) == 1
    draws = learner.fit(answers, np.random.default_rng(0)).draws
    for member in range(3):
        own = _own_answers(learner, answers, member)
        alone = plain.fit(own, np.random.default_rng(0)).draws[member]  # same initial weights, the resample as answers
        np.testing.assert_allclose(draws[member], alone, atol=1e-10)


def test_a_bootstrap_keeps_an_answers_count_when_more_answers_come(rng):
    features = rng.standard_normal((12, 4))
    answers = answers_of(features, 60, rng)
    learner = Network(features, (6, 3), members=2, bootstrap=True)
    early, late = (_own_answers(learner, answers.take(slice(0, n)), 1).queries for n in (25, 60))
    assert len(early) > 10
    assert late[: len(early)].tolist() == early.tolist()
    many = np.concatenate([_own_answers(learner, answers, m).responses for m in range(200)])
    assert len(many) / (200 * 60) == pytest.approx(1.0, abs=4.5 / np.sqrt(200 * 60))  # Poisson: 4.5 standard errors


def test_a_bootstrap_of_one_network_is_refused(rng):
    with pytest.raises(DataError, match="members=8"):
        Network(rng.standard_normal((12, 4)), (6, 3), bootstrap=True)


def test_an_ensemble_has_a_draw_per_member_and_their_mean_squared_distance(rng):
    features = items(rng)
    belief = Network(features, (6, 3), members=5, epochs=5).fit(answers_of(features, 20, rng), rng)
    assert belief.draws.shape == (5, N_ITEMS, 3)
    squared = ((belief.draws[:, 0] - belief.draws[:, 1]) ** 2).sum(-1)
    assert ((belief.embedding[0] - belief.embedding[1]) ** 2).sum() == pytest.approx(squared.mean())
    assert squared.std() > 0


def test_validation_triplets_pick_the_epoch(rng):
    features = items(rng)
    answers = answers_of(features, 20, rng)
    wrong = Answers(answers.queries, (answers.responses + 1) % 3)
    valid = split_into_triplets(answers)
    scores = []
    for validation in (None, valid):
        learner = Network(features, (6, 3), epochs=80, learning_rate=0.02, validation=validation)
        scores.append(accuracy(learner.fit(wrong, np.random.default_rng(0)).embedding, answers))
    assert scores[1] > scores[0]


def test_looked_up_pairs_pick_the_epoch_that_distances_pick(rng):
    features = [items(rng) for _ in range(2)]
    answers = [answers_of(each, 20, rng) for each in features]
    few = [split_into_triplets(answers_of(each, n, rng)) for each, n in zip(features, (60, 40))]
    many = [np.tile(rows, (n, 1)) for rows, n in zip(few, (5, 4))]  # more triplets than pairs of items: looked up
    assert min(map(len, many)) >= N_ITEMS**2 > max(map(len, few))
    fits = []
    for validation in (few, many):
        learners = [
            Network(f, (6, 3), epochs=40, learning_rate=0.02, validation=v) for f, v in zip(features, validation)
        ]
        rngs = [np.random.default_rng(i) for i in range(2)]
        fits.append([belief.embedding for belief in fit_stack(learners, answers, rngs, [None, None])])
    np.testing.assert_array_equal(fits[0], fits[1])


# --- steps on a GPU --------------------------------------------------------------------------------


def step_and_batch(rng, device="cpu"):
    body, features = FullyConnected((6, 3)), items(rng)
    inputs = torch.tensor(features, dtype=torch.float32, device=device).expand(2, -1, -1)
    weights = [body.initial((N_FEATURES,), np.random.default_rng(i)) for i in range(2)]
    lapse = torch.zeros(2, device=device)
    step = stacks._Step(stacks.Stack(body, weights, device, "float32"), Hinge(), inputs, lapse, np.array([0.01, 0.02]))
    data = stacks._Data(Hinge(), [answers_of(features, n, np.random.default_rng(n)) for n in (20, 15)], inputs)
    return step, data.batches(16, [np.random.default_rng(i) for i in range(2)])


def test_a_step_that_cannot_be_recorded_is_done_all_the_same(rng, monkeypatch, caplog):
    def break_down(self, batch):
        self.step(batch)  # changes weights, which must not count
        raise RuntimeError("no such device")

    monkeypatch.setattr(stacks._Recorded, "_record", break_down)
    plain, batches = step_and_batch(np.random.default_rng(0))
    recorded, _ = step_and_batch(np.random.default_rng(0))
    steps = stacks._Recorded(recorded)
    for batch in batches:
        torch.testing.assert_close(steps(batch), plain(batch), rtol=0, atol=0)
    torch.testing.assert_close(recorded.stack.numbers, plain.stack.numbers, rtol=0, atol=0)
    assert caplog.text.count("no such device") == 1


def test_a_batch_takes_the_numbers_of_another_in_place(rng):
    _, batches = step_and_batch(rng)
    places = batches[0].copy()
    places.fill(batches[1])
    for name in ("queries", "present", "active"):
        torch.testing.assert_close(getattr(places, name), getattr(batches[1], name))
    assert not torch.equal(places.queries, batches[0].queries)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_recorded_steps_are_those_done_one_by_one_and_repeat(rng):
    runs = []
    for record in (False, True, True):
        step, batches = step_and_batch(np.random.default_rng(0), "cuda")
        steps = stacks._Recorded(step) if record else step
        with stacks._repeatable(True):
            for _ in range(20):
                for batch in batches:
                    steps(batch)
        assert not record or not steps.refused
        runs.append(step.stack.numbers.clone())
    torch.testing.assert_close(runs[1], runs[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(runs[2], runs[1], rtol=0, atol=0)


# --- new items, modules, files ---------------------------------------------------------------------


def test_known_items_are_transformed_to_where_they_are(rng):
    features = items(rng)
    learner = Network(features, (6, 3), epochs=5, members=2)
    belief = learner.fit(answers_of(features, 20, rng), rng)
    np.testing.assert_allclose(learner.transform(features[[3, 1]], belief), belief.embedding[[3, 1]], atol=1e-6)
    assert learner.transform(items(rng, 5), belief).shape == (5, 6)


def test_a_network_is_kept_in_a_file_without_pickle(rng, tmp_path):
    features = items(rng)
    learner = Network(features, (6, 3), loss=Likelihood(fit_lapse=True), epochs=5, members=2)
    belief = learner.fit(answers_of(features, 20, rng), rng)
    learner.save(tmp_path / "net.npz", belief)
    loaded, again = Network.load(tmp_path / "net.npz")
    new = items(rng, 3)
    np.testing.assert_array_equal(again.embedding, belief.embedding)
    np.testing.assert_array_equal(loaded.transform(new, again), learner.transform(new, belief))
    assert again.response == belief.response
    (tmp_path / "other.npz").write_bytes(b"no such thing")
    with pytest.raises(DataError, match=r"other\.npz is no network saved by infonn"):
        Network.load(tmp_path / "other.npz")


class Picture(nn.Module):
    """A small convolution, as someone with pictures would bring."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 3, 3)
        self.dropout = nn.Dropout(0.5)
        self.last = nn.Linear(3, 2)

    def forward(self, pictures):
        return self.last(self.dropout(self.convolution(pictures).relu().mean((2, 3))))


@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_torch_module_is_a_network(rng, tmp_path, one_by_one):
    pictures = rng.normal(size=(N_ITEMS, 1, 6, 6))
    truth = pictures.mean((1, 2, 3))
    queries = draw_queries(40, N_ITEMS, 3, rng)
    answers = Answers(queries, np.abs(truth[queries[:, 1:]] - truth[queries[:, :1]]).argmin(1).astype(np.int32))
    body = FromModule(Picture)
    body._one_by_one = one_by_one
    learner = Network(pictures, body, epochs=30, learning_rate=0.01, precision="float64")
    before = torch.random.get_rng_state()
    beliefs = learner.fit_many([answers] * 2, [np.random.default_rng(i) for i in (0, 1)], [None] * 2)
    assert torch.equal(before, torch.random.get_rng_state())
    alone = learner.fit(answers, np.random.default_rng(1))
    np.testing.assert_allclose(beliefs[1].embedding, alone.embedding, atol=1e-6)
    assert body._one_by_one is one_by_one
    learner.save(tmp_path / "net.npz", alone)
    with pytest.raises(DataError, match=r"weights of a Picture\. Give the module too"):
        Network.load(tmp_path / "net.npz")
    _, again = Network.load(tmp_path / "net.npz", network=Picture())
    np.testing.assert_allclose(again.embedding, alone.embedding, atol=1e-5)


def test_a_module_that_cannot_be_stacked_trains_slice_by_slice(rng):
    class Stubborn(nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs) if float(inputs.sum()) > -1e9 else inputs  # .item() is not for vmap

    features = items(rng)
    answers = answers_of(features, 20, rng)
    learner = Network(features, Stubborn(N_FEATURES, 2), epochs=50, learning_rate=0.02)
    for belief in learner.fit_many([answers] * 2, [rng, rng], [None] * 2):
        assert accuracy(belief.embedding, answers) > 0.8


# --- bad input -------------------------------------------------------------------------------------


def test_missing_features_are_named(rng):
    features = items(rng)
    features[3, 2] = np.nan
    with pytest.raises(DataError, match=r"Feature 2 of item 3 is nan \(1 such values in all\)"):
        Network(features)


def test_constant_columns_are_named_and_tell_nothing(rng):
    features = items(rng)
    features[:, 1] = 7
    with pytest.warns(UserWarning, match="Feature column 1 is 7 for all 14 items"):
        learner = Network(features, (4, 2), epochs=2)
    assert np.isfinite(learner.fit(answers_of(features, 5, rng), rng).embedding).all()
    with pytest.raises(DataError, match="All 4 feature columns are constant"):
        Network(np.ones((5, 4)))


def test_a_wrong_output_shape_is_shown(rng):
    features = items(rng)
    with pytest.raises(DataError, match=r"turned 14 items of shape \(4,\) into an array of shape \(14,\)"):
        Network(features, nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))).fit(answers_of(features, 5, rng), rng)


def test_a_network_that_cannot_take_the_items_or_learn_gets_a_sentence(rng):
    features = items(rng)
    answers = answers_of(features, 5, rng)
    with pytest.raises(DataError, match=r"The network cannot take items of shape \(4,\): .*multiplied"):
        Network(features, nn.Linear(5, 2)).fit(answers, rng)
    with pytest.raises(DataError, match="The network has no parameters"):
        Network(features, nn.Flatten()).fit(answers, rng)
    with pytest.raises(DataError, match='Device "gpu" is unknown'):
        Network(features, device="gpu")


def test_a_diverging_loss_stops_with_a_sentence_and_the_answers_are_kept(rng):
    features = items(rng)
    answers = answers_of(features, 5, rng)
    copy = answers.queries.copy()
    with pytest.raises(
        TrainingError, match=r"stopped being a number in epoch .* at learning rate 1e\+30\. The answers are"
    ):
        Network(features, (4, 2), learning_rate=1e30).fit(answers, rng)
    np.testing.assert_array_equal(answers.queries, copy)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"network": (3, 0)}, r"Layer sizes are \[3, 0\]"),
        ({"features": np.ones(3)}, r"Features have shape \(3,\)"),
        ({"features": np.array([["a"], ["b"]])}, "they must be numbers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(rng, settings, message):
    with pytest.raises(DataError, match=message):
        Network(**{"features": items(rng)} | settings)


def test_features_of_another_shape_are_refused(rng):
    features = items(rng)
    learner = Network(features, (4, 2), epochs=1)
    belief = learner.fit(answers_of(features, 5, rng), rng)
    with pytest.raises(DataError, match=r"Features have shape \(2, 3\); items here have shape \(4,\)"):
        learner.transform(np.ones((2, 3)), belief)
    with pytest.raises(DataError, match="must agree in all settings"):
        fit_stack([learner, Network(features, (4, 3))], [no_answers(3)] * 2, [rng, rng], [None] * 2)
    assert FullyConnected((4, 2)) == learner.network


def test_a_study_written_as_data_can_learn_with_a_network(rng):
    features = items(rng)
    learner = network(features, layers=[6, 3], loss="likelihood", lapse=0.1, members=2, epochs=3)
    assert learner.loss == Likelihood(ResponseSettings(1.0, lapse=0.1))
    assert learner.fit(answers_of(features, 5, rng), rng).draws.shape == (2, N_ITEMS, 3)
    with pytest.raises(DataError, match="these items have none"):
        network(None)
    with pytest.raises(UnknownNameError, match='Did you mean "hinge"'):
        network(features, loss="hinges")

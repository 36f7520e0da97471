"""People who arrive: a classroom is unhindered, and whoever only knocks takes nothing from those who answer."""

from infonn.contracts.storage import Serving
from infonn.live.transfer import put_study
from infonn.specs.build import items_of
from infonn.storage.memory import MemoryStorage
from infonn.web.newcomers import FIRST_LEASE_S, Newcomers
from infonn.web.server import Limits

from .conftest import Site

N_CHOSEN = 60


def site_with_a_queue() -> tuple[Site, str]:
    """A study whose queue has 60 chosen questions, on a server with the limits it has by default."""
    site = Site(MemoryStorage(), Limits())
    spec = {"study": {"name": "s"}, "queries": {"first": N_CHOSEN}, "people": {"hold_out": 0.0}}
    record = put_study(site.storage, spec, items_of([(f"item {i}", None) for i in range(40)]), [])
    return site, record.key


def test_point_8_arrivals_without_answers_do_not_take_the_queue() -> None:
    site, key = site_with_a_queue()
    for _ in range(150):
        stranger = site.person(key)
        reply = site.client.get(f"/api/p/{key}/questions?n=20", headers=stranger.headers)
        assert reply.status_code in (200, 429)
    assert site.storage.queue_depth("s") >= N_CHOSEN // 2
    person = site.person(key)
    person.answer()
    strategies = [question.strategy_asked for question in site.storage.questions("s", "leased")]
    assert strategies.count("random") == len(strategies)  # asked for at random: nobody had to fall back
    chosen = {question.id for question in site.storage.questions("s") if question.lease_until is None}
    assert len(chosen) >= N_CHOSEN // 2
    assert site.storage.counts("s").fallback == 0
    assert len(site.storage.questions("s")) < N_CHOSEN + 150 + 10  # one for each of them, and no more


def test_point_8_the_first_lease_is_short_and_the_next_as_long_as_the_study_says() -> None:
    site, key = site_with_a_queue()
    person = site.person(key)
    assert len(person.questions) == 3
    held = [question for question in site.storage.questions("s", "leased") if question.respondent == person.name]
    lease = max(question.lease_until - question.asked_at for question in held)
    assert lease <= FIRST_LEASE_S + 1
    person.answer()
    held = [question for question in site.storage.questions("s", "leased") if question.respondent == person.name]
    assert max(question.lease_until - question.asked_at for question in held) > 500


def test_point_8_sixty_people_behind_one_address_answer_unhindered() -> None:
    site, key = site_with_a_queue()
    classroom = [site.person(key) for _ in range(60)]
    for _ in range(5):
        for pupil in classroom:
            pupil.answer()  # every reply is a 200
    assert len(site.storage.answers("s", None)) == 300
    again = [site.person(key, session=pupil.session) for pupil in classroom]  # all reload at once
    assert [pupil.name for pupil in again] == [pupil.name for pupil in classroom]


def test_point_8_places_of_newcomers_come_free_when_they_answer_or_their_lease_is_over() -> None:
    now = [0.0]
    newcomers = Newcomers(2, clock=lambda: now[0])
    serving = Serving(lease_s=600.0, at_random=0.1)

    def share_of(person: str) -> float:
        return newcomers.serving("s", person, serving).at_random

    assert [share_of(person) for person in ("a", "b", "c", "a")] == [0.1, 0.1, 1.0, 0.1]
    newcomers.answered("s", "a")
    assert [share_of(person) for person in ("c", "d")] == [0.1, 1.0]
    now[0] = FIRST_LEASE_S + 1
    assert [share_of(person) for person in ("d", "e", "f")] == [0.1, 0.1, 1.0]
    assert newcomers.serving("another", "f", serving).at_random == 0.1

"""Server and worker are killed while people answer: nothing acknowledged is lost, and nothing is there twice."""

import random

import pytest

from infonn.bench.servers import wait_until_up


def kill_and_restart(field, n_kills: int) -> None:
    chance = random.Random(7)
    field.start()
    field.people_arrive()
    for turn in range(n_kills):
        field.wait_for_answers(chance.randint(20, 60))
        victims = [field.server, field.worker] if turn % 3 == 2 else [field.server if turn % 3 == 0 else field.worker]
        for victim in victims:
            victim.kill()
        for victim in victims:
            victim.start()
        wait_until_up(field.port)
    field.wait_for_answers(30)
    field.people_leave()
    field.check_nothing_lost()
    field.check_model_is_a_fresh_fit()


def test_three_kills_lose_nothing(field) -> None:
    kill_and_restart(field, 3)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_lose_nothing(field) -> None:
    kill_and_restart(field, 20)

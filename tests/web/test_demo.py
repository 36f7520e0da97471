"""The demo: two ready studies, and simulated people."""

import threading

from infonn.live.worker import Worker
from infonn.storage.memory import MemoryStorage
from infonn.web.demo import Crowd, add_demos


def test_the_demo_is_ready_and_comes_only_once() -> None:
    storage = MemoryStorage()
    dishes, digits = add_demos(storage)
    assert [len(storage.items(demo.record.name)) for demo in (dishes, digits)] == [73, 500]
    first = storage.items(dishes.record.name)[0]
    assert first.text.count(" %") == 6  # the tastes, which the page draws as bars
    image = storage.file(digits.record.name, storage.items(digits.record.name)[0].image)
    assert image.data.startswith(b"\x89PNG")
    assert [demo.record.key for demo in add_demos(storage)] == [dishes.record.key, digits.record.key]


def test_simulated_people_answer_both_studies() -> None:
    storage = MemoryStorage()
    demos = add_demos(storage)
    stop = threading.Event()
    worker = Worker(storage)
    while not all(storage.queue_depth(demo.record.name) for demo in demos):
        worker.turn()
    crowd = threading.Thread(target=Crowd(storage, demos, n_people=30).run, args=(stop,))
    crowd.start()
    wanted = 8
    for _ in range(2400):
        if all(len(storage.answers(demo.record.name, None)) >= wanted for demo in demos):
            break
        stop.wait(0.05)
    stop.set()
    crowd.join(60)
    for demo in demos:
        pairs = storage.answers(demo.record.name, None)
        assert len(pairs) >= wanted
        assert all(
            0 <= pair.answer.response < len(pair.question.options) for pair in pairs if pair.answer.response is not None
        )

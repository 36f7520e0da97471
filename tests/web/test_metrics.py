"""`/metrics`, as Prometheus reads it."""

import re

from infonn.web.metrics import family

SAMPLE = re.compile(r'^[a-z_]+(\{[a-z]+="([^"\\\n]|\\.)*"(,[a-z]+="([^"\\\n]|\\.)*")*\})? [-+0-9.e]+$')


def test_metrics_tell_of_the_server_and_its_open_studies(site) -> None:
    key = site.study("open")
    site.study("ended")
    site.client.patch("/api/studies/ended", json={"archived": True}, headers=site.owner)
    site.person(key).answer()
    reply = site.client.get("/metrics", headers=site.owner)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in reply.text.splitlines():
        assert line.startswith("# ") or SAMPLE.match(line), line
    assert 'infonn_study_answers{study="open",purpose=' in reply.text
    for name in ("queue_questions", "fallback_share", "unseen_answers"):
        assert f'infonn_study_{name}{{study="open"' in reply.text
    assert 'infonn_reply_seconds{kind="answers",quantile="0.5"}' in reply.text
    assert 'infonn_replies_total{status="200"}' in reply.text
    assert "ended" not in reply.text


def test_metrics_need_a_token(site) -> None:
    assert site.client.get("/metrics").status_code == 401


def test_labels_are_escaped() -> None:
    assert family("x", "gauge", "An x.", [({"a": '"\\\n'}, 1)]).endswith('x{a="\\"\\\\\\n"} 1\n')

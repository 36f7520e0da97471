"""Whatever the OpenAPI document allows, and whatever it forbids: no request is a server error, whoever sends it."""

import itertools

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error

from infonn.specs.build import open_live_storage
from web.conftest import NO_LIMITS, Site

schema = schemathesis.openapi.from_asgi("/api/openapi.json", Site(limits=NO_LIMITS).app)
GARBAGE = ("Bearer é".encode().decode("latin-1"), "Bearer ", "Basic eDp5", "Bearer p-1.e30.x", "Bearer " + "x" * 5000)


class Visited:
    """A site on a database, with a study and a person in it."""

    def __init__(self, url: str) -> None:
        self.site = Site(open_live_storage(url), NO_LIMITS)
        self.key = self.site.study("s", people={"repeats": True})
        self.person = self.site.person(self.key)


@pytest.fixture(scope="module")
def turns(tmp_path_factory, postgres_server):
    """SQLite and PostgreSQL in turn, and on each valid, absent and garbage credentials."""
    urls = (f"sqlite:///{tmp_path_factory.mktemp('openapi')}/study.db", postgres_server.new_database())
    visited = [Visited(url) for url in urls]
    garbage = itertools.cycle(GARBAGE)

    def forever():
        for kind in itertools.cycle(("valid", "absent", "garbage")):
            for one in visited:
                yield one, kind, next(garbage)

    yield forever()
    for one in visited:
        one.site.storage.close()


def check(case, turns) -> None:
    visited, kind, garbage = next(turns)
    if "key" in case.path_parameters:
        case.path_parameters["key"] = visited.key
    if case.path_parameters.get("name") and len(case.path_parameters["name"]) % 2:
        case.path_parameters["name"] = "s"  # half of the time a study that is there
    valid = visited.person.headers if "/p/" in case.path else visited.site.owner
    headers = {"valid": valid, "absent": {}, "garbage": {"authorization": garbage, "cookie": f"infonn_owner={garbage}"}}
    response = case.call(headers=headers[kind], app=visited.site.app)
    case.validate_response(response, checks=[not_a_server_error])
    if response.status_code >= 400 and "application/json" in str(response.headers.get("content-type")):
        assert isinstance(response.json()["detail"], str)


@schema.parametrize()
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_a_server_error(case, turns) -> None:
    check(case, turns)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_of_many_is_a_server_error(case, turns) -> None:
    check(case, turns)

"""Whatever the OpenAPI document allows, and whatever it forbids: no request is a server error."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error

from web.conftest import NO_LIMITS, Site

SITE = Site(limits=NO_LIMITS)
KEY = SITE.study("s", people={"repeats": True})
PERSON = SITE.person(KEY)
schema = schemathesis.openapi.from_asgi("/api/openapi.json", SITE.app)


def check(case) -> None:
    if "key" in case.path_parameters:
        case.path_parameters["key"] = KEY
    if case.path_parameters.get("name") and len(case.path_parameters["name"]) % 2:
        case.path_parameters["name"] = "s"  # half of the time a study that is there
    headers = PERSON.headers if "/p/" in case.path else SITE.owner
    response = case.call(headers=headers)
    case.validate_response(response, checks=[not_a_server_error])
    if response.status_code >= 400 and "application/json" in str(response.headers.get("content-type")):
        assert isinstance(response.json()["detail"], str)


@schema.parametrize()
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_is_a_server_error(case) -> None:
    check(case)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_of_many_is_a_server_error(case) -> None:
    check(case)

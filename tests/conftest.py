"""Shared by all tests: a fixed generator."""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Machines differ, and other tests run beside: only what is wrong fails, not what is slow.
settings.register_profile("infonn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("infonn")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20231)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server that lives as long as this test process."""
    from databases import postgres

    with postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/study.db"
    return request.getfixturevalue("postgres_server").new_database()

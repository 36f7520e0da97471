"""How many threads the linear algebra of a small matrix should have: one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Threads that wait for each other on a busy machine make a small matrix take a hundred times as long."""
    found: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return found


@lru_cache(maxsize=1)
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController  # finding the libraries takes milliseconds: once

    return ThreadpoolController()

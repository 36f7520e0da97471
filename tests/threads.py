"""A thread of its own for what starts an event loop: browser tests keep one running in the main thread."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_thread(function: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What `function` returns or raises, called in a new thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *values, **named).result()

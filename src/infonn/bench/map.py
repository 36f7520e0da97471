"""`infonn bench page`, its second half: how smoothly the owner's map of a thousand pictures moves."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from infonn.bench.page import chromium_page, picture
from infonn.bench.servers import free_port, server, wait_until_up
from infonn.datasets.items import ItemSet
from infonn.live.transfer import put_study
from infonn.records import Item, ItemFile
from infonn.specs.build import open_live_storage
from infonn.web.security import reset_owner_token

_SIDE = 64  # pixels of a picture
_COUNT = """() => {
    window.frames_at = [];
    const count = (now) => { window.frames_at.push(now); requestAnimationFrame(count); };
    requestAnimationFrame(count);
}"""
_FRAMES = "() => window.frames_at.splice(0)"


def bench_map(n_items: int = 1000, steps: int = 60) -> dict[str, Any]:
    """Frames a second while the pointer walks over the map, while it is dragged, and while it is zoomed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url, port = f"sqlite:///{folder}/bench.db", free_port()
        kept = open_live_storage(url)
        items = ItemSet(tuple(Item(f"item {i}", image=f"{i}.jpg") for i in range(n_items)))
        files = [ItemFile(f"{i}.jpg", "image/jpeg", picture(i, _SIDE)) for i in range(n_items)]
        put_study(kept, {"study": {"name": "bench"}}, items, files)
        points = np.random.default_rng(0).standard_normal((n_items, 3))
        model = {"embedding": points, "plane": points[:, :2], "spread": np.full(n_items, 0.05), "people": {}}
        model |= {"revision": list(kept.revision("bench")), "n_answers": 0, "at": time.time(), "seconds": 0.0}
        kept.save_model("bench", 0, model)
        token = reset_owner_token(kept)
        with server(url, port, folder, workers=0):
            wait_until_up(port)
            return _look_around(f"http://127.0.0.1:{port}", token, steps)


def _look_around(address: str, token: str, steps: int) -> dict[str, Any]:
    with chromium_page() as page:
        page.goto(f"{address}/login?next=/studies/bench#token={token}")
        page.wait_for_selector("#map image", timeout=120_000)
        page.locator("#map").scroll_into_view_if_needed()
        box = page.locator("#map").bounding_box()
        assert box is not None
        left, top, wide, high = box["x"], box["y"], box["width"], box["height"]
        page.evaluate(_COUNT)
        figures: dict[str, Any] = {}
        for what in ("pointing", "dragging", "zooming"):
            page.mouse.move(left + wide / 2, top + high / 2)
            if what == "dragging":
                page.mouse.down()
            page.evaluate(_FRAMES)
            for step in range(steps):
                angle = 2 * np.pi * step / steps
                if what == "zooming":
                    page.mouse.wheel(0, -60 if step < steps // 2 else 60)
                else:
                    page.mouse.move(left + wide * (0.5 + 0.3 * np.sin(angle)), top + high * (0.5 + 0.3 * np.cos(angle)))
                page.wait_for_timeout(16)
            if what == "dragging":
                page.mouse.up()
            at = page.evaluate(_FRAMES)
            apart = np.diff(at)
            figures[f"map_{what}_frames_per_second"] = round(1000 * len(apart) / float(np.sum(apart)), 1)
            figures[f"map_{what}_slowest_frame_s"] = round(float(np.max(apart)) / 1000, 4)
        return figures

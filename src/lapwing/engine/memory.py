"""How much memory there is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def memory() -> float:
    """Bytes of this machine, or what its control group allows of them; infinite where neither tells."""
    try:
        machine = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        machine = float("inf")
    return min(machine, *_allowed(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")))


def _allowed(groups: Path, root: Path) -> list[float]:
    """Limits of the control group of this process and those above it, of either version; [inf] without."""
    limits = [float("inf")]
    with suppress(OSError, ValueError):
        for line in groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            version1 = "memory" in controllers.split(",")
            if controllers and not version1:
                continue
            top = root / "memory" if version1 else root
            name = "memory.limit_in_bytes" if version1 else "memory.max"
            here = top / path.lstrip("/")
            for folder in (here, *here.parents):
                with suppress(OSError, ValueError):
                    limits.append(float((folder / name).read_text()))
                if folder == top:
                    break
    return limits

"""How many fits are run: threads on this machine, and a checkpoint of what they finished.

Kernels release the GIL, and no fit sees another.
"""

from lapwing.engine.checkpoint import Checkpoint
from lapwing.engine.threads import run_all, thread_count

__all__ = ["Checkpoint", "run_all", "thread_count"]

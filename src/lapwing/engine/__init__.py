"""How many fits are run: threads on this machine, and a checkpoint of what they finished.

Kernels release the GIL, and no fit sees another.
"""

from lapwing.engine.checkpoint import Checkpoint
from lapwing.engine.interrupt import interruptible
from lapwing.engine.threads import run_all, thread_count

__all__ = ["Checkpoint", "interruptible", "run_all", "thread_count"]

"""How many fits are run: threads on this machine or a cluster's workers, and a checkpoint of what they finished.

Kernels release the GIL, and no fit sees another.
"""

from lapwing.engine.checkpoint import Checkpoint
from lapwing.engine.cluster import Cluster, connect
from lapwing.engine.interrupt import interruptible
from lapwing.engine.threads import Pool, Threads, run_all, thread_count

__all__ = ["Checkpoint", "Cluster", "Pool", "Threads", "connect", "interruptible", "run_all", "thread_count"]

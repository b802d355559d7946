"""How many fits are run: threads on this machine. Kernels release the GIL, and no fit sees another."""

from lapwing.engine.threads import run_all

__all__ = ["run_all"]

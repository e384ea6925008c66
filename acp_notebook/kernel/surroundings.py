"""
What the kernel offers to a call that is made in a cell.

Everything about the kernel is guarded: outside of one (plain Python, terminal IPython, marimo) this is
what a terminal offers. Nothing of Jupyter is imported for it.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from acp_notebook.host.blocking import Surroundings, plain_surroundings
from acp_notebook.kernel.pump import pump_clicks


def kernel() -> Any:
    """Return the running ipykernel, or None when there is none."""
    module: Any = sys.modules.get("ipykernel.kernelbase")
    if module is None or not module.Kernel.initialized():
        return None
    return module.Kernel.instance()


def surroundings() -> Surroundings:
    """
    Return what there is around the caller.

    In a cell that may read standard input somebody is there: clicks are waited for, then `input()`.
    Otherwise (nbclient, papermill, nbval) the call is headless.
    """
    running = kernel()
    if running is None:
        return plain_surroundings()
    allowed = bool(getattr(running, "_allow_stdin", False))
    return Surroundings(
        headless=not allowed,
        clicks=True,
        # ipykernel replaces the built-in while a cell runs.
        ask=builtins.input if allowed else None,
        idle=lambda: pump_clicks(running),
    )

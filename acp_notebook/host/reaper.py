"""
Owns an agent's process group, so that nothing of it outlives the kernel.

Run as a script: `python -I -S reaper.py --parent PID -- COMMAND ARG…`. It leads a session of its own
and starts the command in it, on the pipes that it was given itself. It ends when

- the command has ended: what is left of its children is ended, and its exit code or signal passed on;
- its parent is gone (the kernel was killed): the command has seen the end of its input by then, gets
  half a second to leave, then SIGTERM, then SIGKILL;
- it is sent SIGTERM: the same without the first wait.

On Linux it is a subreaper: grandchildren that left the group come back to it as orphans and are found.
Standard library only; it imports nothing from the workspace.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACE_S = 0.5
KILL_S = 3.0
POLL_S = 0.25
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
LINUX = sys.platform.startswith("linux")


class Reaper:
    """The one agent process that is watched, and everything that came from it."""

    def __init__(self, parent: int, command: list[str]) -> None:
        self.parent = parent
        self.status: int | None = None
        self.stop_asked = False
        self._wake, wake_write = os.pipe()
        for fd in (self._wake, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, self._ask_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        become_subreaper()
        self.pid = start(command)
        self._parent_fd = open_pid(parent)

    def _ask_stop(self, *_: object) -> None:
        self.stop_asked = True

    def run(self) -> int:
        """Watch until the agent or the parent is gone; return the agent's wait status."""
        while not self.collect() and not self.stop_asked:
            if self.parent_gone():
                self.wait_for_end(GRACE_S)
                break
            self.sleep(None if self._parent_fd is not None else POLL_S)
        self.end_all()
        return self.status if self.status is not None else signal.SIGKILL

    def parent_gone(self) -> bool:
        """Whether the kernel has ended: then we are somebody else's child."""
        return os.getppid() != self.parent

    def sleep(self, seconds: float | None) -> None:
        """Wait for a signal, the parent's end, or that long."""
        fds = [self._wake] + ([self._parent_fd] if self._parent_fd is not None else [])
        try:
            ready, _, _ = select.select(fds, [], [], seconds)
        except InterruptedError:
            return
        if self._wake in ready:
            try:
                os.read(self._wake, 4096)
            except BlockingIOError:
                return

    def collect(self) -> bool:
        """Take in children that have ended; return whether the agent is one of them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.pid:
                self.status = status
        return self.status is not None

    def wait_for_end(self, seconds: float) -> None:
        """Give the agent that long to end by itself."""
        deadline = time.monotonic() + seconds
        while not self.collect() and time.monotonic() < deadline and not self.stop_asked:
            self._parent_fd = None  # it is gone, and would be reported for ever
            self.sleep(min(0.05, seconds))

    def end_all(self) -> None:
        """End the group and every descendant: SIGTERM, half a second, SIGKILL until none is left."""
        self._parent_fd = None
        for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, KILL_S)):
            deadline = time.monotonic() + seconds
            told: set[int] = set()
            while True:
                self.collect()
                left = self.leftovers()
                if not left:
                    return
                for pid in left:
                    # Killed ones may still be seen; new ones may have come in between.
                    if number == signal.SIGKILL or pid not in told:
                        told.add(pid)
                        send(pid, number)
                if time.monotonic() >= deadline:
                    break
                self.sleep(0.02)

    def leftovers(self) -> list[int]:
        """Pids that came from the agent and still run."""
        if LINUX:
            return descendants(os.getpid())
        return [self.pid] if self.status is None else []


def start(command: list[str]) -> int:
    """Start the command with our pipes and default signals; then let go of its stdin and stdout."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            for name in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(name, signal.SIG_DFL)  # Python ignores them, and exec would keep that
            os.execvp(command[0], command)  # noqa: S606
        except OSError as error:
            os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return pid


def become_subreaper() -> None:
    """On Linux, have orphans below us come back to us."""
    if LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def open_pid(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process ends, where there is such a thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def descendants(root: int) -> list[int]:
    """Every running process below `root`, from /proc; zombies do not count."""
    children: dict[int, list[int]] = {}
    zombies: set[int] = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208  plain os calls keep the start quick
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(entry))
        if state == b"Z":
            zombies.add(int(entry))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        todo.extend(below)
        found.extend(pid for pid in below if pid not in zombies)
    return found


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended meanwhile."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def leave(status: int) -> None:
    """End as the agent ended: with its exit code, or by its signal and without a second core file."""
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def main(argv: list[str]) -> None:
    """Read `--parent PID -- COMMAND…` and watch over the command."""
    split = argv.index("--")
    parent = int(argv[argv.index("--parent") + 1])
    leave(Reaper(parent, argv[split + 1 :]).run())


if __name__ == "__main__":
    main(sys.argv[1:])

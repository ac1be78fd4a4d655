"""Starts the program of a container. It ends when the process that started it ends.

python launch.py PARENT ROOT USER COMMAND...

PARENT is the process that starts it. The program gets the folder ROOT as its root and the number
USER as its user and group, unless they are "".
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_START = 128  # the kubelet's exit code for such a container


def main(parent: str, root: str, user: str, *command: str) -> None:
    prctl = ctypes.CDLL(None).prctl
    if root:
        os.chroot(root)
        os.chdir("/")
    if user:
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    # After a change of the user the kernel forgets this signal.
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit(CANNOT_START)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])

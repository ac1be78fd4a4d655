"""Python in a pod of the test machine: the host has the pod's name, as in a container."""

import os
import socket

socket.gethostname = lambda: os.environ["HOSTNAME"]

"""Fractions of GPUs: what pods that share a device need besides their binding, without I/O.

    container = fraction_container(pod)              # the one that gets the device
    names = config_maps(pod)                         # its two ConfigMaps, by the pod's annotation
    bodies = config_map_bodies(pod, ["GPU-1"], "0.50")
    holder = reservation_pod("node-1", "group", tolerations, Reservations(image="kai-sched:1"))

Admission writes the names into a new pod, and the kubelet starts the container once the ConfigMaps
exist. They are created before the pod is bound and name its device. A reservation pod holds that
device and reports its UUID.
"""

from kai.controllers.pods.sharing.reservation_pod import (
    Reservations,
    reservation_name,
    reservation_pod,
)
from kai.controllers.pods.sharing.shared_pod import (
    ConfigMaps,
    FractionContainer,
    config_map_bodies,
    config_map_prefix,
    config_maps,
    fraction_container,
    needs_memory_of_node,
    shares_gpus,
)

__all__ = [
    "ConfigMaps",
    "FractionContainer",
    "Reservations",
    "config_map_bodies",
    "config_map_prefix",
    "config_maps",
    "fraction_container",
    "needs_memory_of_node",
    "reservation_name",
    "reservation_pod",
    "shares_gpus",
]

"""Parts of GPUs: what pods that share a device need besides their binding, decided without I/O.

    container = fraction_container(pod)              # the one that gets the device
    names = config_maps(pod)                         # its two ConfigMaps, by the pod's annotation
    bodies = config_map_bodies(pod, ["GPU-1"], "0.50")
    holder = reservation_pod("node-1", "group", tolerations, Reservations(image="kai-sched:1"))

Admission writes the names into a new pod, and the kubelet starts the container once the ConfigMaps
are there: before the pod is bound they are made with the device that the pod got, which a
reservation pod holds and names.
"""

from kai.controllers.sharing.reservation_pod import (
    Reservations,
    reservation_name,
    reservation_pod,
)
from kai.controllers.sharing.shared_pod import (
    ConfigMaps,
    FractionContainer,
    config_map_bodies,
    config_map_prefix,
    config_maps,
    fraction_container,
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
    "reservation_name",
    "reservation_pod",
    "shares_gpus",
]

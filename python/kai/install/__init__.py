"""The manifests that a cluster needs for kai, as data without I/O.

    manifests.crds()                            # the six CustomResourceDefinitions
    manifests.everything(namespace="kai-scheduler", image="registry/kai-sched:1")

`kai install` prints them.
"""

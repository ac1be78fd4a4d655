"""What a cluster needs before kai runs in it, as manifests: data, and no I/O.

    manifests.crds()                            # the six CustomResourceDefinitions
    manifests.everything(namespace="kai-scheduler", image="registry/kai-sched:1")

`kai install` prints them.
"""

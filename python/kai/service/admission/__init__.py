"""`kai run admission`: the webhooks of pods, queues, pod groups and topologies.

    await run(client, AdmissionOptions(), log, stop)

It holds no lease and plans nothing: all replicas answer. A replica keeps answering while the API
server's own requests to it are the only ones that work.
"""

from kai.service.admission.options import AdmissionOptions
from kai.service.admission.program import run

__all__ = ["AdmissionOptions", "run"]

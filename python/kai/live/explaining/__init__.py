"""The pages of `kai explain` about a pod of a running cluster.

facts = await pod_facts.read(client, options, "team/train-0")     # the only I/O
report = pod_layers.report_of(facts)
report.waits_for.sentence                                         # in one sentence
"""

"""Changes that would start a waiting pod group, proposed from the sums of a plan, and proven.

`proposals` has the table of interventions for each reason, `ladders` the search for the smallest
value, `trials` plans the changed cluster, and `fixes` makes the answer.
"""

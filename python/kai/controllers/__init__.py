"""The decisions of each role of the control plane, as functions from facts to writes, without
I/O."""

"""What each role of the control plane decides, as functions from facts to writes, without I/O."""

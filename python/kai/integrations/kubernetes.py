"""Plain Kubernetes: pods, and whatever is made from a pod template (spec 7 §16, J1-J6)."""

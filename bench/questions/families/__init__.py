"""What several questions ask of kernels of a kind: how they are called, their operations and bytes, their peers."""

"""What bench/memory_ops.py is made of."""

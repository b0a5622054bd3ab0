"""What is known of a node, judged: who holds the GPUs, what may be freed, and whether it is free. Pure."""

"""EAGLE-3 wiring, purely: what two configs and a shape table say of each other. It judges; lint words the findings."""

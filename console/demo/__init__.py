"""The embedded node: a stand-in server, a stub nvidia-smi and a home for them. No GPU, no SGLang; all SIMULATED."""

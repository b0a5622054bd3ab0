"""Stand-in for torchvision.

The published torchvision wheel is built against CUDA torch and does not load beside a CPU-only torch. SGLang and
transformers import a few names from it at start-up for image input; a text-only server calls none of them.
"""

__version__ = "0.0.0"

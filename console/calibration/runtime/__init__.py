"""What the serving Python of a node runs to write a pair and its predictions: never imported by the console.

Python 3.8 syntax, torch and safetensors only. `__main__.py` is the entry; the files travel as one zip.
"""

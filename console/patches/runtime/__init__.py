"""What patches put into a node's tree and what therefore runs inside the server: never imported by the console.

Python 3.8 syntax, standard library only; torch is used only if the server has it loaded.
"""

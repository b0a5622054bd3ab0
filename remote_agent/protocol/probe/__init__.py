"""What a probe sends, reads and writes down, whoever runs it: the agent on its node, or the console for a URL. Pure.

The events of the spool are a contract of both: each is made in one place, `load` and `trace`.
"""

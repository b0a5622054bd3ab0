"""What is measured on a server and what may be concluded from it: workload, metrics, statistics, comparison.

Pure: values in, values out. The measuring itself is done on the node (`remote_agent.probe`), whose spool of events is
read here. Two files reach outside: `client.py` (an endpoint that the console reaches itself) and `prompts/` (the texts
that ship with the console).
"""

"""Reaching a node: transports, bootstrap of the agent, the wire, the session, the typed agent."""

"""Launch: a YAML profile becomes the exact command line and environment of a server. Pure but for `library`.

library (finds and reads files) → loader (extends, --set, variables, checks) → `ResolvedProfile` → command (argv, env)
and needs (what preflight must ask the node).
"""

"""The terminal interface: draws the state and names actions. The only home of Textual.

bridge ──events──▶ stream ──state──▶ app ──▶ screen ──▶ widgets
                                      ▲                    │ messages
actions ◀──plan, run── runner ◀──keys─┴────────────────────┘
"""

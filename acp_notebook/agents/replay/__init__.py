"""
An agent that plays a record: the same updates in the same order, for tests, teaching and notebooks.

It runs as `python -P -m acp_notebook.agents.replay [--speed N] FILE`. `record` reads the file,
`player` holds the rules of playing without I/O.
"""

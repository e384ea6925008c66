"""
The agent that is there when nothing else is chosen: no model, no key, no network.

It works by rules. `/demo` shows every kind of item that a chat can have, `/find` searches the files
of the working directory. It runs as `python -P -m acp_notebook.agents.explorer`, started and driven
like any other agent.
"""

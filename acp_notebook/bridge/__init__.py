"""The agent side: OpenClaw's ACP bridge. Knows nothing of host or widget."""

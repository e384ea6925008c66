"""What the notebook gives the agent."""

"""The notebook face of a chat; imported only when a chat is displayed."""

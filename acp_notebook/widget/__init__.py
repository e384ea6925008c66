"""The notebook face of a chat: an anywidget, its view protocol, and the kernel's side of both."""

from acp_notebook.widget.chat_widget import ChatWidget

__all__ = ["ChatWidget"]

"""
What a session looks like after its updates: the reducer, its snapshot, and display groups.

Pure code of the standard library only. See docs/architecture.md for what others may lean on.
"""

from acp_notebook.timeline.groups import AssistantTurn, Group, GroupCache, UserGroup, group_timeline
from acp_notebook.timeline.items import (
    Item,
    Location,
    MessageSegment,
    Notice,
    Permission,
    PermissionOption,
    Plan,
    PlanEntry,
    Thought,
    ToolCall,
    ToolCalls,
)
from acp_notebook.timeline.limits import Limits
from acp_notebook.timeline.metadata import AgentInfo, Metadata
from acp_notebook.timeline.parts import (
    Attachment,
    Audio,
    Blob,
    Diff,
    Error,
    ExitStatus,
    Image,
    Markdown,
    Part,
    Terminal,
    Unsupported,
)
from acp_notebook.timeline.prose import CodeBlock, Table
from acp_notebook.timeline.questions import Question, Questions
from acp_notebook.timeline.records import load_record
from acp_notebook.timeline.reducer import Timeline
from acp_notebook.timeline.snapshot import TimelineSnapshot
from acp_notebook.timeline.text import Text
from acp_notebook.timeline.turns import Turn, TurnAgent, TurnError, Usage

__all__ = [
    "AgentInfo",
    "AssistantTurn",
    "Attachment",
    "Audio",
    "Blob",
    "CodeBlock",
    "Diff",
    "Error",
    "ExitStatus",
    "Group",
    "GroupCache",
    "Image",
    "Item",
    "Limits",
    "Location",
    "Markdown",
    "MessageSegment",
    "Metadata",
    "Notice",
    "Part",
    "Permission",
    "PermissionOption",
    "Plan",
    "PlanEntry",
    "Question",
    "Questions",
    "Table",
    "Terminal",
    "Text",
    "Thought",
    "Timeline",
    "TimelineSnapshot",
    "ToolCall",
    "ToolCalls",
    "Turn",
    "TurnAgent",
    "TurnError",
    "Unsupported",
    "Usage",
    "UserGroup",
    "group_timeline",
    "load_record",
]

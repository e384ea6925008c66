"""What updates and responses say about the session itself (rule 15), and notices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acp_notebook.timeline import prompts
from acp_notebook.timeline.content import text_of_block
from acp_notebook.timeline.drafts import NoticeDraft
from acp_notebook.timeline.metadata import AgentInfo, Cost, WindowUsage
from acp_notebook.timeline.plain import number, plain, text_or_none, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp_notebook.timeline.fold import Fold


def change(fold: Fold, **fields: Any) -> None:
    """Take these values of the metadata; the same values change nothing."""
    changed = replace(fold.metadata, **fields)
    if changed != fold.metadata:
        fold.metadata = changed
        fold.changed = True


def objects(fold: Fold, value: Any, where: str) -> tuple[Mapping[str, Any], ...] | None:
    """Read a list of objects; what is none is counted, no list at all gives None."""
    if not isinstance(value, list):
        fold.count(where)
        return None
    kept = []
    for member in value:
        if isinstance(member, dict):
            kept.append(plain(member))
        else:
            fold.count(where)
    return tuple(kept)


def available_commands_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take the commands, a whole list each time."""
    commands = objects(
        fold, update.get("availableCommands"), "available_commands_update.availableCommands"
    )
    if commands is not None:
        change(fold, available_commands=commands)


def current_mode_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take the mode, also one that was never offered."""
    mode = text_or_none(update.get("currentModeId"))
    if mode is None:
        fold.count("current_mode_update.currentModeId")
    else:
        change(fold, current_mode_id=mode)


def config_option_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take the options, a whole list each time."""
    options = objects(fold, update.get("configOptions"), "config_option_update.configOptions")
    if options is not None:
        change(fold, config_options=options)


def session_info_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take title and time; what is left out is unchanged, null clears."""
    for key, field in (("title", "title"), ("updatedAt", "updated_at")):
        if key in update:
            value = update[key]
            if value is None or isinstance(value, str):
                change(fold, **{field: text_or_none(value)})
            else:
                fold.count(f"session_info_update.{key}")


def usage_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take the window's use; a cost that is left out stays."""
    known = fold.metadata.usage
    cost = known.cost if known else None
    given = update.get("cost")
    if given is not None:
        amount = number(given.get("amount")) if isinstance(given, dict) else None
        if amount is None:
            fold.count("usage_update.cost")
        else:
            cost = Cost(amount, text_or_none(given.get("currency")))
    used, size = whole_number(update.get("used")), whole_number(update.get("size"))
    if used is None:
        fold.count("usage_update.used")
    if size is None:
        fold.count("usage_update.size")
    change(fold, usage=WindowUsage(used, size, cost))


def state_update(fold: Fold, update: dict[str, Any]) -> None:
    """Take the state of the agent's work (v2): `idle` ends the turn."""
    state = update.get("state")
    if state == "idle":
        reason = text_or_none(update.get("stopReason"))
        prompts.settle(fold, reason, usage=prompts.usage_of(update.get("usage")))
    elif state in ("running", "requires_action"):
        if not fold.running:
            prompts.resume(fold)
    else:
        fold.count("state_update.state")


def notice(fold: Fold, update: dict[str, Any]) -> None:
    """Show what the agent wants the user to know."""
    title = text_or_none(update.get("title"))
    if not title:
        fold.count("notice.title")
        return
    detail = text_or_none(update.get("description"))
    text = f"{title}\n\n{detail}" if detail else title
    add_notice(fold, text_or_none(update.get("severity")) or "info", text, "agent")


def add_notice(fold: Fold, level: str, text: str, source: str) -> NoticeDraft | None:
    """Add a notice at the end; None when the timeline is full."""
    if not fold.room():
        return None
    fold.close_all()
    draft = NoticeDraft(fold.next_notice_id(), level, text, source, historical=fold.historical)
    fold.add(draft)
    return draft


def compaction_update(fold: Fold, update: dict[str, Any]) -> None:
    """Show a compaction of the context; later updates of its id patch it in place."""
    draft = compaction(fold, update, "compaction_update")
    if draft is None:
        return
    status = text_or_none(update.get("status")) or ""
    draft.level = "error" if status == "failed" else "info"
    if status == "failed" and isinstance(update.get("error"), str):
        draft.text = plain(update["error"])
    elif "summary" in update:
        summary = update["summary"]
        pieces = [text_of_block(block) for block in summary] if isinstance(summary, list) else []
        draft.text = plain("".join(piece for piece in pieces if piece))
    fold.touch(draft)


def compaction_summary_chunk(fold: Fold, update: dict[str, Any]) -> None:
    """Add to the summary of a compaction."""
    draft = compaction(fold, update, "compaction_summary_chunk")
    if draft is None:
        return
    text = text_of_block(update.get("content"))
    if text is None:
        fold.count("compaction_summary_chunk.content")
    else:
        draft.text += plain(text)
        fold.touch(draft)


def compaction(fold: Fold, update: dict[str, Any], kind: str) -> NoticeDraft | None:
    """Return the notice of a compaction, new when it is not known."""
    compaction_id = update.get("compactionId")
    if not isinstance(compaction_id, str) or not compaction_id:
        fold.count(f"{kind}.compactionId")
        return None
    draft = fold.compactions.get(compaction_id)
    if draft is None:
        draft = add_notice(fold, "info", "", "compaction")
        if draft is not None:
            fold.compactions[compaction_id] = draft
    return draft


def response(fold: Fold, method: str, result: Any, params: Any) -> None:
    """Take modes, options, models and the agent's name from a response, and what we had asked."""
    result = result if isinstance(result, dict) else {}
    if method == "initialize":
        info = result.get("agentInfo") or result.get("info")
        if isinstance(info, dict):
            name, title, version = (text_or_none(info.get(k)) for k in ("name", "title", "version"))
            fold.agent = AgentInfo(name, title, version)
            fold.changed = True
        return
    # Some agents answer `{}` and announce nothing (gemini): then what was asked is what holds.
    if isinstance(params, dict) and method == "session/set_mode":
        asked = text_or_none(params.get("modeId"))
        if asked is not None:
            change(fold, current_mode_id=asked)
    if isinstance(params, dict) and method == "session/set_model":
        asked = text_or_none(params.get("modelId"))
        if asked is not None:
            change(fold, current_model_id=asked)
    modes, mode = selection(fold, result.get("modes"), "Mode", method)
    if modes is not None:
        change(fold, available_modes=modes)
    if mode is not None:
        change(fold, current_mode_id=mode)
    models, model = selection(fold, result.get("models"), "Model", method)
    if models is not None:
        change(fold, models=models)
    if model is not None:
        change(fold, current_model_id=model)
    if isinstance(result.get("configOptions"), list):
        options = objects(fold, result["configOptions"], f"{method}.configOptions")
        change(fold, config_options=options)


def selection(
    fold: Fold, given: Any, noun: str, method: str
) -> tuple[tuple[Mapping[str, Any], ...] | None, str | None]:
    """Read what is offered and which is current: `{availableModes, currentModeId}` and the like."""
    if not isinstance(given, dict):
        return None, None
    offered = f"available{noun}s"
    available = objects(fold, given[offered], f"{method}.{offered}") if offered in given else None
    return available, text_or_none(given.get(f"current{noun}Id"))

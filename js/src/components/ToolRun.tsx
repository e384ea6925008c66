// Tool calls in a row. While the turn runs they stand one below the other; one second after it has settled
// two or more become one line with their number.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Permission, ToolCall, Turn } from "../messages";
import { t } from "../strings";
import { useLocal, usePanel } from "./context";
import { FOLD_AFTER_MS, isOpenCall } from "./folding";
import { Icon, isIcon } from "./icons";
import { PermissionCard } from "./Permission";
import { ToolCard } from "./ToolCard";

export function ToolRun({ ids, turn, historical }: { ids: readonly string[]; turn: Turn | undefined; historical: boolean }): JSX.Element {
  const { store, follow } = usePanel();
  const items = ids.map((id) => store.item(id).value).filter((item) => item !== undefined);
  const calls = items.filter((item): item is ToolCall => item.kind === "tool-call");
  const asking = (call: ToolCall): Permission | null =>
    items.find((item): item is Permission => item.kind === "permission" && item.status === "pending" && item.toolCallId === call.toolCallId) ?? null;
  const key = ids[0] ?? "";
  const settled = turn?.state !== "running" && !items.some((item) => item.kind === "permission" && item.status === "pending");
  const longAgo = historical || (typeof turn?.endedAt === "number" && Date.now() / 1000 - turn.endedAt > FOLD_AFTER_MS / 1000 + 1);
  const folds = useLocal(`run-folds:${key}`, settled && longAgo);
  const byHand = useLocal<boolean | null>(`run:${key}`, null);
  useEffect(() => {
    if (!settled) {
      folds.value = false;
      return undefined;
    }
    const timer = setTimeout(() => { folds.value = true; }, historical ? 0 : FOLD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [settled, historical]);
  const grouped = calls.length > 1 && settled && folds.value;
  const open = !grouped || (byHand.value ?? false);
  const failed = calls.filter((call) => call.status === "failed").length;
  const unfinished = calls.filter((call) => isOpenCall(call)).length;
  const kinds = [...new Set(calls.map((call) => (isIcon(call.toolKind) ? call.toolKind : "other")))];
  return (
    <div class={`acp-run ${grouped ? "acp-run-grouped" : ""}`}>
      {grouped && (
        <button type="button" class="acp-run-head" aria-expanded={open} onClick={() => { follow.hold(); byHand.value = !open; }}>
          <span class="acp-chevron"><Icon name="chevron" /></span>
          <span>{t("tool.calls", { count: calls.length })}</span>
          <span class="acp-run-kinds">{kinds.map((kind) => <Icon key={kind} name={kind} />)}</span>
          {failed > 0 && <span class="acp-status-failed">{t("tool.callsFailed", { count: failed })}</span>}
          {unfinished > 0 && <span class="acp-muted">{unfinished} {t("tool.noResult")}</span>}
        </button>
      )}
      {open && (
        <div class="acp-run-items">
          {items.map((item) => item.kind === "permission"
            ? <PermissionCard key={item.id} id={item.id} />
            : item.kind === "tool-call" && <ToolCard key={item.id} id={item.id} asking={asking(item)} />)}
        </div>
      )}
    </div>
  );
}

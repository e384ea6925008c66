// A group of the timeline: what the person asked, or all that the agent did about it.
import type { JSX } from "preact";
import { useComputed } from "@preact/signals";
import type { Item, Turn } from "../messages";
import { t, tOr } from "../strings";
import { Attachments } from "./Attachment";
import { copyText } from "./clipboard";
import { agentName, useLocal, usePanel, useStore } from "./context";
import { between, count, duration, money } from "./format";
import { Icon, IconButton } from "./icons";
import { AssistantMessage, UserMessage } from "./Message";
import { PermissionCard } from "./Permission";
import { PlanLine } from "./Plan";
import { ThoughtLine } from "./Thought";
import { ToolRun } from "./ToolRun";
import type { Store } from "../store";

interface Entry { kind: Item["kind"] | "run"; id: string; ids?: string[] }

/** Items in order; tool calls in a row, with the permissions asked for them, are one run. */
function layout(store: Store, itemIds: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  for (const id of itemIds) {
    const item = store.item(id).value;
    if (!item) continue;
    const last = entries.at(-1);
    const joins = item.kind === "tool-call" || (item.kind === "permission" && item.toolCallId !== null && last?.kind === "run");
    if (joins && last?.kind === "run") last.ids?.push(id);
    else if (item.kind === "tool-call") entries.push({ kind: "run", id, ids: [id] });
    else entries.push({ kind: item.kind, id });
  }
  return entries;
}

export function UserGroup({ id, alone }: { id: string; alone: boolean }): JSX.Element | null {
  const store = useStore();
  const group = store.group(id).value;
  if (!group) return null;
  const items = group.itemIds.map((itemId) => store.item(itemId).value).filter((item) => item?.kind === "message-segment");
  const failed = items.some((item) => item?.kind === "message-segment" && item.failed);
  return (
    <section class={`acp-group acp-user ${failed ? "acp-failed" : ""}`} data-group={id} aria-label={t("you")}>
      {items.map((item) => item?.kind === "message-segment" && <UserMessage key={item.id} item={item} />)}
      <Attachments refIds={group.attachments} />
      {failed && <div class="acp-not-sent">{t("turn.prompt-failed")}</div>}
      {alone && group.turnIndex !== null && <TurnEnd index={group.turnIndex} empty copy={null} />}
    </section>
  );
}

/** All that the agent said in the group, as it wrote it. */
function answerText(store: Store, itemIds: readonly string[]): string {
  let text = "";
  let side = false;
  for (const id of itemIds) {
    const item = store.item(id).peek();
    if (item?.kind !== "message-segment" || item.role !== "assistant") {
      side = false;
      continue;
    }
    const own = item.parts.map((part, index) => (part.kind === "markdown" ? store.text(id, index) : "")).join("");
    text += text && !side ? `\n\n${own}` : own;
    side = true;
  }
  return text;
}

export function AssistantGroup({ id }: { id: string }): JSX.Element | null {
  const store = useStore();
  const group = store.group(id).value;
  const entries = useComputed(() => JSON.stringify(layout(store, store.group(id).value?.itemIds ?? [])));
  const streaming = useComputed(() => store.meta.streamingSegments.value.at(-1) ?? null);
  const turn = useComputed(() => {
    const index = store.group(id).value?.turnIndex;
    return index === null || index === undefined ? undefined : store.turn(index).value;
  }).value;
  if (!group) return null;
  const running = turn?.state === "running";
  const agent = agentName(store);
  return (
    <section class={`acp-group acp-assistant ${running ? "acp-running" : ""}`} data-group={id} aria-label={agent}>
      <div class="acp-identity" aria-hidden="true" title={agent}>{[...agent.trim()][0]?.toUpperCase() ?? "?"}</div>
      <div class="acp-content">
        {(JSON.parse(entries.value) as Entry[]).map((entry) => {
          const live = running && streaming.value === entry.id;
          switch (entry.kind) {
            case "run": return <ToolRun key={entry.id} ids={entry.ids ?? []} turn={turn} historical={store.item(entry.id).peek()?.historical === true} />;
            case "message-segment": return <AssistantMessage key={entry.id} id={entry.id} streaming={live} />;
            case "thought": return <ThoughtLine key={entry.id} id={entry.id} streaming={live} />;
            case "permission": return <PermissionCard key={entry.id} id={entry.id} />;
            case "plan": return <PlanLine key={entry.id} id={entry.id} />;
            case "notice": return <NoticeLine key={entry.id} id={entry.id} />;
            default: return null;
          }
        })}
        <Attachments refIds={group.attachments} />
        {turn && <TurnEnd index={turn.index} empty={false} copy={() => answerText(store, group.itemIds)} />}
        {!turn && <Footer turn={null} copy={() => answerText(store, group.itemIds)} />}
      </div>
    </section>
  );
}

function NoticeLine({ id }: { id: string }): JSX.Element | null {
  const item = useStore().item(id).value;
  if (item?.kind !== "notice") return null;
  const grave = item.level === "warning" || item.level === "error";
  const end = item.source === "agent" ? item.text.indexOf("\n\n") : -1; // an agent's title, then what it says
  return (
    <div class={`acp-line acp-notice acp-notice-${item.level}`} data-item={id}>
      <Icon name={grave ? "warning" : "info"} />
      <span dir="auto">{end < 0 ? item.text : <><strong>{item.text.slice(0, end)}</strong>{`\n${item.text.slice(end + 2)}`}</>}</span>
    </div>
  );
}

const PLAIN_STOPS = new Set(["end_turn", null]);

function stopSentence(turn: Turn): string | null {
  if (turn.stoppedByUser) return t("stop.byUser");
  if (PLAIN_STOPS.has(turn.stopReason)) return null;
  return tOr(`stop.${turn.stopReason ?? ""}`, t("stop.other", { reason: turn.stopReason ?? "" }));
}

/** What stands last in a turn: its error, why it stopped, and the footer. */
function TurnEnd({ index, empty, copy }: { index: number; empty: boolean; copy: (() => string) | null }): JSX.Element | null {
  const turn = useStore().turn(index).value;
  if (!turn || turn.state === "running") return null;
  const stop = stopSentence(turn);
  return (
    <>
      {turn.error && <TurnError turn={turn} error={turn.error} />}
      {empty && !turn.error && !stop && turn.endedAt !== null && <div class="acp-line acp-stop">{t("turn.empty")}</div>}
      {stop && !turn.error && <div class={`acp-line acp-stop ${turn.stoppedByUser ? "" : "acp-stop-odd"}`}><Icon name="stopped" />{stop}</div>}
      <Footer turn={turn} copy={copy} />
    </>
  );
}

/** Agents hide the true reason behind "Internal error": the first sentence in the error's data. */
function reasonOf(data: unknown, message: string): string | null {
  if (typeof data === "string") return data.length < 400 && data !== message ? data : null;
  if (typeof data !== "object" || data === null) return null;
  const fields = data as Record<string, unknown>;
  for (const name of ["details", "detail", "message", "reason", "error"]) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    const found = reasonOf(value, message);
    if (found) return found;
  }
  return null;
}

function TurnError({ turn, error }: { turn: Turn; error: NonNullable<Turn["error"]> }): JSX.Element {
  const open = useLocal(`turn-error:${turn.index}`, false);
  const detail = error.data === null || error.data === undefined ? "" : typeof error.data === "string" ? error.data : JSON.stringify(error.data, null, 2);
  const reason = reasonOf(error.data, error.message);
  return (
    <div class="acp-error" role="group" aria-label={t("turn.failed")}>
      <Icon name="warning" />
      <div class="acp-error-main">
        <strong>{t("turn.failed")}</strong>
        <div dir="auto">{error.message}{error.code !== null && <span class="acp-muted"> ({error.code})</span>}</div>
        {reason && <div dir="auto">{reason}</div>}
        {detail && (
          <>
            <button type="button" class="acp-link-button" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>{t("error.detail")}</button>
            {open.value && <pre class="acp-error-detail" dir="ltr" tabIndex={0}>{detail}</pre>}
          </>
        )}
      </div>
    </div>
  );
}

function numbers(usage: Record<string, unknown> | null, ...names: string[]): number | null {
  const values = names.map((name) => usage?.[name]).filter((value): value is number => typeof value === "number" && Number.isFinite(value) && value > 0);
  return values[0] ?? null;
}

function Footer({ turn, copy }: { turn: Turn | null; copy: (() => string) | null }): JSX.Element | null {
  const { say } = usePanel();
  const took = between(turn?.startedAt, turn?.endedAt);
  const total = numbers(turn?.usage ?? null, "totalTokens", "total_tokens");
  const input = numbers(turn?.usage ?? null, "inputTokens", "input_tokens");
  const output = numbers(turn?.usage ?? null, "outputTokens", "output_tokens");
  const facts: string[] = [];
  if (took !== null && took >= 1) facts.push(t("footer.took", { time: duration(took) }));
  if (input !== null && output !== null) facts.push(`${t("footer.tokensIn", { count: count(input) })}, ${t("footer.tokensOut", { count: count(output) })}`);
  else if (total !== null) facts.push(t("footer.tokens", { count: count(total) }));
  const cost = money(turn?.usage?.["cost"]);
  if (cost) facts.push(cost);
  const text = copy?.() ?? "";
  if (facts.length === 0 && !text) return null;
  return (
    <footer class="acp-footer" aria-label={t("footer.label")}>
      {facts.map((fact, index) => <span key={index}>{fact}</span>)}
      {text && <IconButton class="acp-copy" icon="copy" label={t("copy.answer")} onClick={async () => say(t((await copyText(copy?.() ?? "")) ? "copied" : "copy"))} />}
    </footer>
  );
}

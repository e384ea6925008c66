// The conversation: its groups, the working line, and the button that leads back to its end.
import type { JSX } from "preact";
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { useNow } from "./clock";
import { agentName, useLocal, usePanel, useStore } from "./context";
import { duration } from "./format";
import { Elicitations } from "./Elicitation";
import { Icon } from "./icons";
import { AssistantGroup, UserGroup } from "./Turn";

export function Timeline(): JSX.Element {
  const { store, follow } = usePanel();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => follow.attach(scroller.current as HTMLElement, content.current as HTMLElement), [follow]);
  return (
    <div class="acp-stage">
      <div class="acp-scroller" ref={scroller} tabIndex={0} role="log" aria-live="off" aria-label={t("timeline.label")}>
        <div class="acp-timeline" ref={content}>
          {store.loading.value && <div class="acp-line acp-loading"><span class="acp-spinner" />{t("timeline.loading")}</div>}
          <Groups />
          <Elicitations />
          <Working />
        </div>
      </div>
      <ToEnd />
    </div>
  );
}

/** Groups that are drawn at once, from the end; older ones come while the browser has nothing to do. */
const FIRST_GROUPS = 24;
const MORE_GROUPS = 30;

const whenIdle: (work: () => void) => () => void =
  typeof requestIdleCallback === "function"
    ? (work) => { const id = requestIdleCallback(work, { timeout: 500 }); return () => cancelIdleCallback(id); }
    : (work) => { const id = setTimeout(work, 30); return () => clearTimeout(id); };

/** How many of the oldest groups are not drawn yet. */
function useHidden(ids: readonly string[]): number {
  const all = useLocal("all-groups", false);
  const state = useRef({ first: "", hidden: 0 });
  const drawn = useSignal(0);
  const { current } = state;
  const before = current.first === "" ? -1 : ids.indexOf(current.first);
  if (before < 0) current.hidden = Math.max(0, ids.length - FIRST_GROUPS);
  else current.hidden += before; // an older piece of the snapshot came
  current.first = ids[0] ?? "";
  if (all.value) current.hidden = 0;
  void drawn.value;
  useEffect(() => {
    if (current.hidden === 0) return undefined;
    return whenIdle(() => {
      current.hidden = Math.max(0, current.hidden - MORE_GROUPS);
      drawn.value += 1;
    });
  });
  return current.hidden;
}

interface GroupRow { id: string; user: boolean; alone: boolean }

function Groups(): JSX.Element {
  const store = useStore();
  const rows = useComputed(() => {
    const groups = store.groups.value;
    const answered = new Set(groups.filter((group) => group.kind === "assistant-turn").map((group) => group.turnIndex));
    return JSON.stringify(groups.map((group): GroupRow => ({ id: group.id, user: group.kind === "user", alone: !answered.has(group.turnIndex) })));
  });
  const whole = JSON.parse(rows.value) as GroupRow[];
  const shown = whole.slice(useHidden(whole.map(({ id }) => id)));
  if (shown.length === 0 && !store.loading.value) return <Empty />;
  return <>{shown.map(({ id, user, alone }) => (user ? <UserGroup key={id} id={id} alone={alone} /> : <AssistantGroup key={id} id={id} />))}</>;
}

function Empty(): JSX.Element {
  const store = useStore();
  return (
    <div class="acp-empty">
      <div class="acp-empty-title">{t("timeline.empty", { agent: agentName(store) })}</div>
      <div class="acp-muted">{t("timeline.emptyHint")}</div>
    </div>
  );
}

/** Follows the same state as Stop: what the agent does now, and for how long. */
function Working(): JSX.Element | null {
  const store = useStore();
  const status = store.meta.status.value;
  const busy = status === "running" || status === "stopping";
  const starting = status === "starting" || status === "authenticating";
  const since = store.meta.runningSince.value;
  const now = useNow(busy);
  const tool = useComputed(() => {
    const last = store.groups.value.at(-1);
    if (last?.kind !== "assistant-turn") return null;
    for (let at = last.itemIds.length - 1; at >= Math.max(0, last.itemIds.length - 40); at -= 1) {
      const item = store.item(last.itemIds[at] as string).value;
      if (item?.kind === "permission" && item.status === "pending" && !item.historical) return "?";
      if (item?.kind === "tool-call" && item.status === "in_progress" && !item.noResult && !item.historical) return item.title;
    }
    return null;
  }).value;
  if (!busy && !starting) {
    if (status !== "idle" || tool === null || tool === "?") return null;
    return <div class="acp-line acp-working acp-quiet"><span class="acp-pulse-dot" />{t("working.background")}</div>;
  }
  const text =
    status === "stopping" ? t("status.stopping")
    : starting ? (store.meta.phase.value || t(`status.${status}`))
    : tool === "?" ? t("working.waiting")
    : tool ? t("working.tool", { title: tool }) : t("working");
  return (
    <div class="acp-line acp-working" role="status" aria-live="off">
      <span class="acp-dots" aria-hidden="true"><i /><i /><i /></span>
      <span class="acp-working-text" dir="auto">{text}</span>
      {busy && since !== null && <span class="acp-muted acp-nowrap">{duration(Math.max(0, now - since))}</span>}
    </div>
  );
}

function ToEnd(): JSX.Element | null {
  const { follow } = usePanel();
  if (follow.following.value) return null;
  return (
    <button type="button" class={`acp-to-end ${follow.fresh.value ? "acp-fresh" : ""}`} onClick={() => follow.toEnd(true)} aria-label={t(follow.fresh.value ? "timeline.below" : "timeline.end")}>
      <Icon name="down" />{follow.fresh.value && <span>{t("timeline.below")}</span>}
    </button>
  );
}

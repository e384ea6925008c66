// Signs to somebody who looks elsewhere: the tab's title, and a notification where it was asked for.
import { effect, signal, type Signal } from "@preact/signals";
import type { Store } from "../store";
import { t } from "../strings";
import { agentName } from "./context";

/** Shorter turns are over before anybody has looked away. */
const LONG_TURN_S = 5;
const KEY = "acp-notebook-notify";

const wanted = signal(readWanted());

function readWanted(): boolean {
  try {
    return localStorage.getItem(KEY) === "yes" && typeof Notification !== "undefined" && Notification.permission === "granted";
  } catch {
    return false; // a page without storage
  }
}

/** Whether this reader wants notifications, for all chats of this browser. */
export function notifications(): { on: Signal<boolean>; toggle(): Promise<void> } {
  return {
    on: wanted,
    toggle: async () => {
      const on = !wanted.peek() && typeof Notification !== "undefined" && (await Notification.requestPermission()) === "granted";
      wanted.value = on;
      try {
        localStorage.setItem(KEY, on ? "yes" : "no");
      } catch {
        // It then holds for this page only.
      }
    },
  };
}

let marked: string | null = null;

function unmark(): void {
  if (marked !== null && document.title.startsWith(marked)) document.title = document.title.slice(marked.length);
  marked = null;
}

function mark(sign: string): void {
  unmark();
  marked = `${sign} `;
  document.title = marked + document.title;
}

/** Marks the tab's title when a long turn ends, or the agent asks, while nobody looks. */
export function watchForSigns(store: Store): () => void {
  const onVisible = (): void => { if (!document.hidden) unmark(); };
  document.addEventListener("visibilitychange", onVisible);
  let running = -1;
  let asked = "";
  const tell = (sign: string, sentence: string): void => {
    if (!document.hidden) return;
    mark(sign);
    if (wanted.peek()) new Notification(store.meta.title.peek() || agentName(store), { body: sentence, tag: store.meta.sessionKey.peek() ?? "acp-notebook" });
  };
  const stops = [
    effect(() => {
      const last = store.turns.value.at(-1);
      if (last?.state === "running") running = last.index;
      else if (last && last.index === running) {
        running = -1;
        if ((last.endedAt ?? 0) - (last.startedAt ?? 0) >= LONG_TURN_S) tell(t("done.title"), t("done.body", { agent: agentName(store) }));
      }
    }),
    effect(() => {
      const ids = store.groups.value.at(-1)?.itemIds ?? [];
      const pending = ids.map((id) => store.item(id).value).find((item) => item?.kind === "permission" && item.status === "pending" && !item.historical);
      if (pending?.kind !== "permission") asked = "";
      else if (asked !== pending.id) {
        asked = pending.id;
        tell(t("ask.title"), t("announce.permission", { agent: agentName(store), title: pending.title }));
      }
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    document.removeEventListener("visibilitychange", onVisible);
    unmark();
  };
}

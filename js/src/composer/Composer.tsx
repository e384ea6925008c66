// Where one writes. Enter sends, Shift+Enter breaks the line, an input method's Enter does neither; while a
// prompt runs Enter queues. The text lives in the store, so that it survives a reload and a switch.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useComputed, useSignal } from "@preact/signals";
import { agentName, usePanel } from "../components/context";
import { Icon } from "../components/icons";
import { commandsOf } from "../components/metadata";
import { t } from "../strings";
import { CommandMenu, matchCommands } from "./Commands";
import { QueueChips } from "./Queue";

const OPEN_STATES = new Set(["idle", "running", "stopping", "starting", "authenticating", "exited", "auth-failed", "start-failed", "load-failed"]);

export function Composer(): JSX.Element {
  const { store, follow, say } = usePanel();
  const field = useRef<HTMLTextAreaElement>(null);
  const composing = useRef(false);
  const recalled = useRef<number | null>(null);
  const menuClosed = useSignal(false);
  const chosen = useSignal(0);
  const draft = store.draft.value;
  const status = store.meta.status.value;
  const running = status === "running" || status === "stopping";
  const live = store.connection.value === "live";
  const enabled = live && OPEN_STATES.has(status) && !store.meta.readOnly.value;
  const agent = agentName(store);
  const commands = useComputed(() => commandsOf(store.meta.metadata.value));
  const matches = useComputed(() => (menuClosed.value ? [] : matchCommands(store.draft.value, commands.value)));
  const at = Math.min(chosen.value, matches.value.length - 1);

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    if (area.value !== draft && !composing.current) area.value = draft;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight}px`;
  }, [draft]);

  const setText = (text: string): void => {
    chosen.value = 0;
    menuClosed.value = false;
    store.setDraft(text);
  };
  const send = async (): Promise<void> => {
    if (!store.draft.peek().trim() || !enabled) return;
    recalled.current = null;
    follow.toEnd();
    try {
      await store.sendDraft(running);
    } catch (error) {
      say(t("refused", { message: (error as Error).message }));
    }
  };
  const pick = (index: number): void => {
    const command = matches.peek()[index];
    if (!command) return;
    setText(`${command.name} `);
    field.current?.focus({ preventScroll: true });
  };
  /** Up on an empty line walks back through what was asked; Down comes back. */
  const recall = (step: number): boolean => {
    const asked = store.order().filter((id) => id.startsWith("user:") || store.item(id).peek()?.kind === "message-segment")
      .map((id) => store.item(id).peek()).flatMap((item) => (item?.kind === "message-segment" && item.role === "user" ? [item.parts.map((part) => (part.kind === "markdown" ? part.text : "")).join("")] : []))
      .filter((text) => text.trim() !== "");
    const next = (recalled.current ?? asked.length) + step;
    if (next < 0 || next > asked.length || asked.length === 0) return false;
    recalled.current = next === asked.length ? null : next;
    setText(asked[next] ?? "");
    return true;
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    // Safari ends the composition before it reports the Enter that ended it, with key code 229.
    if (event.isComposing || composing.current || event.keyCode === 229) return;
    const plain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    const menu = matches.peek().length > 0;
    if (menu && plain && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const count = matches.peek().length;
      chosen.value = (at + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
    } else if (menu && plain && (event.key === "Tab" || (event.key === "Enter" && store.draft.peek() !== matches.peek()[at]?.name))) pick(at);
    else if (menu && event.key === "Escape") menuClosed.value = true;
    else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      if (!event.repeat) void send();
    } else if (plain && event.key === "ArrowUp" && (store.draft.peek() === "" || recalled.current !== null) && recall(-1)) { /* recalled */ }
    else if (plain && event.key === "ArrowDown" && recalled.current !== null && recall(1)) { /* recalled */ }
    else if (event.key === "Escape") leave(event.currentTarget as HTMLElement);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  useEffect(() => { if (draft === "") menuClosed.value = false; }, [draft]);
  const label = t("composer.label", { agent });
  return (
    <div class="acp-composer">
      <QueueChips />
      {matches.value.length > 0 && <CommandMenu matches={matches.value} at={at} pick={pick} />}
      <div class={`acp-composer-box ${enabled ? "" : "acp-disabled"}`}>
        <textarea
          ref={field} rows={1} dir="auto" aria-label={label} spellcheck
          placeholder={!live ? t("composer.offline") : !enabled ? t("composer.disabled") : running ? t("composer.queue") : t("composer.placeholder", { agent })}
          aria-autocomplete="list" aria-controls={matches.value.length > 0 ? "acp-commands" : undefined}
          aria-activedescendant={matches.value.length > 0 ? `acp-command-${at}` : undefined}
          onInput={(event) => { recalled.current = null; setText(event.currentTarget.value); }}
          onCompositionStart={() => { composing.current = true; }}
          onCompositionEnd={(event) => { composing.current = false; setText(event.currentTarget.value); }}
          onKeyDown={onKeyDown}
        />
        <div class="acp-composer-buttons">
          {running && <StopButton stopping={status === "stopping"} />}
          {(!running || draft.trim() !== "") && (
            <button
              type="button" class="acp-round acp-send" aria-disabled={!enabled || draft.trim() === ""} title={t(running ? "composer.sendQueue" : "composer.send")}
              aria-label={t(running ? "composer.sendQueue" : "composer.send")} onClick={() => { void send(); field.current?.focus({ preventScroll: true }); }}
            ><Icon name={running ? "plus" : "send"} /></button>
          )}
        </div>
      </div>
    </div>
  );
}

function StopButton({ stopping }: { stopping: boolean }): JSX.Element {
  const { act } = usePanel();
  const label = t(stopping ? "composer.stopping" : "composer.stop");
  return (
    <button type="button" class={`acp-round acp-stop-button ${stopping ? "acp-pulse" : ""}`} title={label} aria-label={label} onClick={() => act({ kind: "cancel" })}>
      <Icon name="stop" />
    </button>
  );
}

/** Gives the focus to what lies around the panel, so that the notebook's keys work again. */
export function leave(from: HTMLElement): void {
  let around = from.closest(".acp-notebook")?.parentElement ?? null;
  while (around && around.tabIndex < 0) around = around.parentElement;
  if (around) around.focus({ preventScroll: true });
  else from.blur();
}

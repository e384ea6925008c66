// A question of the agent: what it wants to do, and its answers as buttons. Once answered, one line is left.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Permission, PermissionOption } from "../messages";
import { t } from "../strings";
import { agentName, useLocal, usePanel, useStore } from "./context";
import { relativePath } from "./format";
import { Icon } from "./icons";
import { OutputParts } from "./Parts";
import { commandOf, Input, Locations } from "./ToolCard";

export function PermissionCard({ id }: { id: string }): JSX.Element | null {
  const item = useStore().item(id).value;
  if (item?.kind !== "permission") return null;
  // A request of an earlier kernel or session is read, not answered.
  return item.status === "pending" && !item.historical ? <Asking item={item} /> : <Answered item={item} />;
}

const isReject = (option: PermissionOption): boolean => option.kind.startsWith("reject");

function Asking({ item }: { item: Permission }): JSX.Element {
  const { store, act, announce, askers, focusComposer } = usePanel();
  const remember = useLocal(`remember:${item.id}`, false);
  const answered = useLocal(`answered:${item.id}`, false);
  const box = useRef<HTMLElement>(null);
  const agent = agentName(store);
  const live = store.connection.value === "live";
  const command = commandOf(item.rawInput);
  const shownPaths = new Set(item.parts.map((part) => (part.kind === "diff" ? part.path : null)));
  const hasInput = typeof item.rawInput === "object" && item.rawInput !== null && Object.keys(item.rawInput).length > 0;
  const answer = (optionId: string | null): void => {
    if (answered.peek() || !live) return;
    answered.value = true; // one click acts once
    act({ kind: "answer", requestId: item.requestId, itemId: item.id, optionId, remember: remember.peek() });
    setTimeout(() => { answered.value = false; }, 3000); // the kernel did not take it: ask on
  };
  useEffect(() => {
    announce(t("announce.permission", { agent, title: item.title }));
    const typing = (document.activeElement as HTMLTextAreaElement | null)?.value;
    // A reader who is typing goes on typing; keys reach the card from anywhere else in the panel.
    if (!typing && box.current?.closest(".acp-notebook")?.contains(document.activeElement)) box.current.focus({ preventScroll: true });
    const own = box.current;
    return () => { if (own?.contains(document.activeElement)) focusComposer(); };
  }, [item.id]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): boolean => {
      const option = /^[1-9]$/.test(event.key) ? item.options[Number(event.key) - 1] : undefined;
      if (option) answer(option.optionId);
      else if (event.key === "Escape") answer(item.options.find(isReject)?.optionId ?? null);
      else return false;
      return true;
    };
    askers.add(onKey);
    return () => { askers.delete(onKey); };
  });
  // Enter held over from typing must not press the button that appeared under it.
  const armed = useRef(false);
  return (
    <section ref={box} class="acp-card acp-permission" data-item={item.id} data-permission="pending" tabIndex={-1} aria-label={t("permission.asks", { agent })}>
      <header class="acp-permission-head">
        <Icon name="shield" />
        <span>{t("permission.asks", { agent })}</span>
      </header>
      <div class="acp-permission-title" dir="auto">{relativePath(item.title, store.meta.cwd.value)}</div>
      <Locations locations={item.locations.filter(({ path }) => !shownPaths.has(path))} />
      {command !== null && <pre class="acp-command" dir="ltr" tabIndex={0}><span class="acp-muted">$ </span>{command}</pre>}
      {item.parts.length > 0 && <OutputParts id={item.id} parts={item.parts} toolKind="read" />}
      {(hasInput || item.deferred?.["rawInput"]) && command === null && item.parts.length === 0 && <Input id={item.id} value={item.rawInput} deferred={item.deferred} />}
      <div class="acp-permission-options" onKeyDown={(event) => { if (event.key === "Enter") armed.current = !event.repeat; }} onKeyUp={() => { armed.current = true; }}>
        {item.options.map((option, index) => (
          <button
            key={option.optionId} type="button" data-option={option.optionId} disabled={answered.value || !live}
            class={`acp-button ${isReject(option) ? "acp-reject" : option.kind.startsWith("allow") && index === 0 ? "acp-primary" : ""}`}
            onClick={(event) => { if (event.detail > 0 || armed.current) answer(option.optionId); }}
          >
            {index < 9 && <kbd>{index + 1}</kbd>}<span dir="auto">{option.name}</span>
          </button>
        ))}
        {item.options.length === 0 && (
          <>
            <span class="acp-muted">{t("permission.none")}</span>
            <button type="button" class="acp-button" disabled={answered.value || !live} onClick={() => answer(null)}>{t("permission.reject")}</button>
          </>
        )}
      </div>
      <footer class="acp-permission-foot">
        <label><input type="checkbox" checked={remember.value} onChange={() => { remember.value = !remember.value; }} />{t("permission.remember")}</label>
        {item.options.length > 0 && <span class="acp-muted">{t("permission.keys", { count: Math.min(9, item.options.length) })}</span>}
      </footer>
    </section>
  );
}

function Answered({ item }: { item: Permission }): JSX.Element {
  const chosen = item.options.find((option) => option.optionId === item.selectedOptionId);
  const refused = item.status !== "selected" || (chosen !== undefined && isReject(chosen));
  const decision = item.status === "selected" ? (chosen?.name ?? item.selectedOptionId ?? "") : t("permission.cancelled");
  const who = item.decidedBy === "user" ? t("permission.byUser") : item.decidedBy;
  return (
    <div class={`acp-line acp-answered ${refused ? "acp-refused" : ""}`} data-item={item.id} data-permission={item.status}>
      <Icon name="shield" />
      <span class="acp-answered-title" dir="auto">{relativePath(item.title, useStore().meta.cwd.value)}</span>
      <span class="acp-answered-decision" dir="auto">{decision}</span>
      {who && item.status === "selected" && <span class="acp-muted acp-nowrap">{t("permission.by", { who })}</span>}
    </div>
  );
}

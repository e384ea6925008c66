// One tool call: a line that says what and how it went, and under it what went in and what came out.
import type { JSX } from "preact";
import type { Item, Permission, ToolCall } from "../messages";
import { t, tOr } from "../strings";
import { useNow } from "./clock";
import { useLocal, usePanel, useStore } from "./context";
import { useFold } from "./folding";
import { between, bytes, duration, relativePath } from "./format";
import { Icon, isIcon } from "./icons";
import { Json } from "./Json";
import { OutputParts } from "./Parts";
import { Lines } from "./Text";
import { copyText } from "./clipboard";

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === "" || (typeof value === "object" && Object.keys(value as object).length === 0);

/** The command line that a call runs, when its input names one. */
export function commandOf(rawInput: unknown): string | null {
  if (typeof rawInput !== "object" || rawInput === null) return null;
  const { command, cmd } = rawInput as { command?: unknown; cmd?: unknown };
  const line = command ?? cmd;
  if (typeof line === "string") return line;
  return Array.isArray(line) && line.every((word) => typeof word === "string") ? line.join(" ") : null;
}

export function Input({ id, value, deferred }: { id: string; value: unknown; deferred?: Item["deferred"] }): JSX.Element {
  const { store, attempt } = usePanel();
  const whole = useLocal<unknown>(`input:${id}`, undefined);
  const ref = deferred?.["rawInput"];
  if (ref && whole.value === undefined) {
    return (
      <button type="button" class="acp-link-button" onClick={() => attempt(async () => { whole.value = JSON.parse(await store.deferred(ref)) as unknown; })}>
        {t("text.whole", { size: bytes(ref.size) })}
      </button>
    );
  }
  const shown = whole.value ?? value;
  return typeof shown === "string" ? <Lines text={shown} terminal={false} name={`${id}/input`} /> : <Json value={shown} name={`${id}/input`} />;
}

/** Where the call works, as links to copy: the page cannot open files. */
export function Locations({ locations }: { locations: ToolCall["locations"] }): JSX.Element | null {
  const { store, say } = usePanel();
  if (locations.length === 0) return null;
  const cwd = store.meta.cwd.value;
  return (
    <div class="acp-locations">
      {locations.slice(0, 20).map(({ path, line }, index) => {
        const shown = `${relativePath(path, cwd)}${line ? `:${line}` : ""}`;
        return (
          <button key={index} type="button" class="acp-path" title={`${path} – ${t("attachment.copyPath")}`} onClick={async () => say(t((await copyText(path)) ? "copied" : "copy"))}>
            {shown}
          </button>
        );
      })}
      {locations.length > 20 && <span class="acp-muted">{t("json.more", { count: locations.length - 20 })}</span>}
    </div>
  );
}

function Elapsed({ call, running }: { call: ToolCall; running: boolean }): JSX.Element | null {
  const live = running && !call.historical && !call.noResult;
  const now = useNow(live);
  const took = live ? between(call.startedAt, Math.max(now, call.startedAt ?? 0)) : between(call.startedAt, call.endedAt);
  const text = took !== null && took >= 1 ? duration(took) : "";
  return text ? <span class="acp-elapsed">{text}</span> : null;
}

export function StatusMark({ call }: { call: ToolCall }): JSX.Element {
  const label = call.noResult ? t("tool.noResult") : tOr(`tool.status.${call.status}`, call.status);
  const running = !call.historical && !call.noResult && (call.status === "in_progress" || call.status === "pending");
  const icon = call.noResult ? "stopped" : ({ completed: "check", failed: "cross", cancelled: "stopped" } as const)[call.status as "completed"] ?? "circle";
  return (
    <span class={`acp-status acp-status-${call.noResult ? "none" : call.status}`} role="img" aria-label={label} title={label}>
      {running && call.status === "in_progress" ? <span class="acp-spinner" /> : <Icon name={icon} />}
    </span>
  );
}

export function ToolCard({ id, asking }: { id: string; asking: Permission | null }): JSX.Element | null {
  const item = useStore().item(id).value;
  return item?.kind === "tool-call" ? <Card call={item} asking={asking} /> : null;
}

function Card({ call, asking }: { call: ToolCall; asking: Permission | null }): JSX.Element {
  const { follow, store } = usePanel();
  const fold = useFold(call, asking !== null);
  const tab = useLocal<"output" | "input" | "raw">(`tab:${call.id}`, "output");
  const command = commandOf(call.rawInput);
  const output = call.outputParts.some((part) => part.kind !== "attachment") || (call.outputParts.length === 0 && !isEmpty(call.rawOutput));
  const input = !isEmpty(call.rawInput) || call.deferred?.["rawInput"] !== undefined;
  const raw = call.outputParts.length > 0 && typeof call.rawOutput === "object" && !isEmpty(call.rawOutput);
  const details = output || input || call.error !== null || call.locations.length > 1;
  const open = fold.open && details;
  const tabs = (["output", "input", "raw"] as const).filter((name) => ({ output, input, raw })[name]);
  const shown = tabs.includes(tab.value) ? tab.value : tabs[0];
  const running = call.status === "pending" || call.status === "in_progress";
  const icon = isIcon(call.toolKind) ? call.toolKind : "other";
  // Some agents name an edit by the whole path.
  const title = relativePath(call.title, store.meta.cwd.value) || call.name || call.toolCallId;
  const head = (
    <>
      <span class="acp-tool-icon" title={call.name ?? call.toolKind}><Icon name={icon} /></span>
      <span class="acp-tool-title" dir="auto">{title}</span>
      {call.noResult && <span class="acp-muted acp-nowrap">{t("tool.noResult")}</span>}
      {call.status === "cancelled" && <span class="acp-muted acp-nowrap">{t("tool.status.cancelled")}</span>}
      <span class="acp-grow" />
      <Elapsed call={call} running={running} />
      <StatusMark call={call} />
    </>
  );
  return (
    <section class={`acp-card acp-tool ${open ? "acp-open" : ""}`} data-item={call.id} data-status={call.status} aria-label={title}>
      {details ? (
        <button
          type="button" class="acp-tool-head" aria-expanded={open} title={t(open ? "tool.hide" : "tool.show", { title })}
          onClick={() => { follow.hold(); fold.toggle(); }}
        >
          {head}
          <span class="acp-chevron"><Icon name="chevron" /></span>
        </button>
      ) : <div class="acp-tool-head">{head}</div>}
      {open && (
        <div class="acp-tool-body">
          <Locations locations={call.locations} />
          {command !== null && shown !== "input" && <pre class="acp-command" dir="ltr" tabIndex={0}><span class="acp-muted">$ </span>{command}</pre>}
          {tabs.length > 1 && (
            <div class="acp-tabs" role="tablist">
              {tabs.map((name) => (
                <button key={name} type="button" role="tab" aria-selected={shown === name} onClick={() => { follow.hold(); tab.value = name; }}>{t(`tool.${name}`)}</button>
              ))}
            </div>
          )}
          {shown === "input" && <Input id={call.id} value={call.rawInput} deferred={call.deferred} />}
          {shown === "raw" && <Json value={call.rawOutput} name={`${call.id}/raw`} />}
          {shown === "output" && (call.outputParts.length > 0 ? (
            <OutputParts id={call.id} parts={call.outputParts} toolKind={call.toolKind} />
          ) : typeof call.rawOutput === "string" ? (
            <Lines text={call.rawOutput} terminal={call.toolKind === "execute"} name={`${call.id}/raw`} />
          ) : <Json value={call.rawOutput} name={`${call.id}/raw`} />)}
          {call.error !== null && <div class="acp-error-line" role="note">{call.error}</div>}
        </div>
      )}
    </section>
  );
}

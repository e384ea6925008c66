// What opens over the conversation: about the agent, and the trace of its messages.
import type { ComponentChildren, JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { TraceLine } from "../messages";
import { t } from "../strings";
import { copyText } from "./clipboard";
import { agentName, useLocal, usePanel, useStore } from "./context";
import { bytes } from "./format";
import { Icon, IconButton } from "./icons";
import { Json } from "./Json";

export function Dialogs(): JSX.Element | null {
  const dialog = useLocal<string | null>("dialog", null);
  const close = (): void => { dialog.value = null; };
  if (dialog.value === "about") return <About close={close} />;
  return dialog.value === "trace" ? <Trace close={close} /> : null;
}

function Dialog({ title, close, tools, children }: { title: string; close: () => void; tools?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  const { focusComposer } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => { box.current?.focus({ preventScroll: true }); }, []);
  const leave = (): void => {
    close();
    focusComposer();
  };
  return (
    <div
      ref={box} class="acp-dialog" role="dialog" aria-label={title} tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
    >
      <div class="acp-dialog-head"><strong>{title}</strong><span class="acp-grow" />{tools}<IconButton icon="cross" label={t("close")} onClick={leave} /></div>
      <div class="acp-dialog-body">{children}</div>
    </div>
  );
}

/** Capabilities as rows: a path, and whether it is there. */
export function capabilityRows(value: unknown, path = ""): [string, string][] {
  if (typeof value !== "object" || value === null) return [[path, value === true ? "✓" : value === false ? "–" : String(value)]];
  const entries = Object.entries(value as Record<string, unknown>).filter(([key]) => key !== "_meta");
  if (entries.length === 0) return [[path, "✓"]];
  return entries.flatMap(([key, child]) => capabilityRows(child, path ? `${path}.${key}` : key));
}

function About({ close }: { close: () => void }): JSX.Element {
  const store = useStore();
  const { agent, sessionKey, cwd, capabilities } = store.meta;
  const rows = Object.keys(capabilities.value).length > 0 ? capabilityRows(capabilities.value) : [];
  return (
    <Dialog title={t("about.title")} close={close}>
      <table class="acp-facts">
        <tbody>
          <tr><th scope="row">{agentName(store)}</th><td>{agent.value.name}</td></tr>
          <tr><th scope="row">{t("about.version")}</th><td>{agent.value.version || "–"}</td></tr>
          <tr><th scope="row">{t("about.session")}</th><td><code>{sessionKey.value ?? "–"}</code></td></tr>
          <tr><th scope="row">{t("about.cwd")}</th><td><code>{cwd.value}</code></td></tr>
        </tbody>
      </table>
      {rows.length > 0 && (
        <>
          <h3 class="acp-menu-group">{t("about.capabilities")}</h3>
          <table class="acp-facts"><tbody>{rows.map(([path, value]) => <tr key={path}><th scope="row"><code>{path}</code></th><td>{value}</td></tr>)}</tbody></table>
        </>
      )}
    </Dialog>
  );
}

function Trace({ close }: { close: () => void }): JSX.Element {
  const { store, attempt, say } = usePanel();
  const lines = useSignal<TraceLine[] | null>(null);
  useEffect(() => attempt(async () => { lines.value = (await store.request({ kind: "trace" })) as TraceLine[]; }), []);
  const shown = lines.value;
  const copy = async (): Promise<void> => say(t((await copyText((shown ?? []).map((line) => JSON.stringify(line)).join("\n"))) ? "copied" : "copy"));
  return (
    <Dialog title={t("trace.title")} close={close} tools={<IconButton icon="copy" label={t("copy.all")} onClick={() => void copy()} />}>
      {!shown && <span class="acp-spinner" />}
      {shown?.length === 0 && <div class="acp-muted">{t("trace.empty")}</div>}
      {shown?.map((line, index) => <TraceRow key={index} line={line} name={`trace/${line.at}/${index}`} />)}
    </Dialog>
  );
}

function TraceRow({ line, name }: { line: TraceLine; name: string }): JSX.Element {
  const open = useLocal(`open:${name}`, false);
  const out = line.direction === "client->agent";
  return (
    <div class="acp-trace">
      <button type="button" class="acp-line" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>
        <span class="acp-nowrap">{new Date(line.at * 1000).toLocaleTimeString()}</span>
        <span aria-label={line.direction}>{out ? "→" : "←"}</span>
        <span class="acp-trace-kind">{line.kind}</span>
        {line.reason && <span class="acp-warn acp-one-line">{line.reason}</span>}
        <span class="acp-grow" />
        <span class="acp-nowrap">{bytes(line.size)}</span>
        <span class="acp-chevron"><Icon name="chevron" /></span>
      </button>
      {open.value && <Json value={line.message} name={name} />}
    </div>
  );
}

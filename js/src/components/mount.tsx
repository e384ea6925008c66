// Puts a panel into an output area and takes it out again.
import { effect } from "@preact/signals";
import { render } from "preact";
import { setLoader } from "../markdown/extras";
import type { Store } from "../store";
import { t } from "../strings";
import { agentName, type Panel as PanelTools } from "./context";
import { leave } from "../composer/Composer";
import { onContentClick } from "./content";
import { Follow } from "./follow";
import { Panel } from "./Panel";
import { watchForSigns } from "./signs";
import { watchTheme } from "./theme";

const isTextField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("textarea, select, input:not([type=checkbox]), [contenteditable]");

/** Draws the chat of `store` into `host`; call the result to remove it. */
export function mount(host: HTMLElement, store: Store): () => void {
  const root = document.createElement("div");
  root.className = "acp-notebook";
  root.tabIndex = -1;
  root.setAttribute("role", "region");
  // JupyterLab's shortcuts leave alone what happens below this mark.
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  host.append(root);
  const toast = store.local.get("toast", "");
  const announcement = store.local.get("announcement", "");
  const panel: PanelTools = {
    store,
    follow: new Follow(),
    askers: new Set(),
    say: (message) => { toast.value = message; },
    announce: (sentence) => { announcement.value = sentence; },
    act: (message) => panel.attempt(async () => void (await store.request(message))),
    attempt: (work) => {
      work().catch((error: unknown) => { toast.value = t("refused", { message: error instanceof Error ? error.message : String(error) }); });
    },
    root: () => root,
    focusComposer: () => root.querySelector<HTMLElement>(".acp-composer-box textarea")?.focus({ preventScroll: true }),
  };
  const stops = [
    guardKeys(root, panel),
    watchTheme(root, store.theme),
    watchForSigns(store),
    effect(() => { root.style.setProperty("--acp-height", store.height.value || "560px"); }),
    effect(() => root.setAttribute("aria-label", t("panel.label", { agent: agentName(store) }))),
  ];
  setLoader((name) => store.loadModule(name));
  root.addEventListener("click", (event) => onContentClick(event, panel));
  render(<Panel panel={panel} />, root);
  return () => {
    for (const stop of stops) stop();
    render(null, root);
    root.remove();
  };
}

/** Keys pressed in the panel are the panel's: none reaches the notebook. */
function guardKeys(root: HTMLElement, panel: PanelTools): () => void {
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    const composing = event.isComposing || event.keyCode === 229;
    if (event.defaultPrevented || composing || event.repeat || event.ctrlKey || event.metaKey || event.altKey || isTextField(event.target)) return;
    const taken = [...panel.askers].some((take) => take(event));
    if (taken) event.preventDefault();
    else if (event.key === "Escape") leave(event.target as HTMLElement);
  };
  const swallow = (event: Event): void => event.stopPropagation();
  const kinds = ["keyup", "keypress", "paste", "copy", "cut", "contextmenu"];
  root.addEventListener("keydown", onKeyDown);
  for (const kind of kinds) root.addEventListener(kind, swallow);
  return () => {
    root.removeEventListener("keydown", onKeyDown);
    for (const kind of kinds) root.removeEventListener(kind, swallow);
  };
}

// What every component can reach: the store of its view, and the panel's own small tools.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Signal } from "@preact/signals";
import type { FromPageBody } from "../messages";
import type { Store } from "../store";
import { t } from "../strings";
import type { Follow } from "./follow";

export interface Panel {
  store: Store;
  follow: Follow;
  /** Shows a short message at the panel's foot: a refusal, a copy that worked. */
  say(message: string): void;
  /** Tells screen readers one whole sentence. */
  announce(sentence: string): void;
  /** Sends and says why when the kernel refuses. */
  act(message: FromPageBody): void;
  /** Does what needs the kernel and says why when that fails. */
  attempt(work: () => Promise<void>): void;
  /** The panel's outermost element. */
  root(): HTMLElement;
  /** Open questions that take keys from anywhere in the panel but a text field. */
  readonly askers: Set<(event: KeyboardEvent) => boolean>;
  focusComposer(): void;
}

export const PanelContext = createContext<Panel | null>(null);

export function usePanel(): Panel {
  const panel = useContext(PanelContext);
  if (!panel) throw new Error("a component stands outside its panel");
  return panel;
}
export const useStore = (): Store => usePanel().store;

/** State of this view that outlives its component: an open card, a chosen tab. */
export const useLocal = <T>(key: string, initial: T): Signal<T> => useStore().local.get(key, initial);

export const agentName = (store: Store): string => {
  const { title, name } = store.meta.agent.value;
  return title || name || t("agent.unknown");
};

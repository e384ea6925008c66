// One chat as one panel.
import type { JSX } from "preact";
import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Composer } from "../composer/Composer";
import { t } from "../strings";
import { ConnectionBanner, ErrorBanner, NoteBanner } from "./Banner";
import { agentName, PanelContext, useLocal, usePanel, useStore, type Panel as PanelTools } from "./context";
import { Dialogs } from "./Dialogs";
import { Header } from "./Header";
import { Lightbox } from "./Lightbox";
import { PlanStrip } from "./Plan";
import { SearchBar } from "./Search";
import { SessionsDrawer } from "./Sessions";
import { Timeline } from "./Timeline";

export function Panel({ panel }: { panel: PanelTools }): JSX.Element {
  return (
    <PanelContext.Provider value={panel}>
      <Header />
      <div class="acp-body">
        <SearchBar />
        <ConnectionBanner />
        <Timeline />
        <ErrorBanner />
        <NoteBanner />
        <PlanStrip />
        <Composer />
        <SessionsDrawer />
        <Dialogs />
      </div>
      <Toast />
      <Announcer />
      <Lightbox />
    </PanelContext.Provider>
  );
}

const TOAST_MS = 2500;

function Toast(): JSX.Element {
  const text = useLocal("toast", "");
  useEffect(() => {
    if (!text.value) return undefined;
    const timer = setTimeout(() => { text.value = ""; }, TOAST_MS + 40 * text.value.length);
    return () => clearTimeout(timer);
  }, [text.value]);
  return <div class="acp-toast" role="status">{text.value && <span>{text.value}</span>}</div>;
}

/** Says one sentence when something is at rest, instead of every chunk. */
function Announcer(): JSX.Element {
  const store = useStore();
  const { announce } = usePanel();
  const sentence = useLocal("announcement", "");
  useSignalEffect(() => {
    const turns = store.turns.value;
    const last = turns.at(-1);
    const seen = store.local.get<number>("announced-turn", -1);
    const running = store.local.get<number>("running-turn", -1);
    if (last?.state === "running") running.value = last.index;
    else if (last && running.peek() === last.index && seen.peek() !== last.index) {
      seen.value = last.index;
      announce(last.error ? t("announce.failed", { message: last.error.message }) : t("announce.answer", { agent: agentName(store) }));
    }
  });
  return <div class="acp-hidden" role="status" aria-live="polite">{sentence.value}</div>;
}

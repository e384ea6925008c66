// What the agent thought: one muted line with its first words; the whole on demand.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../strings";
import { useLocal, usePanel } from "./context";
import { between, duration } from "./format";
import { nextFrame } from "./frames";
import { Icon } from "./icons";
import { Markdown } from "./Markdown";

const FIRST_WORDS = 160;

export function ThoughtLine({ id, streaming }: { id: string; streaming: boolean }): JSX.Element | null {
  const { store, follow } = usePanel();
  const item = store.item(id).value;
  const open = useLocal(`thought:${id}`, false);
  const [, redraw] = useState(0);
  useEffect(() => {
    let cancel: (() => void) | null = null;
    // Only the line's first words are shown: text beyond them changes nothing.
    const off = store.onAppend(id, 0, () => {
      if (store.text(id, 0).length <= FIRST_WORDS * 4) cancel ??= nextFrame(() => { cancel = null; redraw((n) => n + 1); });
    });
    return () => { off(); cancel?.(); };
  }, [id, item]);
  if (item?.kind !== "thought") return null;
  const took = duration(between(item.startedAt, item.endedAt));
  const label = streaming ? t("thinking") : took && took !== t("time.s", { s: 0 }) ? t("thought.for", { time: took }) : t("thought");
  const first = store.text(id, 0).slice(0, FIRST_WORDS * 4).replace(/[*_`#>\s]+/g, " ").trim().slice(0, FIRST_WORDS);
  return (
    <section class={`acp-thought ${open.value ? "acp-open" : ""}`} data-item={id}>
      <button type="button" class="acp-line acp-thought-head" aria-expanded={open.value} onClick={() => { follow.hold(); open.value = !open.value; }}>
        <span class={`acp-thought-icon ${streaming ? "acp-pulse" : ""}`}><Icon name="think" /></span>
        <span class="acp-nowrap">{label}</span>
        {!open.value && <span class="acp-thought-first" dir="auto">{first}</span>}
        <span class="acp-chevron"><Icon name="chevron" /></span>
      </button>
      {open.value && (
        <div class="acp-thought-body">
          {item.parts.map((part, index) => part.kind === "markdown" && <Markdown key={index} id={id} part={index} version={part} streaming={streaming && index === item.parts.length - 1} />)}
        </div>
      )}
    </section>
  );
}

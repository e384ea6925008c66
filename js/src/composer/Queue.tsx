// Prompts that wait for their turn, as chips that can be changed, dropped, or sent now.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { usePanel, useStore } from "../components/context";
import { IconButton } from "../components/icons";
import type { QueuedPrompt } from "../messages";
import { t } from "../strings";

export function QueueChips(): JSX.Element | null {
  const queue = useStore().meta.queue.value;
  if (queue.length === 0) return null;
  return <ul class="acp-queue" aria-label={t("queue.label")}>{queue.map((prompt) => <Chip key={prompt.id} prompt={prompt} />)}</ul>;
}

function Chip({ prompt }: { prompt: QueuedPrompt }): JSX.Element {
  const { act, focusComposer } = usePanel();
  const editing = useSignal<string | null>(null);
  const promptId = prompt.id;
  if (editing.value !== null) {
    const save = (): void => {
      const text = editing.peek() ?? "";
      if (text.trim() && text !== prompt.text) act({ kind: "queue", action: "edit", promptId, text });
      editing.value = null;
      focusComposer();
    };
    return (
      <li class="acp-chip acp-chip-editing">
        <textarea
          class="acp-field" rows={Math.min(6, editing.value.split("\n").length)} aria-label={t("queue.edit")} autofocus value={editing.value} dir="auto"
          ref={(area) => { if (area && document.activeElement !== area) area.focus({ preventScroll: true }); }}
          onInput={(event) => { editing.value = event.currentTarget.value; }}
          onKeyDown={(event) => {
            if (event.isComposing || event.keyCode === 229) return;
            if (event.key === "Enter" && !event.shiftKey) save();
            else if (event.key === "Escape") editing.value = null;
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        />
        <button type="button" class="acp-button" onClick={save}>{t("queue.save")}</button>
      </li>
    );
  }
  return (
    <li class="acp-chip">
      <span class="acp-chip-text" dir="auto" title={prompt.text}>{prompt.text}</span>
      <IconButton icon="send" label={t("queue.now")} onClick={() => act({ kind: "queue", action: "send-now", promptId })} />
      {prompt.whole && <IconButton icon="edit" label={t("queue.edit")} onClick={() => { editing.value = prompt.text; }} />}
      <IconButton icon="cross" label={t("queue.remove")} onClick={() => act({ kind: "queue", action: "remove", promptId })} />
    </li>
  );
}

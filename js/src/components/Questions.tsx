// The directory of questions: a list over the conversation that leads to each of them.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { useLocal, usePanel, useStore } from "./context";
import { Icon } from "./icons";
import { Popover } from "./Popover";

export function Questions(): JSX.Element | null {
  const { entries } = useStore().meta.questions.value;
  if (entries.length < 2) return null;
  return (
    <Popover name="questions" label={t("questions")} button={<Icon name="list" />}>
      {(close) => <QuestionList close={close} />}
    </Popover>
  );
}

const anchorOf = (root: HTMLElement, itemId: string): Element | null => root.querySelector(`.acp-user [data-item="${CSS.escape(itemId)}"]`);

function QuestionList({ close }: { close: () => void }): JSX.Element {
  const { store, root, follow } = usePanel();
  const { entries, hiddenCount } = store.meta.questions.value;
  const list = useRef<HTMLDivElement>(null);
  const all = useLocal("all-groups", false);
  // The question whose answer is in view: the last one above the middle of the conversation.
  const scroller = root().querySelector(".acp-scroller");
  const middle = scroller ? scroller.getBoundingClientRect().top + scroller.clientHeight / 2 : 0;
  const current = entries.findLast(({ itemId }) => (anchorOf(root(), itemId)?.getBoundingClientRect().top ?? Infinity) <= middle)?.itemId;
  useEffect(() => {
    const box = list.current;
    if (!box) return;
    box.scrollTop = box.scrollHeight;
    const last = box.querySelector<HTMLElement>("[aria-current=true]") ?? (box.lastElementChild as HTMLElement | null);
    last?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <div class="acp-menu-title">{t("questions.title")}</div>
      {hiddenCount > 0 && <div class="acp-muted acp-menu-none">{t("questions.hidden", { count: hiddenCount })}</div>}
      <div class="acp-menu-list acp-questions" ref={list}>
        {entries.map(({ itemId, number, title, fallback }) => (
          <button
            key={itemId} type="button" class="acp-menu-item" aria-current={itemId === current}
            onClick={() => {
              close();
              all.value = true; // an old question may not be drawn yet
              requestAnimationFrame(() => {
                const anchor = anchorOf(root(), itemId);
                if (anchor) follow.reveal(anchor);
              });
            }}
          >
            <span class="acp-question-number">{number}</span>
            <span class="acp-menu-text acp-one-line" dir="auto">{title ?? t(fallback === "attachment" ? "questions.attachment" : "questions.fallback", { number })}</span>
          </button>
        ))}
      </div>
    </>
  );
}

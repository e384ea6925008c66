// The agent's plan: a strip above the composer with the newest, and a line in the timeline for each.
import type { JSX } from "preact";
import { useComputed } from "@preact/signals";
import type { Plan } from "../messages";
import { t, tOr } from "../strings";
import { useLocal, usePanel, useStore } from "./context";
import { Icon } from "./icons";
import { Markdown } from "./Markdown";

const isDone = (status: string | null): boolean => status === "completed";

function Entries({ plan }: { plan: Plan }): JSX.Element {
  if (plan.markdown !== null) return <Markdown text={plan.markdown} />;
  return (
    <ol class="acp-plan-entries">
      {plan.entries.map((entry, index) => (
        <li key={index} class={`acp-plan-${entry.status ?? "pending"}`}>
          <span class="acp-plan-mark" role="img" aria-label={tOr(`plan.${entry.status ?? "pending"}`, entry.status ?? "")}>
            {isDone(entry.status) ? <Icon name="check" /> : entry.status === "in_progress" ? <span class="acp-dot" /> : <span class="acp-ring" />}
          </span>
          <span dir="auto">{entry.content}</span>
          {entry.priority === "high" && <span class="acp-plan-high" title={entry.priority}>!</span>}
        </li>
      ))}
    </ol>
  );
}

const doneOf = (plan: Plan): number => plan.entries.filter((entry) => isDone(entry.status)).length;

function Summary({ plan }: { plan: Plan }): JSX.Element {
  const done = doneOf(plan);
  const current = plan.entries.find((entry) => entry.status === "in_progress") ?? plan.entries.find((entry) => !isDone(entry.status));
  return (
    <>
      <Icon name="plan" />
      <span class="acp-nowrap">{t("plan")}</span>
      {plan.entries.length > 0 && (
        <>
          <span class="acp-plan-bar" role="img" aria-label={t("plan.progress", { done, count: plan.entries.length })}>
            <span style={{ width: `${(100 * done) / plan.entries.length}%` }} />
          </span>
          <span class="acp-muted acp-nowrap">{done}/{plan.entries.length}</span>
        </>
      )}
      <span class="acp-plan-current acp-muted" dir="auto">{current?.content ?? ""}</span>
      <span class="acp-chevron"><Icon name="chevron" /></span>
    </>
  );
}

export function PlanLine({ id }: { id: string }): JSX.Element | null {
  const { store, follow } = usePanel();
  const item = store.item(id).value;
  const open = useLocal(`plan:${id}`, false);
  if (item?.kind !== "plan") return null;
  return (
    <section class={`acp-plan-line ${open.value ? "acp-open" : ""}`} data-item={id}>
      <button type="button" class="acp-line" aria-expanded={open.value} title={t(open.value ? "plan.hide" : "plan.show")} onClick={() => { follow.hold(); open.value = !open.value; }}>
        <Summary plan={item} />
      </button>
      {open.value && <Entries plan={item} />}
    </section>
  );
}

/** The newest plan, while it has something left to do or its turn runs. */
export function PlanStrip(): JSX.Element | null {
  const store = useStore();
  const newest = useComputed(() => {
    void store.groups.value;
    return store.order().findLast((id) => id.startsWith("plan:")) ?? null;
  });
  const open = useLocal("plan-strip", false);
  const id = newest.value;
  const item = id === null ? undefined : store.item(id).value;
  const running = store.meta.runningSince.value !== null;
  if (item?.kind !== "plan" || item.historical || (!running && doneOf(item) === item.entries.length)) return null;
  return (
    <section class={`acp-plan-strip ${open.value ? "acp-open" : ""}`} aria-label={t("plan")}>
      <button type="button" class="acp-line" aria-expanded={open.value} title={t(open.value ? "plan.hide" : "plan.show")} onClick={() => { open.value = !open.value; }}>
        <Summary plan={item} />
      </button>
      {open.value && <Entries plan={item} />}
    </section>
  );
}

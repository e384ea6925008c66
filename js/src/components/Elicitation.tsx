// A question of the agent that is no permission: a form by its flat schema, or a page to open.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Elicitation } from "../messages";
import { t } from "../strings";
import { agentName, usePanel, useStore } from "./context";
import { fieldsOf, initialContent, type Field } from "./forms";
import { Icon } from "./icons";

export function Elicitations(): JSX.Element {
  const open = useStore().meta.elicitations.value;
  return <>{open.map((elicitation) => <Asking key={elicitation.id} elicitation={elicitation} />)}</>;
}

function Asking({ elicitation }: { elicitation: Elicitation }): JSX.Element {
  const { store, act, announce } = usePanel();
  const fields = fieldsOf(elicitation.schema);
  const content = useSignal(initialContent(fields));
  const tried = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const isUrl = elicitation.mode === "url";
  const safe = /^https?:\/\//i.test(elicitation.url);
  useEffect(() => announce(elicitation.message), [elicitation.id]);
  const answer = (action: "accept" | "decline" | "cancel"): void =>
    act({ kind: "elicit", elicitationId: elicitation.id, action, ...(action === "accept" && !isUrl ? { content: content.peek() } : {}) });
  const submit = (event: Event): void => {
    event.preventDefault();
    tried.value = true;
    if (form.current?.checkValidity()) answer("accept");
    else form.current?.querySelector<HTMLElement>(":invalid")?.focus({ preventScroll: true });
  };
  return (
    <form
      ref={form} class={`acp-card acp-permission acp-elicitation ${tried.value ? "acp-tried" : ""}`} aria-label={elicitation.message} noValidate onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        answer("cancel");
      }}
    >
      <header class="acp-permission-head"><Icon name="info" /><span>{agentName(store)}</span></header>
      <div class="acp-permission-title" dir="auto">{elicitation.message}</div>
      {isUrl && <div class="acp-elicitation-url" dir="ltr">{elicitation.url}</div>}
      {!isUrl && fields.map((field) => (
        <FieldRow
          key={field.name} field={field} name={`${elicitation.id}-${field.name}`} value={content.value[field.name]}
          set={(value) => { content.value = value === undefined ? without(content.peek(), field.name) : { ...content.peek(), [field.name]: value }; }}
        />
      ))}
      <div class="acp-permission-options">
        {isUrl
          ? safe && <a class="acp-button acp-primary" href={elicitation.url} target="_blank" rel="noopener noreferrer" onClick={() => answer("accept")}>{t("form.open")}</a>
          : <button type="submit" class="acp-button acp-primary">{t("form.submit")}</button>}
        <button type="button" class="acp-button" onClick={() => answer("decline")}>{t("form.decline")}</button>
      </div>
    </form>
  );
}

function without(content: Record<string, unknown>, name: string): Record<string, unknown> {
  const { [name]: _, ...rest } = content;
  return rest;
}

interface RowProps { field: Field; name: string; value: unknown; set: (value: unknown) => void }

function FieldRow({ field, name, value, set }: RowProps): JSX.Element {
  const note = field.description && <small class="acp-muted" id={`${name}-note`}>{field.description}</small>;
  const common = { id: name, class: "acp-field", required: field.required, "aria-describedby": field.description ? `${name}-note` : undefined };
  if (field.kind === "boolean") {
    return (
      <label class="acp-form-check">
        <input id={name} type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} />
        <span dir="auto">{field.title}{note}</span>
      </label>
    );
  }
  if (field.kind === "many") {
    const chosen = Array.isArray(value) ? (value as string[]) : [];
    return (
      <fieldset class="acp-form-row">
        <legend dir="auto">{field.title}{note}</legend>
        {field.choices.map((choice) => (
          <label key={choice.value} class="acp-form-check">
            <input
              type="checkbox" checked={chosen.includes(choice.value)}
              onChange={(event) => set(event.currentTarget.checked ? [...chosen, choice.value] : chosen.filter((one) => one !== choice.value))}
            />
            <span dir="auto">{choice.title}</span>
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <div class="acp-form-row">
      <label for={name} dir="auto">{field.title}{field.required && <span class="acp-muted"> ({t("form.required")})</span>}</label>
      {field.kind === "choice" ? (
        <select {...common} value={String(value ?? "")} onChange={(event) => set(event.currentTarget.value || undefined)}>
          {(!field.required || value === undefined) && <option value="" />}
          {field.choices.map((choice) => <option key={choice.value} value={choice.value}>{choice.title}</option>)}
        </select>
      ) : field.kind === "number" ? (
        <input
          {...common} type="number" step={field.whole ? 1 : "any"} min={field.min} max={field.max} value={String(value ?? "")}
          onInput={(event) => set(event.currentTarget.value === "" ? undefined : event.currentTarget.valueAsNumber)}
        />
      ) : (
        <input
          {...common} type={field.type as "text"} minLength={field.min} maxLength={field.max} pattern={field.pattern} value={String(value ?? "")} dir="auto"
          onInput={(event) => set(event.currentTarget.value === "" ? undefined : event.currentTarget.value)}
        />
      )}
      {note}
    </div>
  );
}

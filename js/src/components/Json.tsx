// A value as a tree that opens level by level.
import type { JSX } from "preact";
import { t } from "../strings";
import { showControls } from "./ansi";
import { useLocal } from "./context";

const PAGE = 100;
const LONG_STRING = 400;
const OPEN_ENTRIES = 12;

interface Props { value: unknown; name: string; label?: string; depth?: number }

function Scalar({ value, name }: { value: unknown; name: string }): JSX.Element {
  const whole = useLocal(`json-text:${name}`, false);
  if (typeof value !== "string") return <span class={`acp-json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const cut = value.length > LONG_STRING && !whole.value;
  const shown = showControls(cut ? value.slice(0, LONG_STRING) : value);
  return (
    <span class="acp-json-string">
      {shown.includes("\n") ? <span class="acp-json-block" dir="ltr">{shown}</span> : <>"{shown}"</>}
      {cut && (
        <button type="button" class="acp-link-button" onClick={() => { whole.value = true; }}>… {t("json.more", { count: value.length - LONG_STRING })}</button>
      )}
    </span>
  );
}

export function Json({ value, name, label, depth = 0 }: Props): JSX.Element {
  const isObject = typeof value === "object" && value !== null;
  const entries: [string, unknown][] = isObject ? Object.entries(value as Record<string, unknown>) : [];
  const open = useLocal(`json:${name}`, depth === 0 || (depth === 1 && entries.length <= OPEN_ENTRIES));
  const shown = useLocal(`json-count:${name}`, PAGE);
  const key = label === undefined ? null : <span class="acp-json-key">{label}</span>;
  if (!isObject) return <div class="acp-json-row">{key}<Scalar value={value} name={name} /></div>;
  const isArray = Array.isArray(value);
  const size = entries.length === 1 ? t(isArray ? "json.item" : "json.key") : t(isArray ? "json.items" : "json.keys", { count: entries.length });
  if (entries.length === 0) return <div class="acp-json-row">{key}<span class="acp-muted">{isArray ? "[ ]" : "{ }"}</span></div>;
  return (
    <div class={depth === 0 ? "acp-json" : undefined} dir="ltr">
      {(depth > 0 || label !== undefined) && (
        <button type="button" class="acp-json-row acp-json-toggle" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>
          {key}<span class="acp-muted">{isArray ? `[ ${size} ]` : `{ ${size} }`}</span>
        </button>
      )}
      {open.value && (
        <div class={depth > 0 || label !== undefined ? "acp-json-children" : undefined}>
          {entries.slice(0, shown.value).map(([entry, child]) => (
            <Json key={entry} value={child} name={`${name}/${entry}`} label={entry} depth={depth + 1} />
          ))}
          {entries.length > shown.value && (
            <button type="button" class="acp-link-button" onClick={() => { shown.value += PAGE; }}>{t("json.more", { count: entries.length - shown.value })}</button>
          )}
        </div>
      )}
    </div>
  );
}

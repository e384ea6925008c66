// The panel's head: who, what about, how it stands, and the doors to everything else.
import type { JSX } from "preact";
import { t } from "../strings";
import { agentName, useStore } from "./context";
import { count, money } from "./format";
import { Menu } from "./Menu";
import { usageOf } from "./metadata";
import { Pickers } from "./Pickers";
import { Questions } from "./Questions";
import { SearchButton } from "./Search";
import { SessionsButton } from "./Sessions";

export function Header(): JSX.Element {
  const store = useStore();
  const { status, phase, title, name } = store.meta;
  const agent = agentName(store);
  const shown = title.value || name.value || "";
  const connection = store.connection.value;
  const label = connection === "live" ? (phase.value || t(`status.${status.value}`)) : t(connection === "connecting" ? "connection.connecting" : `connection.${connection}`);
  return (
    <header class="acp-header">
      <span class={`acp-lamp acp-lamp-${connection === "live" ? status.value : "off"}`} role="img" aria-label={label} title={label} />
      <span class="acp-agent">{agent}</span>
      {shown && <span class="acp-title" dir="auto" title={shown}>{shown}</span>}
      <span class="acp-grow" />
      <Pickers />
      <UsageMeter />
      <Questions />
      <SessionsButton />
      <SearchButton />
      <Menu />
    </header>
  );
}

function UsageMeter(): JSX.Element | null {
  const usage = usageOf(useStore().meta.metadata.value);
  if (!usage) return null;
  const { used, size, share } = usage;
  const cost = money(usage.cost);
  const lines = [
    share !== null ? t("usage.percent", { percent: Math.round(share * 100) }) : null,
    used !== null && size !== null && share !== null ? t("usage.tokens", { used: count(used), size: count(size) }) : used !== null ? t("usage.used", { used: count(used) }) : null,
    cost ? t("usage.cost", { cost }) : null,
  ].filter((line) => line !== null);
  const level = share === null ? "" : share > 0.9 ? "acp-usage-full" : share > 0.75 ? "acp-usage-high" : "";
  return (
    <span class={`acp-usage ${level}`} role="img" aria-label={`${t("usage.label")}: ${lines.join(", ")}`} title={lines.join("\n")} tabIndex={0}>
      {share !== null ? (
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <circle cx="8" cy="8" r="6" class="acp-usage-back" />
          <circle cx="8" cy="8" r="6" class="acp-usage-part" pathLength="100" stroke-dasharray={`${share * 100} 100`} transform="rotate(-90 8 8)" />
        </svg>
      ) : used !== null && <span class="acp-muted">{count(used)}</span>}
      {cost && <span class="acp-muted acp-usage-cost">{cost}</span>}
    </span>
  );
}

// The panel's menu: what one does seldom.
import type { JSX } from "preact";
import { t, tOr } from "../strings";
import { useLocal, usePanel } from "./context";
import { Icon, type IconName } from "./icons";
import { Popover } from "./Popover";

export function Menu(): JSX.Element {
  return (
    <Popover name="menu" label={t("menu")} button={<Icon name="menu" />}>
      {(close) => <Entries close={close} />}
    </Popover>
  );
}

function Entry({ icon, label, onClick }: { icon: IconName; label: string; onClick: () => void }): JSX.Element {
  return <button type="button" role="menuitem" class="acp-menu-item" onClick={onClick}><Icon name={icon} /><span class="acp-menu-text">{label}</span></button>;
}

function Entries({ close }: { close: () => void }): JSX.Element {
  const { act, store } = usePanel();
  const about = useLocal("about", false);
  const then = (work: () => void) => (): void => { close(); work(); };
  const policy = store.meta.policy.value;
  return (
    <div role="menu" class="acp-menu-list">
      <Entry icon="history" label={t("menu.restart")} onClick={then(() => act({ kind: "restart" }))} />
      <Entry icon="info" label={t("menu.about")} onClick={then(() => { about.value = true; })} />
      <div class="acp-menu-note acp-muted">{t("menu.policy")}: {tOr(`policy.${policy}`, policy)}</div>
    </div>
  );
}

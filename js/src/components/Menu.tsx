// The panel's menu: what one does seldom.
import type { JSX } from "preact";
import type { Exported } from "../messages";
import { t, tOr } from "../strings";
import { saveUrl } from "./clipboard";
import { useLocal, usePanel } from "./context";
import { Icon, type IconName } from "./icons";
import { Popover } from "./Popover";
import { notifications } from "./signs";

const PRESETS = ["ask", "read-only", "accept-edits", "deny", "allow-all"] as const;
const FORMATS = ["markdown", "html", "json"] as const;

export function Menu(): JSX.Element {
  return (
    <Popover name="menu" label={t("menu")} button={<Icon name="menu" />}>
      {(close) => <Entries close={close} />}
    </Popover>
  );
}

function Entry({ icon, label, onClick, note }: { icon: IconName; label: string; onClick: () => void; note?: string }): JSX.Element {
  return (
    <button type="button" class="acp-menu-item" onClick={onClick}>
      <Icon name={icon} /><span class="acp-menu-text">{label}{note && <small>{note}</small>}</span>
    </button>
  );
}

function Entries({ close }: { close: () => void }): JSX.Element {
  const { act, attempt, say, store } = usePanel();
  const dialog = useLocal<string | null>("dialog", null);
  const notify = notifications();
  const then = (work: () => void) => (): void => { close(); work(); };
  const { policy, authMethods, capabilities } = store.meta;
  const live = store.connection.value === "live";
  const exportAs = (format: (typeof FORMATS)[number]): void => attempt(async () => {
    const file = (await store.request({ kind: "export", format })) as Exported;
    saveUrl(await store.blobUrl(file), file.name);
  });
  const login = (methodId: string): void => attempt(async () => {
    const byHand = (await store.request({ kind: "login", methodId })) as string | null;
    if (byHand) say(byHand);
  });
  const canLogout = Boolean((capabilities.value as { auth?: { logout?: unknown } }).auth?.logout);
  return (
    <div class="acp-menu-list">
      {live && <Entry icon="history" label={t("menu.restart")} onClick={then(() => act({ kind: "restart" }))} />}
      {live && authMethods.value.map((method) => (
        <Entry
          key={String(method["id"])} icon="shield" label={`${t("menu.login")}: ${String(method["name"] ?? method["id"])}`}
          note={typeof method["description"] === "string" ? method["description"] : undefined} onClick={then(() => login(String(method["id"])))}
        />
      ))}
      {live && canLogout && <Entry icon="shield" label={t("menu.logout")} onClick={then(() => act({ kind: "logout" }))} />}
      {live && (
        <>
          <div class="acp-menu-group">{t("menu.export")}</div>
          {FORMATS.map((format) => <Entry key={format} icon="save" label={t(`menu.export.${format}`)} onClick={then(() => exportAs(format))} />)}
          <div class="acp-menu-group">{t("menu.policy")}</div>
          <div role="radiogroup" aria-label={t("menu.policy")}>
            {PRESETS.map((preset) => (
              <button key={preset} type="button" role="radio" class="acp-menu-item" aria-checked={policy.value === preset} onClick={then(() => act({ kind: "set-policy", policy: preset }))}>
                <span class="acp-menu-check">{policy.value === preset && <Icon name="check" />}</span><span class="acp-menu-text">{t(`policy.${preset}`)}</span>
              </button>
            ))}
          </div>
          {!(PRESETS as readonly string[]).includes(policy.value) && <div class="acp-menu-note acp-muted">{tOr(`policy.${policy.value}`, policy.value)}</div>}
        </>
      )}
      <div class="acp-menu-group">{t("more")}</div>
      <button type="button" role="switch" aria-checked={notify.on.value} class="acp-menu-item" onClick={() => void notify.toggle()}>
        <span class="acp-menu-check">{notify.on.value && <Icon name="check" />}</span><span class="acp-menu-text">{t("menu.notify")}</span>
      </button>
      <Entry icon="info" label={t("menu.about")} onClick={then(() => { dialog.value = "about"; })} />
      {live && <Entry icon="list" label={t("menu.trace")} onClick={then(() => { dialog.value = "trace"; })} />}
    </div>
  );
}

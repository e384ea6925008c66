// What is wrong with the chat as a whole, and what helps.
import type { JSX } from "preact";
import { t, tOr } from "../strings";
import { useLocal, usePanel, useStore } from "./context";
import { Icon, IconButton } from "./icons";

export function ConnectionBanner(): JSX.Element | null {
  const connection = useStore().connection.value;
  if (connection === "live" || connection === "connecting") return null;
  return <div class="acp-banner" role="status"><Icon name="info" />{t(`connection.${connection}`)}</div>;
}

/** A word that is no error, e.g. that a session came without its history. */
export function NoteBanner(): JSX.Element | null {
  const { store, act } = usePanel();
  const note = store.meta.note.value;
  const readOnly = store.meta.readOnly.value;
  if (!note && !readOnly) return null;
  return (
    <div class="acp-note" role="status">
      <Icon name="info" /><span class="acp-grow" dir="auto">{note || t("readOnly")}</span>
      {note && <IconButton icon="cross" label={t("error.dismiss")} onClick={() => act({ kind: "dismiss-error" })} />}
    </div>
  );
}

/** Starting again is what reconnecting means to the kernel. */
const MESSAGES = { retry: "retry", restart: "restart", reconnect: "retry" } as const;

export function ErrorBanner(): JSX.Element | null {
  const { store, act, attempt, say } = usePanel();
  const { authMethods } = store.meta;
  const error = store.meta.error.value;
  const open = useLocal("chat-error", false);
  if (!error) return null;
  const login = (methodId: string): void => attempt(async () => {
    const byHand = (await store.request({ kind: "login", methodId })) as string | null;
    if (byHand) say(byHand);
  });
  const more = Boolean(error.detail || error.stderrTail);
  return (
    <div class="acp-error acp-chat-error" role="alert">
      <Icon name="warning" />
      <div class="acp-error-main">
        <strong>{error.title}</strong>
        <div dir="auto">{error.message}</div>
        {more && <button type="button" class="acp-link-button" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>{t("error.detail")}</button>}
        {open.value && error.detail && <pre class="acp-error-detail" dir="ltr" tabIndex={0}>{error.detail}</pre>}
        {open.value && error.stderrTail && (
          <>
            <div class="acp-muted">{t("error.stderr")}</div>
            <pre class="acp-error-detail" dir="ltr" tabIndex={0}>{error.stderrTail}</pre>
          </>
        )}
        <div class="acp-error-actions">
          {error.actions.includes("login") && authMethods.value.map((method) => (
            <button key={String(method["id"])} type="button" class="acp-button acp-primary" onClick={() => login(String(method["id"]))}>{t("action.login")}: {String(method["name"] ?? method["id"])}</button>
          ))}
          {error.actions.filter((action) => action in MESSAGES).map((action) => (
            <button key={action} type="button" class="acp-button" onClick={() => act({ kind: MESSAGES[action as "retry"] })}>{tOr(`action.${action}`, action)}</button>
          ))}
        </div>
      </div>
      <IconButton icon="cross" label={t("error.dismiss")} onClick={() => act({ kind: "dismiss-error" })} />
    </div>
  );
}

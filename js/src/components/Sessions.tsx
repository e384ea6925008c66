// The drawer of sessions: find one, open it, copy it, delete it, or begin anew.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ListedSession, SessionList } from "../messages";
import { t } from "../strings";
import { useNow } from "./clock";
import { useLocal, usePanel, useStore } from "./context";
import { ago, basename } from "./format";
import { Icon, IconButton } from "./icons";
import { activity, byFolder, type Folder } from "./sessions-list";

const GROUP_SIZE = 5;

export function SessionsButton(): JSX.Element | null {
  const store = useStore();
  const open = useLocal("drawer", false);
  const { sessionCapabilities } = store.meta.capabilities.value as { sessionCapabilities?: { list?: unknown } };
  if (store.connection.value !== "live" || !sessionCapabilities?.list) return null;
  return <IconButton icon="history" label={t("sessions")} pressed={open.value} onClick={() => { open.value = !open.value; }} />;
}

export function SessionsDrawer(): JSX.Element | null {
  const open = useLocal("drawer", false);
  return open.value ? <Drawer close={() => { open.value = false; }} /> : null;
}

function Drawer({ close }: { close: () => void }): JSX.Element {
  const { store, attempt, focusComposer } = usePanel();
  const list = useLocal<SessionList | null>("sessions", null);
  const query = useSignal("");
  const box = useRef<HTMLElement>(null);
  const seenBusy = useLocal<ReadonlySet<string>>("seen-busy", new Set());
  const refresh = (): void => attempt(async () => {
    const found = (await store.request({ kind: "sessions" })) as SessionList;
    list.value = found;
    seenBusy.value = new Set([...seenBusy.peek(), ...found.sessions.filter((one) => one.busy).map((one) => one.key)]);
  });
  const shown = store.meta.sessionKey.value;
  useEffect(refresh, [shown, store.meta.status.value === "running"]);
  useEffect(() => { box.current?.querySelector<HTMLElement>("input")?.focus({ preventScroll: true }); }, []);
  const leave = (): void => {
    close();
    focusComposer();
  };
  const go = (work: () => Promise<unknown>): void => attempt(async () => {
    await work();
    leave();
  });
  const folders = list.value ? byFolder(list.value.sessions, store.meta.cwd.value, query.value) : [];
  return (
    <aside
      ref={box} class="acp-drawer" aria-label={t("sessions")}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
    >
      <div class="acp-drawer-head">
        <button type="button" class="acp-button" onClick={() => go(() => store.request({ kind: "open-session", action: "new" }))}><Icon name="plus" />{t("sessions.new")}</button>
        <span class="acp-grow" />
        <IconButton icon="cross" label={t("close")} onClick={leave} />
      </div>
      <input class="acp-field" type="search" placeholder={t("sessions.search")} aria-label={t("sessions.search")} value={query.value} onInput={(event) => { query.value = event.currentTarget.value; }} />
      <div class="acp-drawer-list">
        {!list.value && <div class="acp-line"><span class="acp-spinner" /></div>}
        {list.value && folders.length === 0 && <div class="acp-muted acp-menu-none">{t(query.value ? "picker.none" : "sessions.empty")}</div>}
        {folders.map((folder) => (
          <FolderGroup key={folder.cwd} folder={folder} can={list.value!.can} whole={query.value !== ""} go={go} refresh={refresh} />
        ))}
      </div>
    </aside>
  );
}

interface GroupProps { folder: Folder; can: SessionList["can"]; whole: boolean; go: (work: () => Promise<unknown>) => void; refresh: () => void }

function FolderGroup({ folder, can, whole, go, refresh }: GroupProps): JSX.Element {
  const count = useLocal(`folder:${folder.cwd}`, GROUP_SIZE);
  const sessions = whole ? folder.sessions : folder.sessions.slice(0, count.value);
  const rest = folder.sessions.length - sessions.length;
  return (
    <section class="acp-folder">
      <h3 class="acp-menu-group" title={folder.cwd}>{basename(folder.cwd) || folder.cwd}{folder.missing && <span class="acp-warn"> · {t("sessions.missing")}</span>}</h3>
      {sessions.map((session) => <Row key={session.key} session={session} can={can} go={go} refresh={refresh} />)}
      {rest > 0 && <button type="button" class="acp-link-button" onClick={() => { count.value += GROUP_SIZE * 2; }}>{t("sessions.more", { count: Math.min(rest, GROUP_SIZE * 2) })}</button>}
    </section>
  );
}

function Row({ session, can, go, refresh }: { session: ListedSession } & Pick<GroupProps, "can" | "go" | "refresh">): JSX.Element {
  const { store, attempt } = usePanel();
  const asking = useSignal(false);
  const seenBusy = useLocal<ReadonlySet<string>>("seen-busy", new Set());
  const now = useNow(true);
  const shown = store.meta.sessionKey.value === session.key;
  const title = session.title || t("sessions.untitled");
  const unread = !session.busy && !shown && seenBusy.value.has(session.key);
  const when = activity(session);
  const open = (): void => {
    seenBusy.value = new Set([...seenBusy.peek()].filter((key) => key !== session.key));
    if (!shown) go(() => store.request({ kind: "open-session", action: "load", key: session.key }));
  };
  if (asking.value) {
    return (
      <div class="acp-session acp-session-asking" role="group" aria-label={t("sessions.confirm")}>
        <span class="acp-grow">{t("sessions.confirm")}</span>
        <button
          type="button" class="acp-button acp-danger" autofocus ref={(button) => button?.focus({ preventScroll: true })}
          onClick={() => attempt(async () => {
            asking.value = false;
            await store.request({ kind: "delete-session", key: session.key });
            refresh();
          })}
        >{t("sessions.delete")}</button>
        <button type="button" class="acp-button" onClick={() => { asking.value = false; }}>{t("cancel")}</button>
      </div>
    );
  }
  return (
    <div class={`acp-session ${shown ? "acp-session-shown" : ""}`}>
      <button type="button" class="acp-session-open" aria-current={shown} disabled={!can.load} onClick={open} title={title}>
        <span class="acp-one-line" dir="auto">{title}</span>
        {session.busy ? <span class="acp-spinner" role="img" aria-label={t("sessions.busy")} />
          : unread ? <span class="acp-dot" role="img" aria-label={t("sessions.unread")} />
          : when !== null && <time class="acp-muted acp-nowrap" dateTime={session.updatedAt ?? undefined}>{ago(when, now)}</time>}
      </button>
      {can.fork && <IconButton icon="branch" label={`${t("sessions.fork")}: ${title}`} onClick={() => go(() => store.request({ kind: "open-session", action: "fork", key: session.key }))} />}
      {can.delete && <IconButton icon="delete" label={`${t("sessions.delete")}: ${title}`} onClick={() => { asking.value = true; }} />}
    </div>
  );
}

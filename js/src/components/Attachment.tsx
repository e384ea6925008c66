// A file or link that came with a group: its name, where it is, and what can be done with it.
import type { JSX } from "preact";
import type { AttachmentState, Part } from "../messages";
import { partsOf } from "../store";
import { t, tOr } from "../strings";
import { copyText } from "./clipboard";
import { usePanel } from "./context";
import { basename, bytes, fileLabel, relativePath } from "./format";
import { Icon, IconButton } from "./icons";

type Attached = Extract<Part, { kind: "attachment" }>;

/** `refId` is `{item id}/{n}`: the n-th attachment of that item. */
function findAttachment(store: ReturnType<typeof usePanel>["store"], refId: string): Attached | null {
  const item = store.item(refId.slice(0, refId.lastIndexOf("/"))).value;
  return (item && partsOf(item).find((part): part is Attached => part.kind === "attachment" && part.refId === refId)) ?? null;
}

/** A link that carries a name or password for its host: it is neither shown nor opened. */
const CREDENTIALS = /^https?:\/\/[^/?#]*@/i;

const pathOf = (uri: string): string | null => {
  if (!uri.startsWith("file://")) return null;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return null;
  }
};

function AttachmentCard({ refId }: { refId: string }): JSX.Element | null {
  const { store, say } = usePanel();
  const part = findAttachment(store, refId);
  if (!part) return null;
  const uri = part.uri ?? "";
  const known: AttachmentState = store.meta.attachments.value[refId] ?? { state: "pending" };
  const state: AttachmentState = known.state !== "unavailable" && CREDENTIALS.test(uri) ? { state: "unavailable", reason: "credentials" } : known;
  const web = /^https?:\/\//i.test(uri);
  const path = state.displayPath ?? pathOf(uri);
  const size = state.size ?? part.size;
  const type = state.mimeType ?? part.mimeType;
  const usable = state.state !== "unavailable"; // pending: nobody has looked, so nothing is known against it
  const given = part.name || basename(uri);
  const name = fileLabel(usable ? given : basename(given)) || t("attachment"); // a dead one tells nothing of its folder
  const note =
    state.state === "unavailable" ? `${t("attachment.unavailable")}: ${tOr(`attachment.reason.${state.reason ?? ""}`, (state.reason ?? "").replaceAll("_", " "))}`
    : path ? relativePath(path, store.meta.cwd.value) : web ? uri : "";
  return (
    <div class={`acp-attachment acp-attachment-${state.state}`} role="group" aria-label={usable ? name : `${name}, ${note}`} aria-disabled={!usable}>
      <Icon name={web ? "link" : "file"} />
      <span class="acp-attachment-name" dir="auto" title={name}>{name}</span>
      <span class="acp-attachment-path acp-muted" title={note}>{note}</span>
      {type && usable && <span class="acp-muted acp-attachment-type" dir="auto" title={type}>{type}</span>}
      {typeof size === "number" && usable && <span class="acp-muted acp-nowrap">{bytes(size)}</span>}
      {web && usable && <a class="acp-link-button" href={uri} target="_blank" rel="noopener noreferrer">{t("attachment.open")}</a>}
      {usable && (path ?? uri) && (
        <IconButton icon="copy" label={t(path ? "attachment.copyPath" : "attachment.copyLink")} onClick={async () => say(t((await copyText(path ?? uri)) ? "copied" : "copy"))} />
      )}
    </div>
  );
}

export function Attachments({ refIds }: { refIds: readonly string[] }): JSX.Element | null {
  if (refIds.length === 0) return null;
  return <div class="acp-attachments">{refIds.map((refId) => <AttachmentCard key={refId} refId={refId} />)}</div>;
}

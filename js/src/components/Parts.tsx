// The parts of a tool's output, or of what a permission asks for, each in its own look.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { BlobRef, Part } from "../messages";
import { t } from "../strings";
import { copyImage, saveUrl } from "./clipboard";
import { usePanel, useStore } from "./context";
import { Diff } from "./Diff";
import { IconButton } from "./icons";
import { showLightbox } from "./Lightbox";
import { GrowingText } from "./Text";

/** The object URL of a blob, null until its bytes are here, "" when they cannot be had. */
function useBlob(ref: BlobRef | null): string | null {
  const store = useStore();
  const [url, setUrl] = useState<string | null>(null);
  const connection = store.connection.value;
  useEffect(() => {
    if (!ref || connection === "connecting") return undefined;
    let here = true;
    store.blobUrl(ref).then((found) => here && setUrl(found), () => here && setUrl(""));
    return () => { here = false; };
  }, [ref?.sha256, connection]);
  return url;
}

const RASTER = /^image\/(png|jpeg|gif|webp|bmp|avif|x-icon)$/;

export function Image({ part, caption }: { part: Extract<Part, { kind: "image" }>; caption?: boolean }): JSX.Element {
  const panel = usePanel();
  const drawable = part.blob !== null && RASTER.test(part.blob.mimeType || part.mimeType || "");
  const url = useBlob(drawable ? part.blob : null);
  const label = part.alt || t("image.untitled");
  if (!drawable || url === "") return <div class="acp-card-note acp-muted">{t("image.missing")} {part.source ?? label}</div>;
  const extension = (part.blob?.mimeType ?? "image/png").split("/")[1]?.replace("jpeg", "jpg") ?? "png";
  const file = /\.\w+$/.test(label) ? label : `${label.replace(/[^\w-]+/g, "-")}.${extension}`;
  return (
    <figure class="acp-picture">
      {url === null ? <div class="acp-picture-wait" /> : (
        <button type="button" class="acp-picture-button" aria-label={t("image.enlarge", { name: label })} onClick={(event) => showLightbox(panel, url, label, event.currentTarget)}>
          <img src={url} alt={label} title={label} decoding="async" />
        </button>
      )}
      {caption && <figcaption dir="auto">{label}</figcaption>}
      {url && !caption && (
        <div class="acp-corner">
          <IconButton icon="copy" label={t("image.copy")} onClick={async () => panel.say(t((await copyImage(url)) ? "copied" : "image.missing"))} />
          <IconButton icon="save" label={t("image.save")} onClick={() => saveUrl(url, file)} />
        </div>
      )}
    </figure>
  );
}

export function Audio({ part }: { part: Extract<Part, { kind: "audio" }> }): JSX.Element {
  const url = useBlob(part.blob && part.blob.mimeType.startsWith("audio/") ? part.blob : null);
  return url ? <audio controls src={url} aria-label={t("audio")} /> : <div class="acp-card-note acp-muted">{t("audio")}</div>;
}

/** Kinds of tools whose text came from a terminal; the text of others is file content or the like. */
export const isTerminalKind = (kind: string): boolean => kind === "execute" || kind === "other";

interface OutputProps { id: string; parts: readonly Part[]; toolKind: string }

export function OutputParts({ id, parts, toolKind }: OutputProps): JSX.Element {
  return (
    <>
      {parts.map((part, index) => {
        switch (part.kind) {
          case "markdown":
            return <GrowingText key={index} id={id} part={index} terminal={isTerminalKind(toolKind)} version={part} deferred={part.deferred} />;
          case "terminal":
            return (
              <div key={index}>
                {part.truncated && <div class="acp-muted acp-card-note">{t("terminal.truncated")}</div>}
                <GrowingText id={id} part={index} terminal version={part} deferred={part.deferred} />
                <ExitStatus status={part.exitStatus} />
              </div>
            );
          case "diff": return <Diff key={index} part={part} name={`${id}/${index}`} />;
          case "image": return <Image key={index} part={part} />;
          case "audio": return <Audio key={index} part={part} />;
          case "error": return <div key={index} class="acp-error-line">{part.message}</div>;
          case "unsupported": return <div key={index} class="acp-muted acp-card-note">{t("unsupported", { type: part.type })}</div>;
          case "attachment": return null; // lifted to the end of the turn
        }
      })}
    </>
  );
}

function ExitStatus({ status }: { status: { exitCode: number | null; signal: string | null } | null }): JSX.Element | null {
  if (!status || (status.exitCode === 0 && !status.signal)) return null;
  const text = status.signal ? t("terminal.signal", { signal: status.signal }) : t("terminal.exit", { code: status.exitCode ?? "?" });
  return <div class="acp-exit">{text}</div>;
}

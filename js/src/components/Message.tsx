// What was said: the agent's text as Markdown, the person's as typed.
import type { JSX } from "preact";
import type { MessageSegment } from "../messages";
import { t } from "../strings";
import { useStore } from "./context";
import { Markdown } from "./Markdown";
import { Audio, Image } from "./Parts";

export function AssistantMessage({ id, streaming }: { id: string; streaming: boolean }): JSX.Element | null {
  const item = useStore().item(id).value;
  if (item?.kind !== "message-segment") return null;
  const last = item.parts.length - 1;
  return (
    <div class="acp-message" data-item={id}>
      {item.parts.map((part, index) => {
        switch (part.kind) {
          case "markdown": return <Markdown key={index} id={id} part={index} version={part} streaming={streaming && index === last} />;
          case "image": return <Image key={index} part={part} />;
          case "audio": return <Audio key={index} part={part} />;
          case "unsupported": return <div key={index} class="acp-muted acp-card-note">{t("unsupported", { type: part.type })}</div>;
          default: return null;
        }
      })}
    </div>
  );
}

export function UserMessage({ item }: { item: MessageSegment }): JSX.Element {
  const texts = item.parts.map((part) => (part.kind === "markdown" ? part.text : "")).filter((text) => text !== "");
  const images = item.parts.filter((part) => part.kind === "image");
  return (
    <>
      {texts.length > 0 && (
        <div class="acp-bubble" data-item={item.id}>
          {texts.join("\n").split(/\n(?=\s*\S)/).map((line, index) => <div key={index} dir="auto">{line}</div>)}
        </div>
      )}
      {images.length > 0 && <div class="acp-thumbnails">{images.map((part, index) => part.kind === "image" && <Image key={index} part={part} caption />)}</div>}
    </>
  );
}

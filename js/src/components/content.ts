// Buttons inside rendered Markdown: they are plain DOM, so their clicks are read at the panel.
import { t } from "../strings";
import { copyText } from "./clipboard";
import type { Panel } from "./context";
import { insertCellBelow } from "./jupyter";
import { showLightbox } from "./Lightbox";

export function onContentClick(event: MouseEvent, panel: Panel): void {
  const target = (event.target as Element).closest<HTMLElement>(".acp-markdown [data-action]");
  if (!target) return;
  const figure = target.closest<HTMLElement>(".acp-code");
  const code = (figure?.querySelector("code")?.textContent ?? "").replace(/\n$/, "");
  switch (target.dataset["action"]) {
    case "copy-code":
      void copyText(code).then((done) => panel.say(t(done ? "copied" : "copy")));
      break;
    case "wrap-code":
      figure?.toggleAttribute("data-local-wrap");
      break;
    case "insert-code":
      void insertCellBelow(panel.root(), code).then((done) => panel.say(t(done ? "code.inserted" : "copied")));
      break;
    case "load-image":
      target.closest(".acp-markdown")?.dispatchEvent(new CustomEvent("acp-load-image", { detail: target.dataset["source"] }));
      break;
    case "enlarge-image":
      showLightbox(panel, (target as HTMLImageElement).src, target.getAttribute("alt") ?? "", target);
      break;
    case "footnote": {
      const note = target.closest(".acp-markdown")?.querySelector(`[data-footnote="${CSS.escape(target.dataset["number"] ?? "")}"]`);
      if (note) panel.follow.reveal(note);
      break;
    }
  }
}

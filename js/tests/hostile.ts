import { Scene } from "../dev/scenes";
import type { View } from "../src/messages";

// Text that tries to run, to link or to call home. Used in prose and in every plain field of an item.
export const PWNED = "window.__pwned=1";
export const HOSTILE: readonly string[] = [
  `<script>${PWNED}</script>`, `<img src=x onerror=${PWNED}>`, `<svg onload=${PWNED}>`, `<svg><script>${PWNED}</script></svg>`, `<iframe srcdoc="<script>parent.__pwned=1</script>"></iframe>`,
  `<iframe src="javascript:${PWNED}"></iframe>`, `<body onload=${PWNED}>`, `<details open ontoggle=${PWNED}>x</details>`, `<input autofocus onfocus=${PWNED}>`, `<video><source onerror=${PWNED}></video>`,
  `<a href="javascript:${PWNED}">x</a>`, `<a href="data:text/html,<script>${PWNED}</script>">x</a>`, `<form action="javascript:${PWNED}"><button>x</button></form>`, `<button formaction="javascript:${PWNED}">x</button>`, `<object data="javascript:${PWNED}"></object>`,
  `<embed src="javascript:${PWNED}">`, `<style>*{background:url(https://evil.example/c)}</style>`, `<link rel=stylesheet href="https://evil.example/s.css">`, `<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<base href="https://evil.example/">`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${PWNED}>`, `<svg><foreignObject><img src=x onerror=${PWNED}></foreignObject></svg>`, `<svg><use href="data:image/svg+xml,<svg onload=${PWNED}>"/></svg>`, `<svg><a xlink:href="javascript:${PWNED}"><text>x</text></a></svg>`, `<svg><animate onbegin=${PWNED} attributeName=x dur=1s>`,
  `<noscript><p title="</noscript><img src=x onerror=${PWNED}>">`, `<template><img src=x onerror=${PWNED}></template>`, `<textarea></textarea><img src=x onerror=${PWNED}>`, `<!--><img src=x onerror=${PWNED}>-->`, `<![CDATA[<img src=x onerror=${PWNED}>]]>`,
  `[x](javascript:${PWNED})`, `[x](JaVaScRiPt:${PWNED})`, `[x](java\tscript:${PWNED})`, `[x](&#106;avascript:${PWNED})`, `[x](javascript&colon;${PWNED})`, `[x](<javascript:${PWNED}>)`, `[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`, `[x](vbscript:${PWNED})`, `[x](file:///etc/passwd)`, `[x](//evil.example/)`,
  `[x]: javascript:${PWNED}\n\n[x]`, `<javascript:${PWNED}>`, `![x](javascript:${PWNED})`, `![x](https://evil.example/pixel.png)`, `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)`, `![x" onerror="${PWNED}](https://evil.example/p.png)`, `[x](https://ok.example "a\\" onmouseover=\\"${PWNED}")`, `[<img src=x onerror=${PWNED}>](https://ok.example)`,
  "```html\n<img src=x onerror=window.__pwned=1>\n```", "```\"><img src=x onerror=window.__pwned=1>\nx\n```", "`<img src=x onerror=window.__pwned=1>`", "```js onload=window.__pwned=1\nx\n```", `~~~<script>${PWNED}</script>\nx\n~~~`,
  `| <img src=x onerror=${PWNED}> | b |\n|---|---|\n| <script>${PWNED}</script> | [x](javascript:${PWNED}) |`, `# <img src=x onerror=${PWNED}>`, `- [ ] <img src=x onerror=${PWNED}>`, `> <script>${PWNED}</script>`,
  `$\\href{javascript:${PWNED}}{x}$`, `$$\\includegraphics{https://evil.example/p.png}$$`, `$\\text{<img src=x onerror=${PWNED}>}$`, `\\(\\class{x" onload="${PWNED}}{y}\\)`, `$\\style{background:url(https://evil.example/c)}{x}$`, `$\\url{javascript:${PWNED}}$`,
  `[^n]\n\n[^n]: <img src=x onerror=${PWNED}> [x](javascript:${PWNED})`, `www.evil.example" onmouseover="${PWNED}`, `https://ok.example/"onmouseover="${PWNED}`, `<a\nhref=javascript:${PWNED}>x</a>`, `<<img src=x onerror=${PWNED}>`, `\u0000<img src=x onerror=${PWNED}>`, `\u001b]8;;javascript:${PWNED}\u0007x\u001b]8;;\u0007`, `"><img src=x onerror=${PWNED}>`, `' onmouseover='${PWNED}`, `</code></pre><img src=x onerror=${PWNED}>`, `{{constructor.constructor('${PWNED}')()}}`, `\${${PWNED}}`,
  `<div style="position:fixed;inset:0;background:url(https://evil.example/c)">x</div>`, `<p class="acp-lightbox" data-action="copy-code" onclick=${PWNED}>x</p>`, `<button data-action="load-image" data-source="https://evil.example/p.png">x</button>`,
];

/** One turn that has the payload in every field of every item. */
function addEverywhere(scene: Scene, payload: string): void {
  const text = { kind: "markdown", text: payload } as const;
  const refId = `user:${scene.view.turns.length}/0`;
  scene.ask(payload, [{ kind: "attachment", refId, uri: payload, name: payload, mimeType: payload, size: 1, source: null }]);
  scene.think(payload).say(payload).notice(payload).plan([payload, payload]);
  scene.tool(payload, payload, { name: payload, rawInput: { [payload]: payload, command: payload }, outputParts: [text, { kind: "terminal", terminalId: payload, output: payload, exitStatus: { exitCode: 1, signal: payload }, truncated: true }], error: payload, locations: [{ path: payload }, { path: payload }], status: payload });
  scene.tool(payload, "edit", { outputParts: [{ kind: "diff", path: payload, oldText: `${payload}\na`, newText: `${payload}\nb` }, { kind: "diff", path: null, patch: payload, changes: [{ operation: "edit", path: payload }] }, { kind: "unsupported", type: payload }, { kind: "error", message: payload }, { kind: "image", blob: null, source: payload, mimeType: payload, alt: payload }] });
  scene.tool(payload, "read", { rawOutput: payload, rawInput: payload });
  scene.permit(payload, { options: [{ optionId: payload, name: payload, kind: payload }], rawInput: { x: payload }, parts: [text], locations: [{ path: payload }] });
  scene.permit(payload, { status: "selected", selectedOptionId: payload, decidedBy: payload });
  scene.say(payload).turn({ state: "failed", error: { message: payload, code: 1, data: payload }, stopReason: payload });
}

/** A view with the payloads in every field; the last one in the chat's own state too. */
export function everywhere(payloads: readonly string[]): View {
  const scene = new Scene();
  for (const payload of payloads) addEverywhere(scene, payload);
  const payload = payloads.at(-1) ?? "";
  const { view } = scene;
  view.meta = {
    ...view.meta, title: payload, agent: { name: payload, title: payload, version: payload }, phase: payload, note: payload, cwd: payload,
    error: { title: payload, message: payload, detail: payload, stderrTail: payload, actions: [payload] }, queue: [{ id: "q", text: payload, whole: true }],
    attachments: { "user:0/0": { state: "available", displayPath: payload } },
    metadata: { availableCommands: [{ name: payload, description: payload }], availableModes: [{ id: payload, name: payload }], currentModeId: payload, configOptions: [{ id: payload, name: payload, currentValue: payload, options: [{ value: payload, name: payload }] }], usage: { used: payload, cost: { amount: payload, currency: payload } } },
  };
  return view;
}

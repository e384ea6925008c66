// The widget without a notebook: gallery.html?scene=tools&theme=dark&width=320
import { mount } from "../src/components/mount";
import { setLoader } from "../src/markdown/extras";
import { setLanguage } from "../src/strings";
import { Wire } from "../src/wire";
import * as languages from "../src/markdown/lazy/languages";
import * as maths from "../src/markdown/lazy/maths";
import { everywhere, HOSTILE } from "../tests/hostile";
import { bench } from "./bench";
import { SceneModel } from "./model";
import { scene, SESSIONS, TRACE } from "./scenes";

async function picture(): Promise<ArrayBuffer> {
  const canvas = Object.assign(document.createElement("canvas"), { width: 480, height: 260 });
  const draw = canvas.getContext("2d")!;
  draw.fillStyle = "#fff";
  draw.fillRect(0, 0, 480, 260);
  draw.strokeStyle = "#1565c0";
  draw.lineWidth = 2;
  draw.beginPath();
  for (let x = 0; x < 440; x += 4) draw.lineTo(20 + x, 130 + Math.sin(x / 30) * 70 - x / 12);
  draw.stroke();
  const blob = await new Promise<Blob>((resolve) => canvas.toBlob((made) => resolve(made!)));
  return blob.arrayBuffer();
}

const asked = new URLSearchParams(location.search);
setLanguage(asked.get("lang") ?? "en");
if (asked.get("jupyter") !== "no") document.documentElement.dataset["jupyter"] = asked.get("theme") ?? "light";
document.body.dataset["theme"] = asked.get("theme") ?? "light";
const host = document.getElementById("host")!;
host.style.width = `${asked.get("width") ?? 900}px`;
const name = asked.get("scene") ?? "empty";
const model = new SceneModel(name === "hostile" ? everywhere(HOSTILE) : scene(name), { height: `${asked.get("height") ?? 620}px`, theme: asked.get("theme") ?? "", saved: "" }, picture);
model.answers["sessions"] = SESSIONS;
model.answers["trace"] = TRACE;
const wire = new Wire(model);
const { store } = wire.openView();
mount(host, store);
setLoader(async (name) => (name === "maths" ? maths : languages)); // there is no kernel to ask
Object.assign(window, { model, store, bench });

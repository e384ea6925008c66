// A panel in jsdom over the real wire and store, with what jsdom lacks.
import type { View } from "../src/messages";
import * as languages from "../src/markdown/lazy/languages";
import * as maths from "../src/markdown/lazy/maths";
import { setLoader } from "../src/markdown/extras";
import { mount } from "../src/components/mount";
import { Wire } from "../src/wire";
import type { Store } from "../src/store";
import { SceneModel } from "../dev/model";

class NoObserver {
  observe(): void {}
  disconnect(): void {}
  unobserve(): void {}
}
Object.assign(globalThis, { ResizeObserver: globalThis.ResizeObserver ?? NoObserver });
Object.assign(globalThis, { matchMedia: globalThis.matchMedia ?? (() => ({ matches: false, addEventListener() {}, removeEventListener() {} })) });
Element.prototype.scrollTo ??= function scrollTo(): void {};
Blob.prototype.text ??= function text(this: Blob): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.readAsText(this);
  });
};
URL.createObjectURL ??= () => "blob:test";
URL.revokeObjectURL ??= () => undefined;
Object.assign(globalThis, { CSS: { ...(globalThis.CSS as object | undefined), escape: (text: string) => text.replace(/["\\\]]/g, "\\$&") } });

export interface Shown {
  root: HTMLElement;
  model: SceneModel;
  store: Store;
  settle(): Promise<void>;
  close(): void;
}

const PICTURE = new Uint8Array([137, 80, 78, 71]).buffer;

export async function show(view: View, traits: Record<string, unknown> = {}): Promise<Shown> {
  const model = new SceneModel(view, { height: "600px", theme: "light", saved: "", ...traits }, async () => PICTURE);
  const wire = new Wire(model);
  const { store } = wire.openView();
  const host = document.body.appendChild(document.createElement("div"));
  const unmount = mount(host, store);
  setLoader(async (name) => (name === "maths" ? maths : languages));
  const settle = async (): Promise<void> => {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
  };
  await settle();
  await settle();
  return {
    root: host.querySelector(".acp-notebook") as HTMLElement, model, store, settle,
    close: () => {
      unmount();
      wire.dispose();
      host.remove();
    },
  };
}

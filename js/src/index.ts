// The widget's two hooks: `initialize` once a model, `render` once a view.
import { effect } from "@preact/signals";
import { mount } from "./components/mount";
import { setLoader } from "./markdown/extras";
import { Wire, type Model } from "./wire";

export default () => {
  let wire: Wire | undefined;
  return {
    initialize({ model }: { model: Model }): () => void {
      const own = (wire = new Wire(model));
      return () => own.dispose();
    },
    render({ model, el }: { model: Model; el: HTMLElement }): () => void {
      const view = (wire ??= new Wire(model)).openView();
      setLoader((name) => view.store.loadModule(name));
      const unmount = mount(el, view.store);
      // While the chat is live, styles/saved.css hides the copy that stands below it.
      const stop = effect(() => void el.classList.toggle("acp-live", view.store.connection.value === "live"));
      return () => {
        stop();
        unmount();
        view.close();
      };
    },
  };
};

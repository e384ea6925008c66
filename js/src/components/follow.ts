// Keeps the conversation's end in view while the reader is there, and only then. Any move of the reader
// away from the end (wheel, keys, scrollbar) lets go; coming back to the end, or sending, takes hold again.
import { signal } from "@preact/signals";

const NEAR_END_PX = 12;
const HOLD_MS = 500;

export class Follow {
  readonly following = signal(true);
  /** Something came below what the reader sees. */
  readonly fresh = signal(false);
  private scroller: HTMLElement | null = null;
  private lastTop = 0;
  private lastHeight = 0;
  private heldUntil = 0;

  /** Watches `scroller` and the growing `content` in it. */
  attach(scroller: HTMLElement, content: HTMLElement): () => void {
    this.scroller = scroller;
    const onScroll = (): void => this.scrolled();
    scroller.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(() => this.resized());
    observer.observe(content);
    observer.observe(scroller);
    this.toEnd();
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
      this.scroller = null;
    };
  }

  toEnd(smooth = false): void {
    this.heldUntil = 0;
    this.following.value = true;
    this.fresh.value = false;
    this.stick(smooth);
  }

  /** What changes its height now is the reader's own doing (a card opened): it moves nothing and lets nothing go. */
  hold(): void {
    this.heldUntil = performance.now() + HOLD_MS;
  }

  /** Brings an element of the conversation to the top; the page around is not scrolled. */
  reveal(element: Element, smooth = true): void {
    const { scroller } = this;
    if (!scroller) return;
    const top = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop - 8;
    this.following.value = false;
    const calm = !smooth || matchMedia("(prefers-reduced-motion: reduce)").matches;
    scroller.scrollTo({ top, behavior: calm ? "auto" : "smooth" });
  }

  private distance(): number {
    const { scroller } = this;
    return scroller ? scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight : 0;
  }

  private scrolled(): void {
    const { scroller } = this;
    if (!scroller) return;
    const movedUp = scroller.scrollTop < this.lastTop - 1;
    const shrunk = scroller.scrollHeight < this.lastHeight;
    this.lastTop = scroller.scrollTop;
    this.lastHeight = scroller.scrollHeight;
    if (this.distance() <= NEAR_END_PX) {
      this.following.value = true;
      this.fresh.value = false;
    } else if (movedUp && !shrunk) this.following.value = false;
  }

  private resized(): void {
    const { scroller } = this;
    if (!scroller) return;
    const grew = scroller.scrollHeight > this.lastHeight;
    this.lastHeight = scroller.scrollHeight;
    if (performance.now() < this.heldUntil) return;
    if (this.following.peek()) this.stick(false);
    else if (grew && this.distance() > NEAR_END_PX) this.fresh.value = true;
  }

  private stick(smooth: boolean): void {
    const { scroller } = this;
    if (!scroller) return;
    const calm = !smooth || matchMedia("(prefers-reduced-motion: reduce)").matches;
    scroller.scrollTo({ top: scroller.scrollHeight, behavior: calm ? "auto" : "smooth" });
    this.lastTop = scroller.scrollTop;
    this.lastHeight = scroller.scrollHeight;
  }
}

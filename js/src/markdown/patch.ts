// Turns the children of one node into those of another and keeps every node that can stay, so that a
// selection, a focus, a scroll position and an open menu survive the next words of a stream.

export function patchChildren(target: Node, source: Node): void {
  let old = target.firstChild;
  let fresh = source.firstChild;
  while (fresh) {
    const nextFresh = fresh.nextSibling;
    if (!old) target.appendChild(fresh);
    else {
      const nextOld: ChildNode | null = old.nextSibling;
      if (isSameKind(old, fresh)) patchNode(old, fresh);
      else target.replaceChild(fresh, old);
      old = nextOld;
    }
    fresh = nextFresh;
  }
  while (old) {
    const next: ChildNode | null = old.nextSibling;
    old.remove();
    old = next;
  }
}

function isSameKind(old: Node, fresh: Node): boolean {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName;
}

function patchNode(old: ChildNode, fresh: ChildNode): void {
  if (old.nodeType === Node.TEXT_NODE) {
    const [was, is] = [old as Text, (fresh as Text).data];
    if (was.data === is) return;
    if (is.startsWith(was.data)) was.appendData(is.slice(was.data.length));
    else was.data = is;
    return;
  }
  const [element, model] = [old as Element, fresh as Element];
  for (const { name } of [...element.attributes]) {
    if (!model.hasAttribute(name) && !name.startsWith("data-local")) element.removeAttribute(name);
  }
  for (const { name, value } of model.attributes) if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  patchChildren(element, model);
}

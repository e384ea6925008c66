// Copying and saving what the page shows.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // pages without the permission or without https
  }
}

function copyBySelection(text: string): boolean {
  const area = Object.assign(document.createElement("textarea"), { value: text });
  area.style.cssText = "position:fixed;opacity:0";
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return done;
}

export async function copyImage(url: string): Promise<boolean> {
  try {
    const blob = await (await fetch(url)).blob();
    await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]);
    return true;
  } catch {
    return false;
  }
}

/** Saves under `name`; the url is one of our own objects. */
export function saveUrl(url: string, name: string): void {
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
}

export function saveText(text: string, name: string, mimeType = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([text], { type: mimeType }));
  saveUrl(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

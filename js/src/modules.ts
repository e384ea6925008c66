/** Imports code by its URL. Apart from wire.ts because Node, where that is tested, imports no blob URLs. */
export const importByUrl = (url: string): Promise<unknown> => import(/* @vite-ignore */ url);

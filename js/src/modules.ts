/** Imports code by its URL. Apart from wire.ts because Node, where that is tested, imports no blob URLs. */
export const importUrl = (url: string): Promise<unknown> => import(/* @vite-ignore */ url);

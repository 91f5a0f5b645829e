/** Where the thread of the core begins: beside this file, under the same extension: `.ts` from source, `.js` when built. */
export const CORE_WORKER: URL = new URL(import.meta.url.replace(/core-worker-url(\.[jt]s)$/, 'core-worker$1'));

/**
 * URL of the entry point of the core thread: next to this file, with the same extension (`.ts` from source, `.js` when
 * built).
 */
const FILE = import.meta.url.endsWith('.ts') ? './core-worker.ts' : './core-worker.js';

export const CORE_WORKER: URL = new URL(FILE, import.meta.url);

// Caches components that take seconds to build in node_modules, by a hash of all their inputs.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT: string = resolve(import.meta.dirname, '../../..');
const KEPT = join(ROOT, 'node_modules/.cache/components');

export function isKept(name: string): boolean {
  return existsSync(join(KEPT, `${name}.wasm`));
}

/** Returns the cached component with this name, or builds it. */
export async function keptOr(name: string, build: () => Promise<Uint8Array>): Promise<Uint8Array> {
  const kept = join(KEPT, `${name}.wasm`);
  if (!isKept(name)) {
    mkdirSync(KEPT, { recursive: true });
    const made = `${kept}.${process.pid}`;
    writeFileSync(made, await build());
    renameSync(made, kept);
  }
  return new Uint8Array(readFileSync(kept));
}

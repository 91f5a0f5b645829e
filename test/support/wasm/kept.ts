// Components that take seconds to build are kept beside the packages, by a hash of all that they are made of.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT: string = resolve(import.meta.dirname, '../../..');
const KEPT = join(ROOT, 'node_modules/.cache/components');

export function isKept(name: string): boolean {
  return existsSync(join(KEPT, `${name}.wasm`));
}

/** The component of the name, which is built unless it is kept. */
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

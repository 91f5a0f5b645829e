// Components of TypeScript, built once: componentize-js takes seconds for each, so what was built of the same source is
// kept beside the packages.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundled, componentFrom, kindOf } from '../../../sdk/component/build/build.ts';
import { spending } from '../costs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const KEPT = join(ROOT, 'node_modules/.cache/components');
const MADE_BY = ['sdk/component/wit/cairn.wit', 'sdk/component/build/build.ts', 'package-lock.json'];

/** The component of a module of this repository. */
export async function builtComponent(module: string): Promise<Uint8Array> {
  const path = join(ROOT, module);
  const kind = await kindOf(path);
  const source = await bundled(path, kind);
  const hash = createHash('sha256').update(kind).update(source);
  for (const file of MADE_BY) hash.update(readFileSync(join(ROOT, file)));
  const kept = join(KEPT, `${hash.digest('hex')}.wasm`);
  if (!existsSync(kept)) {
    mkdirSync(KEPT, { recursive: true });
    const made = `${kept}.${process.pid}`;
    writeFileSync(made, await spending('building components', () => componentFrom(source, kind)));
    renameSync(made, kept);
  }
  return new Uint8Array(readFileSync(kept));
}

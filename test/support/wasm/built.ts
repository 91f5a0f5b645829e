// Components in TypeScript, built once and cached, because componentize-js takes seconds for each.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundled, componentFrom, kindOf } from '../../../sdk/component/build/build.ts';
import { spending } from '../costs.ts';
import { keptOr, ROOT } from './kept.ts';

const MADE_BY = ['sdk/component/wit/cairn.wit', 'sdk/component/build/build.ts', 'package-lock.json'];

/** Building, publishing and starting components of 12 MB takes long on a busy machine. */
export const BUILD_MS = 300_000;

/** Component built from a module of this repository. */
export async function builtComponent(module: string): Promise<Uint8Array> {
  const path = join(ROOT, module);
  const kind = await kindOf(path);
  const source = await bundled(path, kind);
  const hash = createHash('sha256').update(kind).update(source);
  for (const file of MADE_BY) hash.update(readFileSync(join(ROOT, file)));
  return keptOr(hash.digest('hex'), () => spending('building components', () => componentFrom(source, kind)));
}

/** Opens a data directory in another process; returns what that says. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MODULE = join(import.meta.dirname, '../../src/cluster/store/data-directory.ts');

export function openedElsewhere(directory: string): string {
  const script = `
    const { openDataDirectory } = await import(${JSON.stringify(MODULE)});
    const random = { bytes: (count) => new Uint8Array(count) };
    const options = { store: {}, disk: {}, nowMs: 1, random, origin: { kind: 'alone' } };
    await openDataDirectory(${JSON.stringify(directory)}, options).then(
      ({ store }) => store.close().then(() => console.log('opened')),
      (error) => console.log(error.details.reason, error.message),
    );`;
  const args = ['--conditions=source', '--input-type=module', '-e', script];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout;
}

// Goal: a component that the inspector takes is built of a module by a command, and whoever gives it no component is
// told so. Method: the command as a process.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, inspect } from '#wasm';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MODULE = 'examples/bank/balances.ts';
/** An engine that starts, on a machine with other things to do. */
const BUILD_MS = 300_000;

describe('building', () => {
  it(
    'gives a component without imports that has all functions of its world',
    async () => {
      using dir = tempDir();
      const out = join(dir.path, 'balances.wasm');
      const { stdout } = await build([MODULE, '--out', out]);
      const bytes = new Uint8Array(readFileSync(out));
      expect(stdout).toBe(`${out}: state-view, ${bytes.length} bytes\n`);
      const inspected = inspect(bytes, { kind: 'state-view', limits: DEFAULT_LIMITS });
      const binding = { main: { name: 'evolve' }, batch: { name: 'evolve-many' }, query: { name: 'query' } };
      expect(inspected).toMatchObject({ kind: 'ok', value: { imports: [], binding: { shape: 'own', ...binding } } });
    },
    BUILD_MS,
  );

  it('says what it was not given', async () => {
    using dir = tempDir();
    const module = join(dir.path, 'nothing.mjs');
    writeFileSync(module, 'export const other = 1;');
    await expect(build([module])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exports no component: export const component = defineStateView('),
    });
    await expect(build([])).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('usage:') });
  });
});

function build(args: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)(process.execPath, ['sdk/component/build/main.ts', ...args], { cwd: ROOT });
}

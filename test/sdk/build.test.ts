// Goal: what a command builds of a module is a component that the inspector takes. Method: the command as a process.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, inspect } from '#wasm';
import { tempDir } from '../support/temp-dir.ts';
import { wat } from '../support/wasm/wat.ts';

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

  it('says what a core module lacks', async () => {
    using dir = tempDir();
    const written = async (name: string, text: string, isBinary = true): Promise<string> => {
      const path = join(dir.path, `${name}.wasm`);
      writeFileSync(path, isBinary ? await wat(text) : text);
      return path;
    };
    const out = join(dir.path, 'out.wasm');
    const bare = await written('bare', '(module)');
    const said = async (...args: readonly string[]): Promise<unknown> =>
      build(args).then(
        () => 'built',
        ({ stderr }: { readonly stderr: string }) => stderr.replaceAll(`${dir.path}/`, ''),
      );
    expect(await said(await written('text', '(module)', false), '--out', out)).toContain('it is no WebAssembly; ');
    expect(await said(await written('whole', '(component)'), '--out', out)).toContain('it is a component already; ');
    expect(await said(bare, '--out', out)).toMatch(/^cairn build: bare\.wasm is not built: it says nothing of its /);
    expect(await said(bare)).toContain('bare.wasm would be written over; name the component by --out');
  });
});

function build(args: readonly string[]): Promise<{ readonly stdout: string }> {
  return promisify(execFile)(process.execPath, ['--conditions=source', 'sdk/tool/main.ts', 'build', ...args], {
    cwd: ROOT,
  });
}

// Goal: a component of TypeScript passes the inspector, and a mistake at cairn init, build or publish is told in a
// line. Method: the component that the gate builds; the command without a build or a node.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEFAULT_LIMITS, inspect } from '#wasm';
import { readComponent } from '../../src/wasm/reading/component-reader.ts';
import { cairnIn } from '../support/author-command.ts';
import { testDir } from '../support/test-scope.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';
import { wat } from '../support/wasm/wat.ts';

it('a module is built into a component that imports nothing but its reader', { timeout: BUILD_MS }, async () => {
  const bytes = await builtComponent('examples/bank/accounts.ts');
  const inspected = inspect(bytes, { kind: 'state-change', limits: DEFAULT_LIMITS });
  if (inspected.kind === 'failure') throw new Error(inspected.reason.message);
  const imports = [...readComponent(bytes, DEFAULT_LIMITS).imports].filter(([, { item }]) => item.sort === 'instance');
  const names = imports.map(([name]) => name.split('@')[0] ?? '');
  expect(names.toSorted()).toEqual(['cairn:component/state-reader', 'cairn:component/types']);
  expect(inspected.value.binding).toMatchObject({ shape: 'own', main: { name: 'decide' } });
});

it('cairn init says what there is, and writes nothing over', async () => {
  const dir = testDir();
  mkdirSync(join(dir, 'full'));
  writeFileSync(join(dir, 'full/file'), '');
  const help = 'cairn init --help shows what there is.';
  const malformed = [[], ['view'], ['state-view', 'Big'], ['state-view', 'a', 'b']];
  const ended = malformed.map(async (args) => {
    const { code, out, err } = await cairnIn(dir, 'init', ...args);
    expect([args, code, out, err.split('\n')]).toEqual([args, 2, '', [expect.any(String), help, '']]);
  });
  await Promise.all(ended);
  const full = await cairnIn(dir, 'init', 'presenter', 'full');
  expect([full.code, full.err]).toEqual([1, expect.stringContaining('not empty')]);
});

it('cairn build says what is not there, and what does not fit', async () => {
  const dir = testDir();
  writeFileSync(join(dir, 'none.ts'), 'export const other = 1;');
  writeFileSync(join(dir, 'text.wasm'), '(module)');
  writeFileSync(join(dir, 'whole.wasm'), await wat('(component)'));
  writeFileSync(join(dir, 'bare.wasm'), await wat('(module)'));
  const rows = [
    ['', 'has no component.ts; cairn init'],
    ['absent.ts', 'absent.ts is not there'],
    ['none.ts', 'exports no component'],
    ['text.wasm --out out.wasm', 'it is no WebAssembly; '],
    ['whole.wasm --out out.wasm', 'it is a component already; '],
    ['bare.wasm --out out.wasm', 'bare.wasm is not built: it says nothing of its '],
    ['bare.wasm', 'bare.wasm would be written over; name the component by --out'],
  ] as const;
  const ended = rows.map(async ([line, says]) => {
    const { code, err } = await cairnIn(dir, 'build', ...line.split(' ').filter(Boolean));
    expect([line, code, err]).toEqual([line, 1, expect.stringContaining(says)]);
  });
  await Promise.all(ended);
});

it('cairn publish says what is missing, what is malformed, and that there is no node', async () => {
  const dir = testDir();
  writeFileSync(join(dir, 'c.wasm'), 'no component');
  writeFileSync(join(dir, 'definition.json'), JSON.stringify({ state_view_name: 'v', content_type: 'a/b' }));
  const rows = [
    ['', 2, '--database is missing'],
    ['--database shop --url ftp://x', 2, 'ftp://x is no URL of a node'],
    ['--database shop --url http://127.0.0.1:1', 1, 'http://127.0.0.1:1 is not reached: '],
  ] as const;
  const ended = rows.map(async ([line, code, says]) => {
    const found = await cairnIn(dir, 'publish', 'c.wasm', ...line.split(' ').filter(Boolean));
    expect([line, found.code, found.err]).toEqual([line, code, expect.stringContaining(says)]);
  });
  await Promise.all(ended);
});

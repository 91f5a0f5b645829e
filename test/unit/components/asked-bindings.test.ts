// Goal: the values with which a State View was read last are remembered across a restart, up to a maximum (F43), and
// lost ones do no harm. Method: real folders, opened again.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { AskedBindings, CacheFolder, viewKey } from '#components';
import { tempDir } from '../../support/temp-dir.ts';

const dir = tempDir();
afterAll(() => dir[Symbol.dispose]());

const VIEW = viewKey('a-database', 'balances', 1);

function open(name: string): Promise<CacheFolder> {
  return CacheFolder.open({ path: join(dir.path, name), bytesMax: 1e6, memoryBytesMax: 0 });
}

function values(account: string): ReadonlyMap<string, string> {
  return new Map([
    ['subject.account', account],
    ['stream.__proto__', '"é"'],
  ]);
}

async function accounts(asked: AskedBindings, view: string = VIEW): Promise<readonly string[]> {
  return (await asked.of(view)).map((parameters) => parameters.get('subject.account') ?? '');
}

it('remembers the values of each view once, also when the folder is opened again', async () => {
  const other = viewKey('a-database', 'balances', 2);
  const asked = new AskedBindings(await open('each'), 10);
  expect(await asked.of(VIEW)).toEqual([]);
  for (const account of ['a', 'b', 'a', 'c']) await asked.add(VIEW, values(account));
  await asked.add(other, values('d'));
  expect([await accounts(asked), await accounts(asked, other)]).toEqual([['b', 'a', 'c'], ['d']]);
  const again = new AskedBindings(await open('each'), 10);
  expect((await accounts(again)).toSorted()).toEqual(['a', 'b', 'c']);
  expect(await again.of(other)).toEqual([values('d')]);
});

it('forgets the values that were not read for the longest time when there are too many (F43)', async () => {
  const asked = new AskedBindings(await open('many'), 3);
  for (const account of ['a', 'b', 'c', 'a', 'd']) await asked.add(VIEW, values(account));
  expect(await accounts(asked)).toEqual(['c', 'a', 'd']);
  expect((await accounts(new AskedBindings(await open('many'), 3))).toSorted()).toEqual(['a', 'c', 'd']);
});

it('continues without the values that the folder has lost', async () => {
  const asked = new AskedBindings(await open('lost'), 3);
  await asked.add(VIEW, values('a'));
  const folder = await open('lost');
  for (const name of readdirSync(join(dir.path, 'lost'))) rmSync(join(dir.path, 'lost', name));
  const again = new AskedBindings(folder, 3);
  expect(await again.of(VIEW)).toEqual([]);
  await again.add(VIEW, values('b'));
  expect(await accounts(again)).toEqual(['b']);
});

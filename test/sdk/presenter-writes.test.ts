// Goal: a presenter gives parts of any length, and none leaves in a write that a host refuses (ADR 0115). Method: a
// presenter of one long part, as plain code.
import { expect, it } from 'vitest';
import { withFree } from '../../sdk/component/build/freeing-writes.ts';
import { definePresenter, type PresentationRecord } from '../../sdk/component/src/index.ts';
import { plainPresenter } from '../../sdk/component/testing/plain.ts';

const ASKED: PresentationRecord = {
  database: 'shop',
  databaseId: 'an-id',
  revision: 1n,
  view: 'orders',
  version: 1,
  contentType: 'text/plain',
  parameters: [],
  settings: undefined,
};
const STATE = new TextEncoder().encode('null');
const MOST = 262_144;

async function writesOf(part: Uint8Array, writesMax: number = Infinity): Promise<readonly Uint8Array[]> {
  const host = plainPresenter(definePresenter({ present: () => [part] }));
  return (await host.present(ASKED, STATE, writesMax)).parts;
}

it.each([
  [0, []],
  [1, [1]],
  [MOST, [MOST]],
  [MOST + 1, [MOST, 1]],
  [3 * MOST, [MOST, MOST, MOST]],
])('a part of a presentation of %d bytes leaves in writes of %j', async (length, lengths) => {
  const part = Uint8Array.from({ length }, (_, at) => at % 251);
  const writes = await writesOf(part);
  expect(writes.map((write) => write.length)).toEqual(lengths);
  expect(Buffer.concat(writes).equals(part)).toBe(true);
});

it('the rest of a part is not sent when its reader has gone', async () => {
  expect(await writesOf(new Uint8Array(3 * MOST), 2)).toHaveLength(2);
});

it('the bindings of a presenter free what a write was given, and others stay as they are', () => {
  const write = 'ret = $import_cairn_component_sink_0_1_0$write(ptr0, len0);';
  expect(withFree(`a; ${write} b;`)).toBe(`a; ${write} if (len0 !== 0) $dealloc(ptr0, len0, 1); b;`);
  expect(withFree('ret = evolve();')).toBe('ret = evolve();');
  expect(() => withFree('ret = $import_sink$write(ptr1, len1);')).toThrow('other bindings');
});

// Goal: a real archive, with a sealed segment, tails and API keys, is cut or damaged anywhere: a restore gives the
// exact history and all keys, or names the object (X5). Method: every object is removed, emptied and cut; 200 bytes are
// changed, as many in each object; the command of an operator runs on each of these archives.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { restoreCommand } from '../../src/main/commands/backup/restore-command.ts';
import { AS_FIRST, guardedSettings, issueKey } from '../support/guarded-node.ts';
import { HttpClient } from '../support/http-client.ts';
import { runProduct, startOwnNode } from '../support/own-node.ts';
import { testDir } from '../support/test-scope.ts';

/** More than a segment. */
const LARGE = 75;
const LARGE_BYTES = 950_000;
const BYTES = 200;
const SEED = 33;

interface Damage {
  readonly name: string;
  /** Undefined when the object is removed. */
  readonly bytes: Uint8Array | undefined;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function restore(archive: string, directory: string): Promise<Ran> {
  let [out, err] = ['', ''];
  const ports = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const args = [`--from=${archive}`, `--data-dir=${directory}`];
  const code = await restoreCommand(args, { ...ports, environment: {} });
  return { code, out, err };
}

/** The restored revision and its chain hash, and the number of keys. */
function factsIn(out: string): string {
  const [, shop = ''] = /^shop .*: (revision .*)$/m.exec(out) ?? [];
  const [keys = ''] = /^\d+ API keys/m.exec(out) ?? [];
  return `${shop}, ${keys}`;
}

/** Archives a node twice, with an API key and more than a segment. */
async function archiveNode(dir: string, archive: string): Promise<void> {
  const guarded = guardedSettings(dir);
  const post = async (api: HttpClient, path: string, body: object): Promise<void> => {
    const { status, text } = await api.post(path, body, AS_FIRST);
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  };
  const write = (api: HttpClient, id: string, bytes: number): Promise<void> => {
    const data = Buffer.alloc(bytes, id).toString('base64');
    const event = { specversion: '1.0', id, source: '/shop/orders', type: 'order.placed', data_base64: data };
    return post(api, '/databases/shop/events', { events: [event] });
  };
  for (const part of ['first', 'second']) {
    const node = await startOwnNode(join(dir, 'node'), guarded);
    const api = new HttpClient(node.http);
    if (part === 'first') {
      await issueKey(api, 'writer');
      await post(api, '/api/v1/db', { database_name: 'shop' });
      for (let index = 0; index < LARGE; index++) await write(api, `large ${index}`, LARGE_BYTES);
    }
    await write(api, part, 10);
    node.kill('SIGTERM');
    expect(await node.ended).toBe(0);
    expect(runProduct(['backup', `--data-dir=${join(dir, 'node')}`, `--to=${archive}`]).status).toBe(0);
  }
}

function damages(archive: string): readonly Damage[] {
  const entries = readdirSync(archive, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const objects = entries.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return { name: path.slice(archive.length + 1), whole: readFileSync(path) };
  });
  const places = fc.sample(fc.nat(), { numRuns: BYTES, seed: SEED });
  const changed = places.map((place, index) => {
    const { name, whole } = objects[index % objects.length] ?? { name: '', whole: Buffer.alloc(1) };
    const bytes = Buffer.from(whole);
    const at = place % bytes.length;
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (place % 8));
    return { name, bytes };
  });
  const cut = objects.flatMap(({ name, whole }) =>
    [undefined, whole.subarray(0, 0), whole.subarray(0, whole.length >> 1), whole.subarray(0, -1)].map((bytes) => ({
      name,
      bytes,
    })),
  );
  return [...cut, ...changed];
}

it('a damaged archive is restored exactly, or its object is named', { timeout: 1_800_000 }, async () => {
  const dir = testDir();
  const archive = join(dir, 'archive');
  mkdirSync(archive);
  await archiveNode(dir, archive);
  const whole = await restore(archive, join(dir, 'whole'));
  const right = factsIn(whole.out);
  expect(right).toMatch(/^revision 77 of .*, chain hash \w{64}, 1 API keys$/);
  const outcomes: Record<string, number> = { exact: 0, named: 0, older: 0, 'without keys': 0 };
  for (const { name, bytes } of damages(archive)) {
    const path = join(archive, name);
    const before = readFileSync(path);
    if (bytes === undefined) rmSync(path);
    else writeFileSync(path, bytes);
    const { code, out, err } = await restore(archive, join(dir, 'new'));
    rmSync(join(dir, 'new'), { recursive: true, force: true });
    writeFileSync(path, before);
    const isNamed = code === 1 && err.includes(`object ${name} of the archive cannot be used: `);
    // Without its newest manifest, the archive is an older one.
    const isOlder =
      bytes === undefined && name.endsWith('/manifests/000000000002') && out.includes(': revision 76 of ');
    const isWithoutKeys = bytes === undefined && name.startsWith('catalogs/') && err.includes('without API keys');
    const outcome = [
      code === 0 && factsIn(out) === right && 'exact',
      isNamed && 'named',
      code === 0 && isOlder && 'older',
      code === 0 && isWithoutKeys && 'without keys',
    ].find((each) => each !== false);
    if (outcome === undefined) throw new Error(`${name} of ${bytes?.length} bytes: ${code} ${out} ${err}`);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  expect(outcomes).toMatchObject({ older: 1, 'without keys': 1 });
  expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(0);
});

// Goal: the thread archives the databases that this node leads at the moment and no others, and the catalog if it leads
// that; what fails is counted, noted once, and repeated.
// Method: the real thread over a real store; the test decides who leads.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CATALOG_GROUP, type GroupId, toRevision } from '#base';
import type { Binding } from '#database';
import { createMetrics, type Logger, silentLogger } from '#observability';
import { archiveAt } from '../../../../src/main/archive/archive-place.ts';
import { ArchiveThread, type ArchiveThreadPorts } from '../../../../src/main/archive/archive-thread.ts';
import { catalogsIn } from '../../../../src/main/archive/archived-catalogs.ts';
import { groupOf, IDENTITY, idOf, StoppedDirectory } from '../../../support/cluster/stopped-node.ts';
import { testDir } from '../../../support/test-scope.ts';

const POLL = { timeout: 50_000, interval: 100 };
const NODE = 'node-3';

function binding(group: number, name: string): Binding {
  const places = { replicas: [], leaving: [], founders: [], placement: 0, isSettled: true, copies: 0 };
  return { name, databaseId: idOf(group), group: groupOf(group), createdAtMs: 0, ...places };
}

it('archives what this node leads, after failures too', async () => {
  const dir = testDir();
  const stopped = await StoppedDirectory.begin(dir);
  onTestFinished(() => stopped[Symbol.asyncDispose]());
  await stopped.database({ group: groupOf(1), name: 'shop', texts: ['t1', 't2'] });
  await stopped.database({ group: groupOf(2), name: 'carts', texts: ['t1'] });
  const leaders = new Map([[groupOf(1), NODE]]);
  const lines: string[] = [];
  const note = (event: string, fields: object = {}): unknown => lines.push(`${event} ${JSON.stringify(fields)}`);
  const logger: Logger = { ...silentLogger, info: note, warn: note, error: note };
  const metrics = createMetrics({ runtime: false });
  let onChange = (): void => undefined;
  const catalog = {
    list: () => [binding(1, 'shop'), binding(2, 'carts')],
    apiKeys: () => [],
    onChange: (listener: () => void) => {
      onChange = listener;
      return () => undefined;
    },
  };
  let revision = 7;
  const node = {
    catalog,
    identity: IDENTITY,
    confirmedLatest: () => Promise.resolve(toRevision(revision)),
    leaderOf: (group: GroupId) => ({ node: leaders.get(group) ?? 'another', address: '' }),
  };

  // A file is in the place of the directory.
  const archive = join(dir, 'archive');
  writeFileSync(archive, '');
  const ports = { storeDirectory: join(dir, 'store'), archive: `file://${archive}`, writer: NODE };
  const thread = new ArchiveThread({ ...ports, node, logger, metrics } as unknown as ArchiveThreadPorts);
  onTestFinished(() => thread[Symbol.asyncDispose]());
  const shown = async (): Promise<string> => (await metrics.render()).body;
  await expect.poll(shown, POLL).toMatch(/^cairn_archive_failures_total [2-9]/m);
  expect(lines).toEqual([expect.stringMatching(/^archive-failing {"database":"shop","message":".*ENOTDIR/)]);
  expect(await shown()).toMatch(/^cairn_archive_lag_bytes{database="shop"} [1-9]/m);

  rmSync(archive);
  mkdirSync(archive);
  await expect.poll(() => lines[1], POLL).toBe('archive-recovered {"database":"shop"}');
  const archived = (): readonly string[] => readdirSync(join(archive, 'databases'));
  const catalogs = async (): Promise<unknown> => [...(await catalogsIn(await archiveAt(archive)))];
  expect(await catalogs()).toEqual([]);
  expect(archived()).toEqual([idOf(1)]);
  await expect.poll(shown, POLL).toMatch(/^cairn_archive_lag_bytes{database="shop"} 0$/m);

  leaders.clear();
  leaders.set(groupOf(2), NODE);
  await expect.poll(shown, POLL).not.toMatch(/^cairn_archive_last_success_\w+{database="shop"}/m);
  await expect.poll(archived, POLL).toEqual([idOf(1), idOf(2)]);
  await expect.poll(shown, POLL).toMatch(/^cairn_archive_last_success_\w+{database="carts"} \d{10}/m);
  const archivedAt = (at: number): unknown => {
    const databases = ['shop', 'carts'].map((name, index) => ({ databaseId: idOf(index + 1), name }));
    return [[IDENTITY.clusterId, { revision: at, databases, keys: [] }]];
  };
  leaders.set(CATALOG_GROUP, NODE);
  await expect.poll(catalogs, POLL).toEqual(archivedAt(7));
  revision = 8;
  onChange();
  await expect.poll(catalogs, POLL).toEqual(archivedAt(8));
  await expect.poll(shown, POLL).toMatch(/^cairn_archive_last_success_\w+{database="\(catalog\)"} \d{10}/m);
  expect([lines.length, existsSync(join(archive, 'segments'))]).toEqual([2, false]);
});

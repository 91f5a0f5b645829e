// Goal: a node with the least memory that it asks for answers many writers at once, and the kernel kills none of its
// processes (K8). Method: the image in a cgroup of 320 MiB.
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PRODUCT_VARIABLE } from '../../chaos/support/product.ts';
import { writeArchive } from '../../scripts/image/archive.ts';
import { imageOf } from '../../scripts/image/image.ts';
import { HttpClient } from '../support/http-client.ts';
import { lacksTool } from '../support/needed-tools.ts';
import { testDir } from '../support/test-scope.ts';
import { unpackImage } from './archive.ts';
import { startContainer } from './container.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DIST = dirname(process.env[PRODUCT_VARIABLE] ?? join(ROOT, 'dist/main.js'));
const MEMORY_BYTES = 320 * 2 ** 20;
const WRITERS = 24;
const REQUESTS = 20_000;
/** Every so many requests one is large, and one is a read. */
const CYCLE = 50;
const LARGE = 'x'.repeat(256 * 1024);
const SMALL = 'x'.repeat(1024);

describe.skipIf(lacksTool('runc', 'apt-get'))('a node in a container of 320 MiB', () => {
  it('answers 24 concurrent writers, and no process of it is killed (K8)', { timeout: 600_000 }, async () => {
    const dir = testDir();
    const archive = join(dir, 'cairn.tar');
    const { layers, config } = imageOf(ROOT, { dist: DIST });
    await writeArchive(archive, layers, config, 1);
    const [image, dataDir] = [unpackImage(archive, dir), join(dir, 'data')];
    const settings = ['--bootstrap=alone'];
    const node = await startContainer(image, { memoryBytes: MEMORY_BYTES, dataDir, settings });
    const client = new HttpClient(node.http);
    await client.create('shop');

    const statuses = new Map<number, number>();
    let [left, writes] = [REQUESTS, 0];
    const write = async (writer: number): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const isRead = left % CYCLE === 1;
        const data = left % CYCLE === 0 ? LARGE : SMALL;
        const event = { specversion: '1.0', id: `${left}`, type: 'placed', source: `/streams/s${writer}`, data };
        const { status } = isRead
          ? await client.get('/databases/shop/events?direction=reverse&limit=20')
          : await client.post('/databases/shop/events', { events: [event] });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (!isRead) writes += 1;
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));

    expect(Object.fromEntries(statuses)).toEqual({ 200: REQUESTS });
    expect(await client.latestRevision('shop')).toBe(writes);
    expect(node.oomKills()).toBe(0);
    expect(node.log()).toContain(`"memoryBytes":${MEMORY_BYTES}`);
  });
});

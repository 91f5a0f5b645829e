// Goal: a node survives a full disk (W13, W15): it refuses writes with RESOURCE_EXHAUSTED and 507, continues to answer
// reads and health checks, and allows deletions of databases. Method: a real node on its own tmpfs, filled from
// outside.
import { expect, it, vi } from 'vitest';
import { MIB, mountDisk, SOON, startOn, transact } from '../support/full-disk.ts';
import { failureOf, TestClient } from '../support/grpc-client.ts';
import { lacksTool } from '../support/needed-tools.ts';

const FULL = { code: 'RESOURCE_EXHAUSTED', info: { reason: 'storage_full', metadata: { reason: 'DiskFull' } } };

it.skipIf(lacksTool('unshare', 'nsenter'))(
  'a node with a nearly full disk refuses writes and continues with everything else',
  { timeout: 120_000 },
  async () => {
    const disk = await mountDisk();
    const node = await startOn(disk);
    await using client = new TestClient(node.grpc);
    await client.send('createDatabase', { databaseName: 'kept' });
    await transact(client, 'kept', 1);

    disk.fillUpTo(20 * MIB);
    await vi.waitFor(() => expect(node.log()).toContain('"diskLevel":"refusing-writes"'), SOON);

    expect(await failureOf(transact(client, 'kept', 1))).toMatchObject(FULL);
    expect(await failureOf(client.send('createDatabase', { databaseName: 'other' }))).toMatchObject(FULL);
    const body = JSON.stringify({ events: [{ specversion: '1.0', id: '1', type: 't', source: '/s' }] });
    for (const path of ['databases/kept/events', 'api/v1/db/kept/async']) {
      const headers = { 'content-type': 'application/json' };
      const refused = await fetch(`${node.http}/${path}`, { method: 'POST', headers, body });
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([507, '5']);
      expect(await refused.text()).toContain('disk of this node is nearly full');
    }
    expect((await fetch(`${node.http}/databases/kept/events/1`)).status).toBe(200);
    expect((await fetch(`${node.http}/health`)).status).toBe(200);
    const health: unknown = JSON.parse(await (await fetch(`${node.http}/health/detailed`)).text());
    expect(health).toMatchObject({ status: 'degraded', storage: { status: 'refusing-writes' } });

    await client.send('deleteDatabase', { databaseName: 'kept', databaseId: undefined });
    disk.empty();
    await vi.waitFor(() => client.send('createDatabase', { databaseName: 'after' }), SOON);
    expect(node.log()).not.toContain('"fatal"');
  },
);

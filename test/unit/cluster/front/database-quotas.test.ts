// Goal: only writes to a database that exceeds its quota are refused. Method: rows in a store in memory, whose size is
// exact.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type GroupId, toGroupId } from '#base';
import { RowKeys } from '#database';
import { createMetrics, silentLogger } from '#observability';
import { DatabaseQuotas } from '../../../../src/cluster/front/database-quotas.ts';
import { memoryKv } from '../../../support/memory-kv.ts';

it('a database is refused when its size reaches its quota, its own or the common one', async () => {
  const kv = memoryKv();
  const [shop, large, small] = [toGroupId(1), toGroupId(2), toGroupId(3)];
  const write = async (group: GroupId, bytes: number): Promise<void> => {
    const batch = kv.batch();
    batch.put(new RowKeys(group).position(1), new Uint8Array(bytes));
    await kv.write(batch);
  };
  for (const [group, bytes] of [
    [shop, 3_000_000],
    [large, 3_000_000],
    [small, 1_000],
  ] as const)
    await write(group, bytes);
  const bindings = [
    { name: 'large', group: large },
    { name: 'shop', group: shop },
    { name: 'small', group: small },
  ];
  const catalog = { list: () => bindings };
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (event: string, fields = {}) => void lines.push({ event, ...fields }) };
  const metrics = createMetrics({ runtime: false });
  const quotas = new DatabaseQuotas({
    quotas: [
      { pattern: '*', bytes: 2_097_152 },
      { pattern: 'large', bytes: 4_194_304 },
    ],
    store: kv,
    logger,
    metrics,
  });
  expect(quotas.refusalOf(shop, 'shop')).toBeUndefined();
  await quotas.measure(catalog);
  await quotas.measure(catalog);

  expect(quotas.refusalOf(shop, 'shop')).toMatchObject({
    code: 'storage_full',
    message: expect.stringContaining('database "shop" takes 2.9 MiB of the disk, and its quota is 2.0 MiB'),
    details: { reason: 'DatabaseQuota' },
  });
  expect([quotas.refusalOf(large, 'large'), quotas.refusalOf(small, 'small')]).toEqual([undefined, undefined]);
  expect(quotas.refusalOf(CATALOG_GROUP, undefined)).toBeUndefined();
  expect(lines).toEqual([expect.objectContaining({ event: 'database-quota-reached', database: 'shop' })]);
  const { body } = await metrics.render();
  expect(body).toMatch(/^cairn_database_size_bytes\{database="shop"\} 30\d{5}$/m);
  expect(body).toContain('cairn_database_quota_bytes{database="shop"} 2097152\n');
  expect(body).toContain('cairn_database_quota_bytes{database="large"} 4194304\n');
});

it('a database has the quota of its name, otherwise of the longest matching pattern, otherwise none', async () => {
  const names = ['acme', 'acme-1', 'acme-eu-1', 'shop'];
  const catalog = { list: () => names.map((name, at) => ({ name, group: toGroupId(at + 1) })) };
  const metrics = createMetrics({ runtime: false });
  const patterns = ['a*', 'acme-*', 'acme-1', '*-eu-*', 'acme-eu*'];
  const quotas = new DatabaseQuotas({
    quotas: patterns.map((pattern, at) => ({ pattern, bytes: at + 1 })),
    store: memoryKv(),
    logger: silentLogger,
    metrics,
  });
  await quotas.measure(catalog);
  const { body } = await metrics.render();
  const shown = body.split('\n').filter((line) => line.startsWith('cairn_database_quota_bytes'));
  expect(shown.map((line) => line.replace(/^.*="(.*)"\} /, '$1 '))).toEqual(['acme 1', 'acme-1 3', 'acme-eu-1 5']);
});

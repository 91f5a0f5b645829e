// Goal: the client of databases implements its interface on a node. Method: a node in this process.
import { expect, it } from 'vitest';
import { Channel, failedWith, GrpcDatabases } from '../../../operator/src/client/index.ts';
import { startTestServer } from '../../support/server.ts';

it('the number of copies is set with the creation and later, and 0 is the default', async () => {
  await using server = await startTestServer('--peer-port=0');
  using channel = new Channel(server.grpc, {});
  const databases = new GrpcDatabases(channel);
  const shop = await databases.create('shop', 5);
  const other = { ...shop, id: '01919108-0000-7000-8000-000000000000' };
  expect([await databases.describe(shop), await databases.describe(other)]).toEqual([{ copies: 5 }, undefined]);
  for (const copies of [3, 3, 0]) {
    await databases.setCopies(shop, copies);
    expect(await databases.describe(shop)).toEqual({ copies });
  }
  const refused = await databases.setCopies(other, 3).catch((error: unknown) => error);
  expect(failedWith(refused, 'NOT_FOUND')).toBe(true);
});

it('databases are created once, found by name, and deleted only by id', async () => {
  await using server = await startTestServer('--peer-port=0');
  using channel = new Channel(server.grpc, {});
  const databases = new GrpcDatabases(channel);
  expect(await databases.find('shop')).toBeUndefined();
  const shop = await databases.create('shop');
  expect(shop).toMatchObject({ name: 'shop', createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) });
  expect(await databases.find('shop')).toEqual(shop);
  expect(await databases.describe(shop)).toEqual({ copies: 0 });
  const again = await databases.create('shop').catch((error: unknown) => error);
  expect(failedWith(again, 'ALREADY_EXISTS')).toBe(true);
  await databases.delete('shop', '01919108-0000-7000-8000-000000000000');
  expect(await databases.find('shop')).toEqual(shop);
  await databases.delete('shop', shop.id);
  await databases.delete('shop', shop.id);
  expect(await databases.find('shop')).toBeUndefined();
});

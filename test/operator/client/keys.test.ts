// Goal: the client of keys implements its interface on a node, with keys that the operator generates. Method: a node in
// this process that authenticates its clients.
import { expect, it } from 'vitest';
import { newKeyText, parseKeyText } from '../../../operator/src/access/index.ts';
import { Channel, failedWith, GrpcDatabases, GrpcKeys } from '../../../operator/src/client/index.ts';
import { FIRST_KEY, startGuardedNode } from '../../support/guarded-node.ts';

it('keys are issued by their hash, can be issued again, expire and are revoked', async () => {
  const { server } = await startGuardedNode();
  using channel = new Channel(server.grpc, { key: FIRST_KEY });
  const keys = new GrpcKeys(channel);
  const text = newKeyText('a-uid', Buffer.alloc(40, 7));
  const { id = '', sha256 = '' } = parseKeyText(text) ?? {};
  const expiresMs = Date.UTC(2999, 0, 1);
  const key = { id, sha256, name: 'orders', roles: ['admin:acme-*:10', 'reader:shop'], expiresMs };
  await keys.issue(key);
  await keys.issue(key);
  const other = await keys.issue({ ...key, name: 'others' }).catch((error: unknown) => error);
  expect(failedWith(other, 'ALREADY_EXISTS')).toBe(true);
  const [listed] = await keys.list();
  expect(listed).toEqual({ ...key, createdMs: expect.any(Number) });
  using own = new Channel(server.grpc, { key: text });
  expect(await new GrpcDatabases(own).find('shop')).toBeUndefined();
  await keys.revoke(id, Date.UTC(2998, 0, 1));
  expect((await keys.list())[0]?.expiresMs).toBe(Date.UTC(2998, 0, 1));
  await keys.revoke(id);
  await keys.revoke(id);
  await keys.revoke(id, expiresMs);
  expect(await keys.list()).toEqual([]);
  const refused = await new GrpcDatabases(own).find('shop').catch((error: unknown) => error);
  expect(failedWith(refused, 'UNAUTHENTICATED')).toBe(true);
});

// A transaction names its principal over every interface, and a sender cannot forge it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecuteStateChangeRequest } from '../../proto/gen/cairn/v1/component.ts';
import { TransactRequest } from '../../proto/gen/cairn/v1/transaction.ts';
import { event } from '../support/grpc-requests.ts';
import { AS_FIRST, startGuardedNode } from '../support/guarded-node.ts';
import { cloudEvent, errorOf, jsonOf } from '../support/http-client.ts';
import { AUDIENCE, IdentityProvider } from '../support/identity-provider.ts';
import { BUILD_MS, builtComponent } from '../support/wasm/built.ts';

const provider = await IdentityProvider.start();
afterAll(() => provider[Symbol.asyncDispose]());
const settings = [`--oidc-issuer=${provider.issuer}`, `--oidc-audience=${AUDIENCE}`, '--guest-executors=1'];
const { server, api } = await startGuardedNode(...settings);
const name = 'bank';
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);
const token = await provider.token({ roles: ['admin'], email: 'ann@shop.example' });
const asAnn = { authorization: `Bearer ${token}` };
const ANN = {
  'cairn.id': 'oidc:ann',
  'cairn.name': 'ann@shop.example',
  'cairn.sub': 'ann',
  'cairn.iss': provider.issuer,
  'cairn.email': 'ann@shop.example',
};

interface Looked {
  readonly transaction: { readonly origin: string; readonly principal_attributes: Readonly<Record<string, string>> };
}

async function attributesOf(id: string): Promise<Looked['transaction']> {
  const looked = await api.get(`/api/v1/db/${name}/transaction/${id}`, AS_FIRST);
  return (jsonOf(looked) as Looked).transaction;
}

const idIn = (answer: { readonly text: string }): string => /"transaction_id":"([^"]+)"/.exec(answer.text)?.[1] ?? '';

describe('SPEC-TRANSACTION-PRINCIPAL', () => {
  const forged = { 'cairn.id': 'oidc:eve', 'cairn.admin': 'yes', 'cairn.': 'x', user: 'bob', Cairn: 'c' };
  const kept = { user: 'bob', Cairn: 'c', ...ANN };

  it.each([`/api/v1/db/${name}`, `/api/v1/db/${name}/async`])('over HTTP, by POST %s', async (path) => {
    const transaction_id = crypto.randomUUID();
    const body = { transaction_id, events: [cloudEvent('a')], principal_attributes: forged };
    expect((await api.post(path, body, asAnn)).status).toBeLessThan(300);
    await expect.poll(() => attributesOf(transaction_id)).toMatchObject({ origin: 'HttpTransaction' });
    expect((await attributesOf(transaction_id)).principal_attributes).toEqual(kept);
  });

  it('over gRPC', async () => {
    const transactionId = crypto.randomUUID();
    const transaction = { events: [event()], transactionId, options: { principalAttributes: forged } };
    const request = TransactRequest.fromPartial({ databaseName: name, transaction });
    await server.client.send('transact', request, { metadata: asAnn });
    const stored = await attributesOf(transactionId);
    expect([stored.origin, stored.principal_attributes]).toEqual(['GrpcTransaction', kept]);
  });

  it('for a key, by its id and its name', async () => {
    const issued = await api.post('/api/v1/auth/keys', { name: 'ci', roles: [`writer:${name}`] }, asAnn);
    const { key, id, created_by } = jsonOf(issued) as Readonly<Record<'key' | 'id' | 'created_by', string>>;
    expect(created_by).toBe('oidc:ann');
    const answer = await api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a')] }, { 'x-api-key': key });
    const stored = await attributesOf(idIn(answer));
    expect(stored.principal_attributes).toEqual({ 'cairn.id': `key:${id}`, 'cairn.name': 'ci' });
  });

  it('with room for it: a sender may add correspondingly fewer attributes', async () => {
    const many = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));
    const send = (count: number): ReturnType<typeof api.post> =>
      api.post(`/api/v1/db/${name}`, { events: [cloudEvent('a')], principal_attributes: many(count) }, asAnn);
    expect((await send(59)).status).toBe(200);
    expect(errorOf(await send(60)).message).toContain('principal_attributes must be at most 59 beside those of the');
  });
});

describe('SPEC-TRANSACTION-PRINCIPAL of a command', () => {
  beforeAll(async () => {
    const accounts = await builtComponent('examples/bank/accounts.ts');
    await api.publish(`${name}/state-changes`, { state_change_name: 'accounts' }, accounts, AS_FIRST);
  }, BUILD_MS);

  it('over HTTP', { timeout: 60_000 }, async () => {
    const command = { method: 'POST', path: '/accounts/a', body: { owner: 'ann' } };
    const answer = await api.post(`/api/v1/db/${name}/state-changes/accounts/v1/execute`, command, asAnn);
    const stored = await attributesOf(idIn(answer));
    expect([stored.origin, stored.principal_attributes]).toEqual(['HttpStateChange', ANN]);
  });

  it('over gRPC', { timeout: 60_000 }, async () => {
    const headers = [{ name: 'content-type', value: 'application/json' }];
    const body = Buffer.from(JSON.stringify({ owner: 'ann' }));
    const request = { method: 'POST', path: '/accounts/b', body, headers };
    const asked = { databaseName: name, stateChangeName: 'accounts', version: 1, request };
    const reply = await server.client.send('executeStateChange', ExecuteStateChangeRequest.fromPartial(asked), {
      metadata: asAnn,
      deadlineMs: 60_000,
    });
    const stored = await attributesOf(reply.transaction?.transactionId ?? '');
    expect([stored.origin, stored.principal_attributes]).toEqual(['GrpcStateChange', ANN]);
  });
});

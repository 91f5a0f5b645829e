// Goal: a trace shows, below its request, the wait for the identity of the caller and each operation on keys and
// tokens, over HTTP and gRPC. Method: real nodes with authentication on, an identity provider that answers when the
// test allows it, and a collector on loopback.
import type { ServerResponse } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { AS_FIRST, FIRST_KEY, startGuardedNode } from '../support/guarded-node.ts';
import { jsonOf, uniqueName } from '../support/http-client.ts';
import { AUDIENCE, IdentityProvider, sendJson } from '../support/identity-provider.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { named, type RemoteTrace, remote, traceWith, wayTo } from '../support/remote-traces.ts';

const provider = await IdentityProvider.start();
afterAll(() => provider[Symbol.asyncDispose]());
const receiver = await startOtlpReceiver();
afterAll(() => receiver[Symbol.asyncDispose]());
const { server, api } = await startGuardedNode(
  `--otlp-endpoint=${receiver.endpoint}`,
  '--trace-sample-ratio=0',
  `--oidc-issuer=${provider.issuer}`,
  `--oidc-audience=${AUDIENCE}`,
);
const name = uniqueName();
await api.post('/api/v1/db', { database_name: name }, AS_FIRST);

const WAIT = 'cairn.authenticate';
const NS_A_MS = 1_000_000n;

async function asAnybody(trace: RemoteTrace): Promise<Readonly<Record<'authorization' | 'traceparent', string>>> {
  const token = await provider.token({ roles: [`reader:${name}`], sub: uniqueName() });
  return { authorization: `Bearer ${token}`, traceparent: trace.traceparent };
}

it('SPEC-TRACE-CONTEXT: the wait for the identity of a caller is a span below the request, as long as the provider takes', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  provider.answers.set('/.well-known/openid-configuration', (_request, response) => asked.resolve(response));
  const trace = remote();
  const answer = api.get(`/databases/${name}`, await asAnybody(trace));
  const response = await asked.promise;
  const askedNs = BigInt(Date.now()) * NS_A_MS;
  sendJson(response, { issuer: provider.issuer, jwks_uri: provider.jwksUrl });
  expect((await answer).status).toBe(200);
  const spans = await traceWith(receiver, trace.traceId, WAIT, 'GET /databases/{database}');
  expect(wayTo(WAIT, spans)).toEqual(['GET /databases/{database}', WAIT]);
  const wait = named(WAIT, spans);
  expect(wait.startNs).toBeLessThanOrEqual(askedNs);
  expect(wait.endNs).toBeGreaterThan(wait.startNs);
  expect([wait.isError, wait.attributes]).toEqual([false, {}]);
  provider.answers.clear();
});

describe.concurrent('SPEC-TRACE-CONTEXT: the wait for the identity of a caller', () => {
  it('is a span below the call over gRPC', async () => {
    const trace = remote();
    const metadata = await asAnybody(trace);
    await server.client.send('fetchLatestDatabase', { databaseName: name }, { metadata });
    const spans = await traceWith(receiver, trace.traceId, WAIT, 'cairn.v1.EventStore/FetchLatestDatabase');
    expect(wayTo(WAIT, spans)).toEqual(['cairn.v1.EventStore/FetchLatestDatabase', WAIT]);
  });

  it('is a span with the refusal when the caller is refused', async () => {
    const trace = remote();
    const token = await provider.token({ aud: 'somebody else' });
    const headers = { authorization: `Bearer ${token}`, traceparent: trace.traceparent };
    expect((await api.get(`/databases/${name}`, headers)).status).toBe(401);
    const spans = await traceWith(receiver, trace.traceId, WAIT);
    expect(named(WAIT, spans)).toMatchObject({
      isError: true,
      attributes: { 'error.type': 'unauthenticated', 'cairn.error.reason': 'CredentialRefused' },
    });
    expect(JSON.stringify(spans, withoutBigints)).not.toContain(token);
  });

  it('is no span when the key is known', async () => {
    const trace = remote();
    await api.get(`/databases/${name}`, { ...AS_FIRST, traceparent: trace.traceparent });
    const spans = await traceWith(receiver, trace.traceId, 'GET /databases/{database}');
    expect(spans.map((span) => span.name)).not.toContain(WAIT);
  });
});

function withoutBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

describe.concurrent('SPEC-TRACE-CONTEXT: operations on keys and tokens', () => {
  const KEYS = '/api/v1/auth/keys';
  const TOKENS = '/api/v1/auth/tokens';
  const WANTED = { name: 'of a trace', roles: [`reader:${name}`] };

  interface Done {
    readonly operation: string;
    readonly traceId: string;
    readonly json: Readonly<Record<string, string>>;
  }

  async function done(operation: string, method: string, path: string, body?: object): Promise<Done> {
    const { traceId, traceparent } = remote();
    const headers = { ...AS_FIRST, traceparent };
    const sent = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await api.send(path, sent);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status}`);
    const json = (answer.status === 204 ? {} : jsonOf(answer)) as Done['json'];
    return { operation, traceId, json };
  }

  it('each is a span below its request and shows no secret', async () => {
    const key = await done('cairn.issue_api_key', 'POST', KEYS, WANTED);
    const ofKey = `${KEYS}/${key.json['id']}`;
    const token = await done('cairn.issue_token', 'POST', TOKENS, WANTED);
    const read = await done('cairn.list_tokens', 'GET', TOKENS);
    const way = wayTo(read.operation, await traceWith(receiver, read.traceId, read.operation));
    expect(way).toEqual([expect.stringMatching(/^GET /), read.operation]);
    const changes = [
      key,
      token,
      await done('cairn.rotate_api_key', 'POST', `${ofKey}/rotate`),
      await done('cairn.revoke_token', 'DELETE', `${TOKENS}/${token.json['id']}`),
      await done('cairn.revoke_api_key', 'DELETE', ofKey),
    ];
    for (const { operation, traceId, json } of changes) {
      const spans = await traceWith(receiver, traceId, operation);
      expect(wayTo(operation, spans)).toHaveLength(2);
      const secret = json['key'] ?? json['token'] ?? FIRST_KEY;
      expect(JSON.stringify(spans, withoutBigints)).not.toContain(secret);
    }
  });
});

// Goal: the client of the Kubernetes API and its reflector do what they say (KM1 to KM4) when the server or a handler
// misbehaves. Method: a server of ours that answers as each test says.
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiError, Reflector } from '../../../operator/src/kube/index.ts';
import { type Answer, reply, startApiServer, thing } from './api-server.ts';

const PATH = '/api/v1/things';
/** A busy machine takes longer than usual. */
const PATIENT = { timeout: 20_000 };

/** What a reflector tells its handlers, in order. */
async function reflected(answer: Answer, onSet: (name: string) => void = () => undefined) {
  const api = await startApiServer(answer, { inactiveMs: 200 });
  const told: string[] = [];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const reflector = new Reflector<ReturnType<typeof thing> & { metadata: { name: string; resourceVersion: string } }>(
    api,
    PATH,
    {
      onSet: ({ metadata: { name, resourceVersion } }) => {
        told.push(`set ${name} ${resourceVersion}`);
        onSet(name);
      },
      onDelete: ({ metadata: { name } }) => told.push(`deleted ${name}`),
      onError: (error) => told.push(`error ${error instanceof Error ? error.message : ''}`),
    },
  );
  void reflector.run(over.signal);
  return { reflector, told };
}

describe('a request', () => {
  it.each([
    { method: 'GET', status: 500, times: 2 },
    { method: 'GET', status: 404, times: 1 },
    { method: 'POST', status: 500, times: 1 },
    { method: 'POST', status: 429, times: 2 },
  ])('is sent $times times when $method is first answered with $status (KM1)', async ({ method, status, times }) => {
    let count = 0;
    const api = await startApiServer((_received, response) => {
      count += 1;
      reply(response, { reason: 'Because', message: 'no' }, count === 1 ? status : 200);
    });
    const sent = method === 'GET' ? api.get(PATH) : api.create(PATH, {});
    const failure = await sent.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(count).toBe(times);
    expect(failure instanceof ApiError ? [failure.code, failure.reason] : failure).toEqual(
      times === 1 ? [status, 'Because'] : undefined,
    );
  });

  it('says the length of the body of a DELETE, and who asks', async () => {
    const headers: unknown[] = [];
    const api = await startApiServer((received, response) => {
      headers.push(received.headers['content-length'], received.headers.authorization, received.body);
      reply(response, {});
    });
    await api.delete(PATH, { gracePeriodSeconds: 0 });
    expect(headers).toEqual(['24', 'Bearer a-token', '{"gracePeriodSeconds":0}']);
  });

  it('reads a list page by page', async () => {
    const api = await startApiServer(({ query }, response) => {
      const token = query.get('continue');
      const page = token === null ? { continue: 'a&b' } : {};
      reply(response, { items: [token ?? 'first'], metadata: { resourceVersion: '5', ...page } });
    });
    expect(await api.list(PATH)).toEqual({ items: ['first', 'a&b'], version: '5' });
  });
});

describe('a reflector', () => {
  it('lists again when the server has lost its version, and tells what is gone (KM3)', async () => {
    let lists = 0;
    const { reflector, told } = await reflected(({ query }, response) => {
      if (query.has('watch')) return reply(response, { code: 410, reason: 'Expired' }, 410);
      lists += 1;
      const items = lists === 1 ? [thing('one', 1), thing('two', 2)] : [thing('two', 3)];
      return reply(response, { items, metadata: { resourceVersion: '4' } });
    });
    await expect.poll(() => told.slice(0, 4), PATIENT).toEqual(['set one 1', 'set two 2', 'set two 3', 'deleted one']);
    expect([...reflector.items.keys()]).toEqual(['default/two']);
  });

  it('continues at the last bookmark when a watch is silent (KM4)', async () => {
    const versions: unknown[] = [];
    await reflected(({ query }, response) => {
      if (!query.has('watch')) return reply(response, { items: [], metadata: { resourceVersion: '4' } });
      versions.push(query.get('resourceVersion'));
      const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } };
      response.writeHead(200).write(versions.length === 1 ? `${JSON.stringify(bookmark)}\n` : '');
      return undefined;
    });
    await expect.poll(() => versions.slice(0, 2), PATIENT).toEqual(['4', '9']);
  });

  it('lives on when a handler throws, and when the server fails (KM2)', async () => {
    let requests = 0;
    const answer: Answer = ({ query }, response) => {
      requests += 1;
      if (requests === 1) return reply(response, { message: 'not yet' }, 403);
      if (!query.has('watch')) return reply(response, { items: [], metadata: { resourceVersion: '4' } });
      const message = { type: 'ADDED', object: thing(`number-${requests}`, requests) };
      response.writeHead(200).end(`${JSON.stringify(message)}\n`);
      return undefined;
    };
    const { told } = await reflected(answer, (name) => {
      if (name === 'number-3') throw new Error('the handler failed');
    });
    const expected = ['set number-3 3', 'error the handler failed', 'set number-4 4'];
    await expect.poll(() => told.slice(1, 4), PATIENT).toEqual(expected);
    expect(told[0]).toContain('403 not yet');
  });
});

// Goal: every request ends, is retried only when that is safe, and arrives complete. Method: a transport with scripted
// responses and a manual clock; a real server for HTTPS.
import { describe, expect, it } from 'vitest';
import { Api, ApiError, type TransportRequest, unless } from '../../../operator/src/kube/index.ts';
import { ManualRuntime } from '../../support/manual-runtime.ts';
import { reply, startApiServer } from './api-server.ts';

const PATH = '/api/v1/things';

type Answer = number | 'lost' | 'never';

/** Sends a request to a server that responds with `answers`, then with 200. */
async function sent(method: 'GET' | 'POST', answers: readonly Answer[], text = { reason: 'Because', message: 'no' }) {
  const runtime = new ManualRuntime();
  const atMs: number[] = [];
  const send = async ({ signal }: TransportRequest) => {
    const answer = answers[atMs.length] ?? 200;
    atMs.push(runtime.nowMs());
    if (answer === 'lost') throw new Error('socket hang up');
    if (answer === 'never') {
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error(String(signal.reason)))),
      );
    }
    async function* body() {
      yield JSON.stringify(text);
    }
    return { status: Number(answer), retryAfter: answer === 429 ? '7' : undefined, body: body() };
  };
  const api = new Api({ send }, runtime);
  let outcome: unknown = 'open';
  void (method === 'GET' ? api.get(PATH) : api.create(PATH, {})).then(
    () => (outcome = 'done'),
    (error: unknown) => (outcome = error),
  );
  await runtime.advance(200_000);
  return { atMs, outcome };
}

describe('a request', () => {
  it.each<{ method: 'GET' | 'POST'; answers: Answer[]; times: number }>([
    { method: 'GET', answers: [500], times: 2 },
    { method: 'GET', answers: ['lost'], times: 2 },
    { method: 'GET', answers: ['never', 503], times: 3 },
    { method: 'POST', answers: [429], times: 2 },
  ])('succeeds at attempt $times when $method receives $answers (KM1)', async ({ method, answers, times }) => {
    const { atMs, outcome } = await sent(method, answers);
    expect([atMs.length, outcome]).toEqual([times, 'done']);
  });

  it.each<{ method: 'GET' | 'POST'; answer: Answer; times: number; says: string }>([
    { method: 'GET', answer: 404, times: 1, says: '404 no' },
    { method: 'GET', answer: 410, times: 1, says: '410 no' },
    { method: 'GET', answer: 500, times: 5, says: '500 no' },
    { method: 'POST', answer: 500, times: 1, says: '500 no' },
    { method: 'POST', answer: 429, times: 5, says: '429 no' },
    { method: 'POST', answer: 'lost', times: 1, says: 'socket hang up' },
    { method: 'POST', answer: 'never', times: 1, says: 'no response within 30000 ms' },
  ])(
    'fails at attempt $times when $method always receives $answer (KM1, KM2)',
    async ({ method, answer, times, says }) => {
      const { atMs, outcome } = await sent(
        method,
        Array.from({ length: 9 }, () => answer),
      );
      expect(atMs).toHaveLength(times);
      expect(String(outcome)).toContain(says);
    },
  );

  it('is retried after the Retry-After of the server', async () => {
    const { atMs } = await sent('GET', [429, 429]);
    expect(atMs).toEqual([0, 7_000, 14_000]);
  });

  it.each([
    { code: 422, reason: 'Invalid', message: 'spec.replicas: must be odd', isTerminal: true },
    {
      code: 500,
      reason: '',
      message: 'failed to create typed patch: .spec.x: field not declared in schema',
      isTerminal: true,
    },
    { code: 500, reason: 'InternalError', message: 'etcdserver: leader changed', isTerminal: false },
    { code: 409, reason: 'Conflict', message: 'Apply failed', isTerminal: false },
  ])(
    'has a terminal or a transient error when the server returns $code $message',
    ({ code, isTerminal, ...status }) => {
      const error = new ApiError('PATCH /x', code, JSON.stringify(status));
      expect([error.isTerminal, error.reason, error.message]).toEqual([
        isTerminal,
        status.reason,
        `PATCH /x: ${code} ${status.message}`,
      ]);
      expect(error.retryAfterMs).toBe(isTerminal ? 60_000 : 0);
    },
  );

  it('treats only the named codes as success', async () => {
    const error = new ApiError('GET /x', 404, 'not JSON', 'Wed, 21 Oct 2026 07:28:00 GMT');
    await expect(Promise.reject(error).catch(unless(404, 409))).resolves.toBeUndefined();
    await expect(Promise.reject(error).catch(unless(409))).rejects.toThrow('GET /x: 404 not JSON');
    expect(error.retryAfterMs).toBe(0);
  });
});

describe('HTTPS', () => {
  it('sends the length of the body of a DELETE, and credentials', async () => {
    const headers: unknown[] = [];
    const api = await startApiServer((received, response) => {
      headers.push(received.headers['content-length'], received.headers.authorization, received.body);
      reply(response, {});
    });
    await api.delete(PATH, { gracePeriodSeconds: 0 });
    expect(headers).toEqual(['24', 'Bearer a-token', '{"gracePeriodSeconds":0}']);
  });

  it('reaches a server through a path of a proxy, and verifies its certificate by the given name', async () => {
    const plan = { behind: '/clusters/one/', name: 'DNS:kubernetes.example', tlsServerName: 'kubernetes.example' };
    const api = await startApiServer(({ path }, response) => reply(response, { path }), plan);
    expect(await api.get(PATH)).toEqual({ path: `/clusters/one${PATH}` });
  });

  it('ends a watch with its signal, and closes the connection when the reader stops', async () => {
    const closed: Promise<unknown>[] = [];
    const api = await startApiServer((_received, response) => {
      closed.push(new Promise((resolve) => response.on('close', resolve)));
      response.writeHead(200).write('{"type":"BOOKMARK","object":{}}\n');
    });
    const over = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { type } of api.watch(PATH, '1', over.signal))
        if (type === 'BOOKMARK') over.abort(new Error('enough'));
    };
    await expect(read()).rejects.toThrow('enough');
    for await (const { type } of api.watch(PATH, '1', new AbortController().signal)) if (type === 'BOOKMARK') break;
    expect(await Promise.all(closed)).toHaveLength(2);
  });
});

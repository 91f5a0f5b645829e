// Goal: spans are exported in bounded batches and counted, failed exports are logged, and closing waits for no
// collector (O3). Method: a collector that accepts, refuses or does not answer; a processor that keeps spans.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type Count, inSpan, silentLogger, startTracing } from '#observability';
import { keptSpans } from '../../support/kept-spans.ts';

const TRACE = 'a'.repeat(32);
const PARENT = `00-${TRACE}-${'b'.repeat(16)}-01`;

const NO_CONTEXT = (): undefined => undefined;
const from =
  (headers: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    headers[name];

describe('the tracer', () => {
  it.each([
    ['nothing', {}],
    ['an empty one', { traceparent: '' }],
    ['an invalid version', { traceparent: PARENT.replace('00-', 'ff-') }],
    ['a trace of zeros', { traceparent: `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01` }],
    ['a span of zeros', { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` }],
    ['capital letters', { traceparent: PARENT.toUpperCase() }],
    ['a header beyond its maximum length', { traceparent: `01-${PARENT.slice(3)}-${'x'.repeat(2_000)}` }],
  ])('begins its own trace with %s', (_, headers) => {
    const { tracer } = keptSpans();
    const span = tracer.begin('a request', from(headers));
    expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(span.traceId).not.toBe(TRACE);
  });

  it('samples its share of new traces, and follows the decision of the sender for others', () => {
    const none = keptSpans(0);
    expect(none.tracer.begin('new', NO_CONTEXT).isRecorded).toBe(false);
    expect(none.tracer.begin('kept', from({ traceparent: PARENT })).isRecorded).toBe(true);
    const all = keptSpans(1);
    expect(all.tracer.begin('new', NO_CONTEXT).isRecorded).toBe(true);
    expect(all.tracer.begin('left', from({ traceparent: PARENT.replace(/01$/, '00') })).isRecorded).toBe(false);
    const half = keptSpans(0.5);
    const kept = Array.from({ length: 400 }, () => half.tracer.begin('new', NO_CONTEXT)).filter(
      (each) => each.isRecorded,
    );
    expect(kept.length).toBeGreaterThan(120);
    expect(kept.length).toBeLessThan(280);
  });

  it('records nothing of an unsampled trace, but propagates its context', () => {
    const { tracer, ended } = keptSpans(0);
    const span = tracer.begin('left', from({ traceparent: PARENT.replace(/01$/, '00') }));
    const child = span.child('work', 'client');
    child.set({ a: 1 });
    child.link(from({ traceparent: PARENT }));
    child.fail(new Error('x'));
    child.end();
    expect(child).toBe(span);
    expect(child.headers()['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(ended).toEqual([]);
  });

  it('records the code and reason of a failure, never its message', async () => {
    const { tracer, ended } = keptSpans();
    const span = tracer.begin('a request', NO_CONTEXT);
    const failure = new DatabaseError('not_found', 'secret-name', { details: { reason: 'DatabaseNotFound' } });
    const work = inSpan(span, 'work', () => {
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    span.child('bug', 'internal').end();
    span.fail(new Error('secret-name'));
    span.end();
    const why = { 'error.type': 'not_found', 'cairn.error.reason': 'DatabaseNotFound' };
    expect(ended.map(({ name, status, attributes }) => ({ name, status, attributes }))).toEqual([
      { name: 'work', status: { code: 2 }, attributes: why },
      { name: 'bug', status: { code: 0 }, attributes: {} },
      { name: 'a request', status: { code: 2 }, attributes: { 'error.type': 'internal' } },
    ]);
    expect(ended.flatMap(({ events }) => events)).toEqual([]);
  });
});

interface Collector {
  readonly endpoint: string;
  readonly requests: () => number;
  /** Number of requests whose connection is open. */
  readonly waiting: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/** Answers every export with the status, or never without one. */
async function collector(status?: number): Promise<Collector> {
  let [requests, waiting] = [0, 0];
  const server = createServer((request, response) => {
    requests += 1;
    waiting += 1;
    request.once('close', () => (waiting -= 1));
    if (status !== undefined) request.resume().once('end', () => response.writeHead(status).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const counts = { requests: () => requests, waiting: () => waiting };
  return { endpoint: `http://127.0.0.1:${port}`, ...counts, [Symbol.asyncDispose]: close };
}

interface Traced {
  readonly counted: { ended: number; exported: number };
  readonly warnings: readonly string[];
}

/** Ends the given number of spans and closes. */
async function ending(spans: number, endpoint: string): Promise<Traced> {
  const counted = { ended: 0, exported: 0 };
  const count = (name: keyof typeof counted): Count => ({
    add: (by = 1) => void (counted[name] += by),
    raiseTo: () => undefined,
  });
  const counts = { ended: count('ended'), exported: count('exported') };
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (event: string) => void warnings.push(event) };
  const tracing = await startTracing({ endpoint, sampleRatio: 1, name: 'node-1', version: '1', logger, counts });
  for (let span = 0; span < spans; span++) tracing.tracer.begin('a request', NO_CONTEXT).end();
  await tracing.close(10_000);
  return { counted, warnings };
}

/** More than one batch, and less than the capacity of the queue. */
const SPANS = 700;

it('tracing exports every span before it is closed, in batches, and counts them', async () => {
  await using server = await collector(200);
  expect(await ending(SPANS, server.endpoint)).toEqual({ counted: { ended: SPANS, exported: SPANS }, warnings: [] });
  expect(server.requests()).toBe(2);
});

it('tracing drops spans beyond its queue', async () => {
  await using server = await collector(200);
  const { counted } = await ending(10_000, server.endpoint);
  expect(counted.ended).toBe(10_000);
  expect(counted.exported).toBeGreaterThan(4_000);
  expect(counted.exported).toBeLessThan(5_000);
});

it('tracing logs a failed export once', async () => {
  await using server = await collector(400);
  const { counted, warnings } = await ending(SPANS, server.endpoint);
  expect(counted).toEqual({ ended: SPANS, exported: 0 });
  expect(warnings.filter((event) => event === 'spans-not-exported')).toHaveLength(1);
});

it('tracing closes within its timeout when its collector never answers', async () => {
  await using server = await collector();
  const nothing: Count = { add: () => undefined, raiseTo: () => undefined };
  const counts = { ended: nothing, exported: nothing };
  const shared = { sampleRatio: 1, name: 'node-1', version: '1', logger: silentLogger, counts };
  const tracing = await startTracing({ ...shared, endpoint: server.endpoint });
  tracing.tracer.begin('a request', NO_CONTEXT).end();
  await tracing.close(10);
  // The exporter alone would wait longer.
  await expect.poll(server.waiting, { timeout: 10_000 }).toBe(1);
});

// Goal: spans leave in batches from a queue with a bound; what is lost is counted and said once a minute, and nobody
// waits for a collector (O3). Contexts, sampling and attributes are what the port says. Method: the queue over an
// exporter of the test; the adapter over a queue that keeps what ends.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type Count, inSpan, silentLogger, startTracing } from '#observability';
import { SpanQueue } from '../../../src/observability/otel/span-queue.ts';
import { eventually } from '../../support/eventually.ts';
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
    ['a version that is none', { traceparent: PARENT.replace('00-', 'ff-') }],
    ['a trace of zeros', { traceparent: `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01` }],
    ['a span of zeros', { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` }],
    ['capital letters', { traceparent: PARENT.toUpperCase() }],
    ['more than it may be', { traceparent: `01-${PARENT.slice(3)}-${'x'.repeat(2_000)}` }],
  ])('begins a trace of its own with %s', (_, headers) => {
    const { tracer } = keptSpans();
    const span = tracer.begin('a request', from(headers));
    expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
    expect(span.traceId).not.toBe(TRACE);
  });

  it('keeps its share of new traces, and of those that came what their senders keep', () => {
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

  it('makes nothing of what is not kept, but hands its context on', () => {
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

  it('says of a failure its code and reason, never its message', async () => {
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
    expect(ended.map(({ name, status, attributes }) => ({ name, status, attributes }))).toEqual([
      {
        name: 'work',
        status: { code: 2 },
        attributes: { 'error.type': 'not_found', 'cairn.error.reason': 'DatabaseNotFound' },
      },
      { name: 'bug', status: { code: 0 }, attributes: {} },
      { name: 'a request', status: { code: 2 }, attributes: { 'error.type': 'internal' } },
    ]);
    expect(ended.flatMap(({ events }) => events)).toEqual([]);
  });
});

interface Held {
  readonly batches: ReadableSpan[][];
  readonly exporter: SpanExporter;
  /** Ends the export that waits for longest. */
  readonly end: (error?: Error) => void;
}

/** Exports end when the test says so. */
function held(): Held {
  const batches: ReadableSpan[][] = [];
  const waiting: ((error: Error | undefined) => void)[] = [];
  const exporter: SpanExporter = {
    export: (spans, done) => {
      batches.push(spans);
      waiting.push((error) =>
        done(error === undefined ? { code: ExportResultCode.SUCCESS } : { code: ExportResultCode.FAILED, error }),
      );
    },
    shutdown: async () => undefined,
  };
  return { batches, exporter, end: (error) => waiting.shift()?.(error) };
}

const SPAN = {} as ReadableSpan;

interface Counted {
  readonly counts: Record<'exported' | 'queueFull' | 'exportFailed', Count>;
  readonly counted: { exported: number; queueFull: number; exportFailed: number };
}

function counting(): Counted {
  const counted = { exported: 0, queueFull: 0, exportFailed: 0 };
  const count = (name: keyof typeof counted): Count => ({
    add: (by = 1) => {
      counted[name] += by;
    },
  });
  const counts = { exported: count('exported'), queueFull: count('queueFull'), exportFailed: count('exportFailed') };
  return { counts, counted };
}

it('the queue of spans never holds more than its bound, and counts what it drops', async () => {
  const { counts, counted } = counting();
  const { batches, exporter, end } = held();
  const queue = new SpanQueue({ exporter, counts, logger: silentLogger, spansMax: 4, batchSpansMax: 2 });
  // Two are under way with the first export, four wait, and of the rest there is nothing but the count.
  for (let spans = 0; spans < 9; spans++) queue.onEnd(SPAN);
  expect(batches.map(({ length }) => length)).toEqual([2]);
  expect(counted.queueFull).toBe(3);
  end();
  await eventually(() => expect(batches.map(({ length }) => length)).toEqual([2, 2]));
  end();
  await eventually(() => expect(batches.map(({ length }) => length)).toEqual([2, 2, 2]));
  end();
  await eventually(() => expect(counted.exported).toBe(6));
  expect(counted.exportFailed).toBe(0);
});

it('the queue of spans exports a few spans after a while, and all of them when it is closed', async () => {
  const { counts, counted } = counting();
  const { batches, exporter, end } = held();
  const queue = new SpanQueue({ exporter, counts, logger: silentLogger, batchSpansMax: 2, delayMs: 1 });
  queue.onEnd(SPAN);
  await eventually(() => expect(batches.map(({ length }) => length)).toEqual([1]));
  for (let spans = 0; spans < 5; spans++) queue.onEnd(SPAN);
  const closed = queue.shutdown();
  for (let exports = 0; exports < 4; exports++) {
    await eventually(() => expect(batches.length).toBeGreaterThan(exports));
    end();
  }
  await closed;
  expect(counted.exported).toBe(6);
  queue.onEnd(SPAN);
  expect(counted.queueFull).toBe(1);
});

it('the queue of spans is closed in its time, though its collector never answers', async () => {
  const asked = Promise.withResolvers<void>();
  let waiting = 0;
  const server = createServer((request) => {
    waiting += 1;
    request.once('close', () => {
      waiting -= 1;
    });
    asked.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { counts } = counting();
  const shared = { sampleRatio: 1, name: 'node-1', version: '1', logger: silentLogger, counts };
  const tracing = await startTracing({ ...shared, endpoint: `http://127.0.0.1:${port}/` });
  tracing.tracer.begin('a request', NO_CONTEXT).end();
  const closed = tracing.close(10);
  await Promise.all([closed, asked.promise]);
  // The exporter would wait for longer.
  expect(waiting).toBe(1);
  server.close();
  server.closeAllConnections();
});

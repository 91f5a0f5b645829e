// Goal: spans leave in batches from a queue with a bound; what is lost is counted and said once a minute, and nobody
// waits for a collector (O3). Contexts, sampling and attributes are what the port says. Method: the queue over an
// exporter of the test; the adapter over a queue that keeps what ends.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type Count, inSpan, type Logger, silentLogger, startTracing } from '#observability';
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
  it('goes on with a trace that is named, and hands it on with its state', () => {
    const { tracer, ended } = keptSpans();
    const span = tracer.begin('a request', from({ traceparent: PARENT, tracestate: 'vendor=1' }));
    const child = span.child('work', 'internal');
    const { traceparent, tracestate } = child.headers();
    child.end();
    span.end();
    expect(span.traceId).toBe(TRACE);
    expect(tracestate).toBe('vendor=1');
    expect(traceparent).toBe(`00-${TRACE}-${ended[0]?.spanContext().spanId}-01`);
    expect(ended.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual([
      ['work', ended[1]?.spanContext().spanId],
      ['a request', 'b'.repeat(16)],
    ]);
  });

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

  it('makes spans of what is over, with the id and the times that they have', () => {
    const { tracer, ended } = keptSpans(0);
    const past = {
      name: 'asked',
      attributes: { 'cairn.group': 7 },
      startMs: 1_700_000_000_001.5,
      endMs: 1_700_000_000_004,
    };
    const events = [{ name: 'half', atMs: 1_700_000_000_002 }];
    const failure = { 'error.type': 'unavailable' };
    const parent = from({ traceparent: PARENT, tracestate: 'vendor=1' });
    tracer.record({ ...past, kind: 'server', parent, spanId: 'c'.repeat(16), events, failure });
    const [span] = ended;
    expect(span?.spanContext()).toMatchObject({ traceId: TRACE, spanId: 'c'.repeat(16) });
    expect(span?.parentSpanContext).toMatchObject({ spanId: 'b'.repeat(16), isRemote: true });
    expect(span?.startTime).toEqual([1_700_000_000, 1_500_000]);
    expect(span?.duration).toEqual([0, 2_500_000]);
    expect(span?.events.map(({ name, time }) => [name, time])).toEqual([['half', [1_700_000_000, 2_000_000]]]);
    expect(span?.attributes).toEqual({ 'cairn.group': 7, ...failure });
    // The next one has an id of its own again.
    const child = tracer.begin('next', parent).child('work', 'internal');
    child.end();
    expect(ended[1]?.spanContext().spanId).not.toBe('c'.repeat(16));
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

describe('the queue of spans', () => {
  it('never holds more than its bound, and counts what it drops', async () => {
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

  it('exports a few spans after a while, and all of them when it is closed', async () => {
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

  it('counts spans that are not taken, and logs it once a minute', async () => {
    const { counts, counted } = counting();
    const { exporter, end } = held();
    const lines: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (event, fields) => void lines.push({ event, ...fields }) };
    let nowMs = 0;
    const queue = new SpanQueue({ exporter, counts, logger, batchSpansMax: 1, nowMs: () => nowMs });
    for (const [failures, atMs] of [1, 59_999, 60_001].entries()) {
      nowMs = atMs;
      queue.onEnd(SPAN);
      end(new Error('connection refused'));
      await eventually(() => expect(counted.exportFailed).toBe(failures + 1));
    }
    const line = { event: 'spans-not-exported', spans: 1, why: 'connection refused' };
    expect(lines).toEqual([line, line]);
  });

  it('is closed in its time, though its collector never answers', async () => {
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
});

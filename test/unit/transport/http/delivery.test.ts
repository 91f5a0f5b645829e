// Goal: a body is sent whole, in chunks, or as an error, depending on the times of its parts (ADR 0115). Method:
// scripted parts with manual timers.
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type BodyPart, type BodySource, type Delivery, deliver } from '../../../../src/transport/http/delivery.ts';
import type { HttpReply } from '../../../../src/transport/http/reply.ts';
import { ManualTimers } from '../../../support/service-world.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const ANSWER: Delivery['answer'] = { status: 200, headers: { vary: 'accept' }, contentType: 'text/csv' };
const END: BodyPart = { kind: 'end' };
const FAILED: BodyPart = { kind: 'failed', error: new DatabaseError('not_found', 'There is no such page.') };

/**
 * Parts with the time at which they are available, or later when they are requested later: a number of bytes, or
 * another part.
 */
type Script = readonly (readonly [atMs: number, part: number | BodyPart])[];

/** Parses `0:10 99:64K 100:end`: milliseconds and bytes, with `K` and `M` for KiB and MiB. */
function scriptOf(script: string): Script {
  return script.split(' ').map((each) => {
    const [atMs = '', part = ''] = each.split(':');
    return [Number(atMs), { end: END, failed: FAILED }[part] ?? bytesOf(part)] as const;
  });
}

function bytesOf(part: string): number {
  const [, count, unit = ''] = /^(\d+)([KM]?)$/.exec(part) ?? [];
  return Number(count) * ({ K: KIB, M: MIB }[unit] ?? 1);
}

class ScriptedSource implements BodySource {
  readonly #timers: ManualTimers;
  readonly #parts: Iterator<Script[number]>;
  isCancelled = false;
  asked = 0;

  constructor(script: Script, timers: ManualTimers) {
    this.#timers = timers;
    this.#parts = script[Symbol.iterator]();
  }

  async next(): Promise<BodyPart> {
    this.asked++;
    const { value, done } = this.#parts.next();
    if (done === true) return new Promise(() => undefined);
    const [atMs, part] = value;
    const waitMs = atMs - this.#timers.monotonicMs();
    if (waitMs > 0) await new Promise<void>((resolve) => this.#timers.after(waitMs, resolve));
    return typeof part === 'number' ? { kind: 'bytes', bytes: new Uint8Array(part).fill(0x61) } : part;
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

interface Run {
  readonly source: ScriptedSource;
  readonly timers: ManualTimers;
  readonly outcome: HttpReply | DatabaseError;
  readonly atMs: number;
}

async function run(script: string | Script, more: Partial<Delivery> = {}): Promise<Run> {
  const timers = new ManualTimers();
  const source = new ScriptedSource(typeof script === 'string' ? scriptOf(script) : script, timers);
  const { signal } = new AbortController();
  const delivery = { answer: ANSWER, isBuffered: false, isHead: false, firstMs: 10_000, signal, time: timers, ...more };
  const outcomes: (HttpReply | DatabaseError)[] = [];
  const set = (said: HttpReply | DatabaseError): void => void outcomes.push(said);
  void deliver(source, delivery).then(set, set);
  await settleAll();
  while (outcomes.length === 0 && timers.monotonicMs() < 70_000) {
    timers.pass(1);
    await settleAll();
  }
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error('There is no answer');
  return { source, timers, outcome, atMs: timers.monotonicMs() };
}

function shown({ outcome, atMs }: Run): unknown {
  if (outcome instanceof DatabaseError) return { atMs, code: outcome.code };
  const { body, stream } = outcome;
  return {
    atMs,
    ...(body === undefined ? {} : { whole: body.length }),
    ...(stream && { head: stream.readableLength }),
  };
}

it.each<readonly [what: string, script: string, shown: object]>([
  ['nothing', '0:end', { atMs: 0, whole: 0 }],
  ['one part', '0:10 0:end', { atMs: 0, whole: 10 }],
  ['a body that ends in the window', '0:10 99:end', { atMs: 99, whole: 10 }],
  ['a body that ends after it', '0:10 101:end', { atMs: 100, head: 10 }],
  ['a window that begins with the first part', '5000:10 5050:10 5099:end', { atMs: 5099, whole: 20 }],
  ['pauses before 64 KiB', '0:65535 50:1 69:end', { atMs: 69, whole: 64 * KIB }],
  ['64 KiB, then a pause', '0:64K 21:end', { atMs: 20, head: 64 * KIB }],
  ['64 KiB late, then no time for a pause', '0:1 90:64K 102:end', { atMs: 100, head: 64 * KIB + 1 }],
  ['parts without a pause', '0:64K 19:1 38:1 57:1 76:1 95:1 105:1', { atMs: 100, head: 64 * KIB + 5 }],
  ['parts of 100 KiB', '0:100K 1:100K 2:100K 3:end', { atMs: 2, head: 300 * KIB }],
  ['256 KiB in one part', '0:256K 0:end', { atMs: 0, head: 256 * KIB }],
  ['less by a byte, in one part', '0:262143 0:end', { atMs: 0, whole: 256 * KIB - 1 }],
  ['parts without bytes', '0:0 0:5 0:0 0:end', { atMs: 0, whole: 5 }],
  ['a failure at once', '0:failed', { atMs: 0, code: 'not_found' }],
  ['a failure in the window', '0:64K 19:failed', { atMs: 19, code: 'not_found' }],
  ['a failure after it', '0:64K 21:failed', { atMs: 20, head: 64 * KIB }],
  ['nothing in the time of the request', '10001:1', { atMs: 10_000, code: 'unavailable' }],
])('a body is sent depending on its times: %s', async (_, script, expected) => {
  const done = await run(script);
  expect(shown(done)).toEqual(expected);
  expect(done.source.isCancelled).toBe(script === '10001:1');
});

it('a part that was requested before the window ended is sent, and requested once', async () => {
  const done = await run('0:10 101:5 101:end');
  const read = byteCountOf(done);
  await settleAll();
  done.timers.pass(1);
  expect([await read, done.source.asked]).toEqual([15, 3]);
});

it('a body of 256 MiB is sent, but not a longer one', async () => {
  const parts: Script = Array.from({ length: 256 }, () => [0, MIB]);
  expect(await byteCountOf(await run([...parts, [0, END]]))).toBe(256 * MIB);
  const longer = await run([...parts, [0, 1], [0, END]]);
  expect(await byteCountOf(longer)).toMatchObject({ message: 'The body is cut: it takes more than 268435456 bytes' });
  expect(longer.source.isCancelled).toBe(true);
});

it('a body is cut when it takes more than 60 s in total', async () => {
  const { outcome, source, timers } = await run('500:70K');
  const failed = text(streamIn(outcome)).catch((error: unknown) => error);
  timers.pass(60_000 - 521);
  expect(source.isCancelled).toBe(false);
  timers.pass(1);
  expect(await failed).toMatchObject({ message: 'The body is cut: it takes more than 60000 ms' });
  expect(source.isCancelled).toBe(true);
});

it.each<readonly [what: string, script: string, shown: object]>([
  ['a slow body', '0:70K 24999:end', { atMs: 24_999, whole: 70 * KIB }],
  ['a body that takes too long', '0:70K 25001:end', { atMs: 25_000, code: 'unavailable' }],
  ['16 MiB', '0:15M 0:1M 0:end', { atMs: 0, whole: 16 * MIB }],
  ['one byte more', '0:15M 0:1048577 0:end', { atMs: 0, code: 'invalid_argument' }],
  ['a failure at its end', '0:300K 1000:failed', { atMs: 1000, code: 'not_found' }],
])('a body for HTTP/1.0 is whole or an error: %s', async (_, script, expected) => {
  const { source, ...rest } = await run(script, { isBuffered: true });
  expect(shown({ source, ...rest })).toEqual(expected);
  expect(source.isCancelled).toBe('code' in expected && expected.code !== 'not_found');
});

async function settleAll(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

function streamIn(outcome: HttpReply | DatabaseError): NonNullable<HttpReply['stream']> {
  if (outcome instanceof DatabaseError || outcome.stream === undefined) throw new Error('There is no stream');
  return outcome.stream;
}

async function byteCountOf({ outcome }: Run): Promise<unknown> {
  let byteCount = 0;
  try {
    for await (const chunk of streamIn(outcome)) byteCount += Buffer.isBuffer(chunk) ? chunk.length : 0;
    return byteCount;
  } catch (error) {
    return error;
  }
}

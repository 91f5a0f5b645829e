// Goal: a body that is still being made is answered whole, in chunks or as an error, by what has come of it and when
// (ADR 0110). Method: sources that give their parts at times of a script, time in the hands of the test; what is
// sent then over real connections stands in delivered-bodies.test.ts.
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '#base';
import { type BodyPart, type BodySource, type Delivery, deliver } from '../../../../src/transport/http/delivery.ts';
import type { HttpReply } from '../../../../src/transport/http/reply.ts';
import { ManualTimers } from '../../../support/service-world.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const ANSWER: Delivery['answer'] = { status: 200, headers: { vary: 'accept' }, contentType: 'text/csv' };
const END: BodyPart = { kind: 'end' };
const FAILED: BodyPart = { kind: 'failed', error: new DatabaseError('not_found', 'There is no such page.') };

/** At which millisecond a part comes, or is asked for if that is later: so many bytes, or what it is. */
type Script = readonly (readonly [atMs: number, part: number | BodyPart])[];

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

/** One millisecond after the other, until there is an answer. */
async function run(script: Script, more: Partial<Delivery> = {}): Promise<Run> {
  const timers = new ManualTimers();
  const source = new ScriptedSource(script, timers);
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

describe('a body', () => {
  it.each<readonly [what: string, script: Script, shown: object]>([
    ['nothing', [[0, END]], { atMs: 0, whole: 0 }],
    [
      'one part',
      [
        [0, 10],
        [0, END],
      ],
      { atMs: 0, whole: 10 },
    ],
    [
      'what ends in the window',
      [
        [0, 10],
        [99, END],
      ],
      { atMs: 99, whole: 10 },
    ],
    [
      'what ends behind it',
      [
        [0, 10],
        [101, END],
      ],
      { atMs: 100, head: 10 },
    ],
    [
      'a window that begins with the first part',
      [
        [5000, 10],
        [5050, 10],
        [5099, END],
      ],
      { atMs: 5099, whole: 20 },
    ],
    [
      'pauses in front of 64 KiB',
      [
        [0, 64 * KIB - 1],
        [50, 1],
        [69, END],
      ],
      { atMs: 69, whole: 64 * KIB },
    ],
    [
      '64 KiB, then a pause',
      [
        [0, 64 * KIB],
        [21, END],
      ],
      { atMs: 20, head: 64 * KIB },
    ],
    [
      '64 KiB late, then no time for a pause',
      [
        [0, 1],
        [90, 64 * KIB],
        [102, END],
      ],
      { atMs: 100, head: 64 * KIB + 1 },
    ],
    [
      '64 KiB, then parts without a pause',
      [
        [0, 64 * KIB],
        [19, 1],
        [38, 1],
        [57, 1],
        [76, 1],
        [95, 1],
        [105, 1],
      ],
      { atMs: 100, head: 64 * KIB + 5 },
    ],
    [
      'parts of 100 KiB',
      [
        [0, 100 * KIB],
        [1, 100 * KIB],
        [2, 100 * KIB],
        [3, END],
      ],
      { atMs: 2, head: 300 * KIB },
    ],
    [
      '256 KiB in one part',
      [
        [0, 256 * KIB],
        [0, END],
      ],
      { atMs: 0, head: 256 * KIB },
    ],
    [
      'less by a byte, in one part',
      [
        [0, 256 * KIB - 1],
        [0, END],
      ],
      { atMs: 0, whole: 256 * KIB - 1 },
    ],
    [
      'parts without bytes',
      [
        [0, 0],
        [0, 5],
        [0, 0],
        [0, END],
      ],
      { atMs: 0, whole: 5 },
    ],
    ['a failure at once', [[0, FAILED]], { atMs: 0, code: 'not_found' }],
    [
      'a failure in the window',
      [
        [0, 64 * KIB],
        [19, FAILED],
      ],
      { atMs: 19, code: 'not_found' },
    ],
    [
      'a failure behind it',
      [
        [0, 64 * KIB],
        [21, FAILED],
      ],
      { atMs: 20, head: 64 * KIB },
    ],
    ['nothing in the time of the request', [[10_001, 1]], { atMs: 10_000, code: 'unavailable' }],
  ])('is answered by when it comes: %s', async (_, script, expected) => {
    expect(shown(await run(script))).toEqual(expected);
  });

  it('is answered with status, headers and type, and its source is let be when it is whole', async () => {
    const { outcome, source, timers } = await run([
      [0, 3],
      [0, END],
    ]);
    expect(outcome).toEqual({ ...ANSWER, body: Buffer.from('aaa') });
    expect([source.isCancelled, timers.count]).toEqual([false, 0]);
  });

  it('that does not begin in time is wanted no longer', async () => {
    const { source } = await run([[10_001, 1]]);
    expect(source.isCancelled).toBe(true);
  });

  it('goes on where its head ended, each part asked for once', async () => {
    const { outcome, source, timers } = await run([
      [0, 70 * KIB],
      [30, 7],
      [31, 0],
      [31, 5],
      [31, END],
    ]);
    const whole = text(streamIn(outcome));
    await passing(timers, 20);
    expect(await whole).toBe('a'.repeat(70 * KIB + 12));
    expect([source.asked, timers.count]).toEqual([5, 0]);
  });

  it('that fails behind its head ends in an error, and not at an end', async () => {
    const { outcome, timers } = await run([
      [0, 70 * KIB],
      [30, FAILED],
    ]);
    const whole = text(streamIn(outcome)).catch((error: unknown) => error);
    await passing(timers, 20);
    expect(await whole).toBe(FAILED.kind === 'failed' && FAILED.error);
  });

  it('is asked for no faster than it is read', async () => {
    const { outcome, source } = await run(Array.from({ length: 100 }, () => [0, 32 * KIB] as const));
    const stream = streamIn(outcome);
    await settleAll();
    const askedAtHead = source.asked;
    stream.read(32 * KIB);
    await settleAll();
    expect([askedAtHead, source.asked - askedAtHead <= 3, stream.readableLength <= 320 * KIB]).toEqual([8, true, true]);
  });

  it('of 256 MiB is sent, and not one byte more', async () => {
    const parts: Script = Array.from({ length: 256 }, () => [0, MIB]);
    expect(await byteCountOf(await run([...parts, [0, END]]))).toBe(256 * MIB);
    const longer = await run([...parts, [0, 1], [0, END]]);
    expect(await byteCountOf(longer)).toMatchObject({ message: 'The body is cut: it takes more than 268435456 bytes' });
    expect(longer.source.isCancelled).toBe(true);
  });

  it('is cut when it takes more than 60 s in all', async () => {
    const { outcome, source, timers } = await run([[500, 70 * KIB]]);
    const failed = text(streamIn(outcome)).catch((error: unknown) => error);
    timers.pass(60_000 - 521);
    expect(source.isCancelled).toBe(false);
    timers.pass(1);
    expect(await failed).toMatchObject({ message: 'The body is cut: it takes more than 60000 ms' });
    expect(source.isCancelled).toBe(true);
  });

  it('is wanted no longer when nobody reads on', async () => {
    const { outcome, source, timers } = await run([[0, 70 * KIB]]);
    streamIn(outcome).destroy();
    await settleAll();
    expect([source.isCancelled, timers.count]).toEqual([true, 0]);
  });

  it('is wanted no longer when the client goes before its head is there', async () => {
    const controller = new AbortController();
    const timers = new ManualTimers();
    const source = new ScriptedSource([[50, 1]], timers);
    const { signal } = controller;
    const delivery = { answer: ANSWER, isBuffered: false, isHead: false, firstMs: 1000, signal, time: timers };
    const delivered = deliver(source, delivery).catch((error: unknown) => error);
    controller.abort(new Error('gone'));
    expect(await delivered).toMatchObject({ message: 'gone' });
    expect([source.isCancelled, timers.count - 1]).toEqual([true, 0]);
  });

  it('is not sent to who wants the headers alone', async () => {
    const { outcome, source } = await run(
      [
        [0, 70 * KIB],
        [21, 1],
      ],
      { isHead: true },
    );
    expect([outcome, source.isCancelled]).toEqual([ANSWER, true]);
    expect(
      shown(
        await run(
          [
            [0, 7],
            [21, END],
          ],
          { isHead: true },
        ),
      ),
    ).toEqual({ atMs: 21, whole: 7 });
  });
});

describe('a body for HTTP/1.0', () => {
  it.each<readonly [what: string, script: Script, shown: object]>([
    [
      'what takes long',
      [
        [0, 70 * KIB],
        [24_999, END],
      ],
      { atMs: 24_999, whole: 70 * KIB },
    ],
    [
      'what takes too long',
      [
        [0, 70 * KIB],
        [25_001, END],
      ],
      { atMs: 25_000, code: 'unavailable' },
    ],
    [
      '16 MiB',
      [
        [0, 15 * MIB],
        [0, MIB],
        [0, END],
      ],
      { atMs: 0, whole: 16 * MIB },
    ],
    [
      'more',
      [
        [0, 15 * MIB],
        [0, MIB + 1],
        [0, END],
      ],
      { atMs: 0, code: 'invalid_argument' },
    ],
    [
      'a failure at its end',
      [
        [0, 300 * KIB],
        [1000, FAILED],
      ],
      { atMs: 1000, code: 'not_found' },
    ],
  ])('is whole or an error: %s', async (_, script, expected) => {
    const { source, ...rest } = await run(script, { isBuffered: true });
    expect(shown({ source, ...rest })).toEqual(expected);
    expect(source.isCancelled).toBe(isCut(expected));
  });
});

/** Until everything that can go on has gone on. */
async function settleAll(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

function streamIn(outcome: HttpReply | DatabaseError): NonNullable<HttpReply['stream']> {
  if (outcome instanceof DatabaseError || outcome.stream === undefined) throw new Error('There is no stream');
  return outcome.stream;
}

async function passing(timers: ManualTimers, ms: number): Promise<void> {
  for (let i = 0; i < ms; i++) {
    timers.pass(1);
    await settleAll();
  }
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

function isCut(expected: object): boolean {
  return 'code' in expected && expected.code !== 'not_found';
}

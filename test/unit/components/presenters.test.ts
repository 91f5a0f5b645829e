// Goal: a reader gets the whole presentation in order, or a failure (F31); a slow reader does not delay others (F30,
// F32); each presentation ends with its reader or its time (F33). Method: presenters as text in real executors.
import { afterAll, describe, expect, it } from 'vitest';
import type { DatabaseError } from '#base';
import { DEFAULT_PRESENTERS, type OpenBody, type Opened } from '#components';
import { until } from '../../support/budget-time.ts';
import {
  asking,
  COUNTING,
  counted,
  countedDigest,
  presenters,
  presenterText,
  readAll,
} from '../../support/components/presenters.ts';
import { executors } from '../../support/wasm/executors.ts';

const KIB = 1024;
const LOOPING = presenterText('(loop $l (br $l)) (call $ok)');
const WRITE = '(drop (call $write (i32.const 1048576) (i32.const 9)))';

const shared = executors();
afterAll(() => shared[Symbol.asyncDispose]());

describe('a presentation', { timeout: 60_000 }, () => {
  it.each([
    ['nothing', 0, 10],
    ['a part', 1, 10],
    ['many small parts', 5000, 4],
    ['more than may be ahead', 300, 16 * KIB],
    ['parts as large as they may be', 5, 256 * KIB],
  ])('has every byte that is written: %s', async (_, partCount, partBytes) => {
    const own = presenters(shared);
    const { body } = begun(await own.open(await asking(COUNTING, { state: counted(partCount, partBytes) })));
    const read = await readAll(body);
    expect(read).toEqual({ digest: countedDigest(partCount, partBytes), byteCount: partCount * partBytes });
    expect(own.figures()).toEqual({ running: 0, waiting: 0, heldBytes: 0, suspended: 0 });
  });

  it.each([
    [0, 'invalid_argument'],
    [1, 'not_found'],
    [2, 'internal'],
  ])('fails with the error of its presenter, case %i, before and after its first part', async (number, code) => {
    const own = presenters(shared);
    const failing = `(call $no (i32.const ${number}))`;
    const error = { code, message: 'The presenter refuses: because' };
    expect(await own.open(await asking(presenterText(failing)))).toMatchObject({ kind: 'failed', error });
    const opened = await own.open(await asking(presenterText(`${WRITE} ${failing}`)));
    expect(await readIfBegun(opened)).toMatchObject(error);
    expect(own.figures()).toMatchObject({ running: 0, heldBytes: 0 });
  });

  it.each([
    ['a write', { writeBytesMax: 9 }, 'It writes 10 bytes at once; the limit is 9'],
    ['a body', { bodyBytesMax: 29 }, 'Its body has more than 29 bytes'],
  ])('fails beyond the limit of %s', async (_, settings, message) => {
    const opened = await presenters(shared, settings).open(await asking(COUNTING));
    expect(await readIfBegun(opened)).toMatchObject({ code: 'internal', message: expect.stringContaining(message) });
  });

  it('is refused when there is no memory for its parts', async () => {
    const own = presenters(shared, { heldBytesMax: 512 * KIB + 8 });
    const asked = await asking(COUNTING);
    const first = begun(await own.open({ ...asked, state: counted(1000, 16 * KIB) }));
    expect(errorOf(await own.open(asked))).toMatchObject({ code: 'busy' });
    first.body.cancel();
    expect(begun(await own.open(asked)).kind).toBe('begun');
  });
});

describe('readers', { timeout: 60_000 }, () => {
  it('that pause free the executor for others, and get the whole body when they continue', async () => {
    const own = presenters(shared, { idleMs: 60_000 });
    const asked = await asking(COUNTING, { state: counted(200, 16 * KIB) });
    const first = begun(await own.open(asked));
    await until(() => own.figures().running === 1 && own.figures().waiting === 0);
    const other = begun(await own.open({ ...asked, state: counted(3, 10) }));
    expect(await readAll(other.body)).toMatchObject({ digest: countedDigest(3, 10) });
    expect(own.figures()).toMatchObject({ running: 0, suspended: 1 });
    expect(await readAll(first.body)).toMatchObject({ digest: countedDigest(200, 16 * KIB), code: undefined });
    expect(own.figures()).toMatchObject({ running: 0, heldBytes: 0 });
    expect(shared.figures()).toMatchObject({ kills: 0 });
  });

  it('that leave while the guest computes end it, without a quarantine of the component', async () => {
    await using alone = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } });
    const own = presenters(alone);
    const asked = await asking(presenterText(`${WRITE} (loop $l (br $l)) (call $ok)`));
    const { body } = begun(await own.open(asked));
    body.cancel();
    await until(() => own.figures().running === 0);
    expect(alone.figures()).toMatchObject({ kills: 1, quarantined: 0 });
    expect(begun(await own.open(asked)).kind).toBe('begun');
  });
});

describe('a time limit', { timeout: 60_000 }, () => {
  it('for the first part ends a guest that writes none, and counts towards its quarantine', async () => {
    await using alone = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } });
    const own = presenters(alone);
    // An executor runs already, so that the time does not include the start of a process.
    await own.open(await asking(COUNTING));
    const opened = await own.open(await asking(LOOPING, { firstMs: 300 }));
    expect(errorOf(opened)).toMatchObject({ code: 'unavailable', message: expect.stringContaining('300 ms') });
    await until(() => own.figures().running === 0);
    expect(alone.figures()).toMatchObject({ kills: 1, quarantined: 1 });
  });

  it.each([
    ['before its first write', LOOPING],
    ['behind a write', presenterText(`${WRITE} (loop $l (br $l)) (call $ok)`)],
  ])('for computing without a write ends a guest that loops %s, and counts towards its quarantine', async (_, text) => {
    await using alone = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } });
    const { guest } = DEFAULT_PRESENTERS;
    const own = presenters(alone, { guest: { ...guest, time: { ...guest.time, quietCpuMs: 300 } } });
    const [looping, other] = [await asking(text), await asking(COUNTING)];
    const message = expect.stringContaining('300 ms of processor time');
    expect(await readIfBegun(await own.open(looping))).toMatchObject({ code: 'unavailable', message });
    expect(await readAll(begun(await own.open(other)).body)).toMatchObject({ digest: countedDigest(3, 10) });
    expect(alone.figures()).toMatchObject({ kills: 1, quarantined: 1 });
    const retryAfterMs = expect.toSatisfy((ms: number) => ms > 50_000 && ms <= 60_000);
    const details = { reason: 'Quarantined', retryAfterMs };
    expect(errorOf(await own.open(looping))).toMatchObject({ code: 'unavailable', details });
  });

  it('for the whole body ends a presentation whose reader pauses, and drops the parts that were not read', async () => {
    const own = presenters(shared, { graceMs: 60_000 });
    const { body } = begun(await own.open(await asking(COUNTING, { state: counted(1000, 16 * KIB), wholeMs: 1000 })));
    await until(() => own.figures().heldBytes === 0);
    expect(await body.next()).toMatchObject({ kind: 'failed', error: { code: 'unavailable' } });
    await until(() => own.figures().running === 0);
  });
});

interface Begun {
  readonly kind: 'begun';
  readonly continuation: string | undefined;
  readonly body: OpenBody;
}

function begun(opened: Opened): Begun {
  if (opened.kind === 'failed') throw opened.error;
  return opened;
}

function errorOf(opened: Opened): DatabaseError | undefined {
  return opened.kind === 'failed' ? opened.error : undefined;
}

/** Returns the final failure, before or after the first part: the node may be faster than the guest. */
async function readIfBegun(opened: Opened): Promise<unknown> {
  return opened.kind === 'failed' ? opened.error : readAll(opened.body);
}

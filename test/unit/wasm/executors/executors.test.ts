// Goal: a misbehaving guest ends in a fault, affects no other call and never blocks the event loop (G11, G12, G16, G17,
// G18, G19). Method: guests as text in real executors, each between two calls of a good guest.
import { afterAll, describe, expect, it } from 'vitest';
import type { FoldOutcome } from '#wasm';
import { longestTurnMs } from '../../../support/longest-turn.ts';
import { artifactOf, EVENT, executors, foldOf, LIMITED } from '../../../support/wasm/executors.ts';
import { answer, complaint, guestText, MISBEHAVING } from '../../../support/wasm/guests.ts';
import { viewText } from '../../../support/wasm/wat.ts';

const TURN_MS_MAX = 50;
const SPINNING = guestText('(loop $l (br $l)) (i32.const 16)');
const ENDLESS = { limits: { ...LIMITED.limits, fuel: Number.MAX_SAFE_INTEGER } };

describe('Executors', { timeout: 60_000 }, () => {
  const shared = executors();
  afterAll(() => shared[Symbol.asyncDispose]());

  it.each(MISBEHAVING)('return a fault for $what', async ({ code, says, text }) => {
    const [good, bad] = [await artifactOf(viewText()), await artifactOf(text)];
    await shared.fold(foldOf(good, [EVENT]));
    const calls = [good, bad, good].map((artifact) => () => shared.fold(foldOf(artifact, [EVENT])));
    let outcomes: readonly FoldOutcome[] = [];
    const turnMs = await longestTurnMs(async () => void (outcomes = await Promise.all(calls.map((call) => call()))));
    const [before, fault, after] = outcomes;
    expect(fault).toMatchObject({ kind: 'fault', fault: { code, message: expect.stringMatching(says) } });
    expect([before, after]).toMatchObject([{ state: EVENT }, { state: EVENT }]);
    expect(turnMs).toBeLessThan(TURN_MS_MAX);
  });

  it('reuse an instance for calls of its pool, and never for calls of another', async () => {
    const count = '(i32.store8 (i32.const 128) (i32.add (i32.load8_u (i32.const 128)) (i32.const 1)))';
    const counting = await artifactOf(guestText(`${count} ${answer('128', '1')}`));
    const states: unknown[] = [];
    for (const pool of ['one', 'one', 'other', 'one', 'other']) {
      const outcome = await shared.fold(foldOf({ ...counting, pool }, [EVENT]));
      states.push(outcome.kind === 'state' ? outcome.state[0] : outcome);
    }
    expect(states).toEqual([1, 2, 1, 3, 2]);
  });

  it('report each call of a component with its digest and result, except calls that were aborted before', async () => {
    const calls: string[] = [];
    let nowMs = 0;
    const onCall = (digest: string, result: string, ms: number): void => void calls.push(`${digest} ${result} ${ms}`);
    await using own = executors({ onCall }, () => (nowMs += 5));
    const good = await artifactOf(viewText());
    const trapping = await artifactOf(guestText('unreachable'));
    const refusing = await artifactOf(guestText(complaint('128', '0')));
    const spinning = await artifactOf(SPINNING);
    for (const artifact of [good, trapping, refusing, spinning]) await own.fold(foldOf(artifact, [EVENT]));
    await own.fold(foldOf(good, [EVENT], { signal: AbortSignal.abort() }));
    expect(calls.map((call) => call.replace(/ \d+$/, ''))).toEqual([
      `${good.digest} answered`,
      `${trapping.digest} trapped`,
      `${refusing.digest} failed`,
      `${spinning.digest} failed`,
    ]);
    for (const call of calls) expect(Number(call.split(' ')[2])).toBeGreaterThan(0);
  });

  it('start a call of low priority only when no other one waits', async () => {
    await using own = executors();
    const artifact = await artifactOf(viewText());
    const order: string[] = [];
    const called = async (name: string, givesWay: boolean): Promise<void> => {
      await own.fold(foldOf(artifact, [EVENT], { givesWay }));
      order.push(name);
    };
    const others = [called('behind 1', true), called('behind 2', true), called('first', false)];
    await called('second', false);
    // The first call of low priority runs by now, the second one does not.
    await Promise.all([...others, called('third', false)]);
    expect(order).toEqual(['first', 'second', 'behind 1', 'third', 'behind 2']);
  });

  it('kill a process that exceeds its time, and run the next call in another one', async () => {
    await using own = executors();
    const spinning = await artifactOf(SPINNING);
    const time = { wallMs: 300, cpuMs: 60_000 };
    const [fault, after] = await Promise.all([
      own.fold(foldOf(spinning, [EVENT], { ...ENDLESS, time })),
      own.fold(foldOf(await artifactOf(viewText()), [EVENT])),
    ]);
    expect(fault).toMatchObject({ fault: { code: 'DeadlineExceeded', message: 'The call takes more than 300 ms' } });
    expect(after).toMatchObject({ kind: 'state' });
    expect(own.figures()).toMatchObject({ starts: 2, kills: 1 });
  });

  it('kill the process of a fold that is abandoned while it computes, and do the next one in another (C16)', async () => {
    await using own = executors();
    const spinning = await artifactOf(SPINNING);
    const client = new AbortController();
    const fault = own.fold(foldOf(spinning, [EVENT], { ...ENDLESS, signal: client.signal }));
    const after = own.fold(foldOf(await artifactOf(viewText()), [EVENT]));
    // The process is looked at only while it computes.
    await expect.poll(() => own.figures().residentBytes, { timeout: 20_000 }).toBeGreaterThan(0);
    client.abort();
    expect(await fault).toMatchObject({ kind: 'fault', fault: { code: 'Cancelled' } });
    expect(await after).toMatchObject({ kind: 'state' });
    expect(own.figures()).toMatchObject({ starts: 2, kills: 1 });
  });

  it('kill a process that exceeds its memory', async () => {
    await using own = executors({ residentBytesMax: 2 ** 20 });
    const spinning = await artifactOf(SPINNING);
    const fault = await own.fold(foldOf(spinning, [EVENT], ENDLESS));
    expect(fault).toMatchObject({
      fault: { code: 'MemoryLimit', message: expect.stringContaining('the limit is 1048576') },
    });
  });

  it('do not call a component that has ended too many processes until a time has passed', async () => {
    let nowMs = 0;
    await using own = executors({ quarantine: { killsMax: 2, windowMs: 60_000 } }, () => nowMs);
    const spinning = await artifactOf(SPINNING);
    const call = foldOf(spinning, [EVENT], { ...ENDLESS, time: { wallMs: 50, cpuMs: 60_000 } });
    const codes = async (): Promise<unknown> => {
      const outcome = await own.fold(call);
      return outcome.kind === 'fault' ? outcome.fault.code : outcome;
    };
    for (const code of ['DeadlineExceeded', 'DeadlineExceeded', 'Quarantined']) expect(await codes()).toBe(code);
    expect(await own.fold(foldOf(await artifactOf(viewText()), [EVENT]))).toMatchObject({ kind: 'state' });
    expect(own.figures()).toMatchObject({ kills: 2, quarantined: 1, faults: expect.any(Map) });
    expect(own.figures().faults.get('Quarantined')).toBe(1);
    nowMs = 60_000;
    expect(await codes()).toBe('DeadlineExceeded');
  });

  it('refuse calls when too many wait, and waiting calls when they are closed', async () => {
    const own = executors({ waitingMax: 1 });
    const good = await artifactOf(viewText());
    const [first, second] = [own.fold(foldOf(good, [EVENT])), own.fold(foldOf(good, [EVENT]))];
    await own[Symbol.asyncDispose]();
    expect(await second).toMatchObject({ fault: { code: 'Busy' } });
    expect(await first).toMatchObject({ fault: { code: 'ExecutorLost', message: expect.stringContaining('closed') } });
    expect(await own.fold(foldOf(good, [EVENT]))).toMatchObject({ fault: { code: 'ExecutorLost' } });
  });
});

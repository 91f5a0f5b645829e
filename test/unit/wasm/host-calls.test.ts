// Goal: a guest waits for the host within its call, has a limit of calls to it, and a missing answer ends the call only
// (G14, G18). Method: a State Change as text in real executors, with hosts that answer late, wrongly, or not.
import { describe, expect, it } from 'vitest';
import type { FunctionCall, HostCall, Value } from '#wasm';
import { artifactOf, executors, LIMITED, TIME } from '../../support/wasm/executors.ts';

const READER = 'cairn:component/state-reader@0.1.0';

describe('Executors', { timeout: 60_000 }, () => {
  it('pass calls of a guest to the host while the event loop continues', async () => {
    await using own = executors();
    const asked: HostCall[] = [];
    const outcome = await own.call(
      await callOf(3, async (call) => {
        asked.push(call);
        await new Promise((resolve) => setImmediate(resolve));
        return `state ${asked.length}`;
      }),
    );
    expect(asked).toEqual(
      Array.from({ length: 3 }, () => ({ interfaceName: READER, functionName: 'read', values: ['view'] })),
    );
    expect(outcome).toMatchObject({ kind: 'value', value: { tag: 'ok', val: [] }, spent: { hostCalls: 3 } });
  });

  it.each<readonly [string, FunctionCall['host']]>([
    ['fails', async () => Promise.reject(new Error('no such view'))],
    ['is none', undefined],
  ])('end a call whose host %s, and run the next one', async (_, host) => {
    await using own = executors();
    const outcome = await own.call(await callOf(1, host));
    expect(outcome).toMatchObject({
      fault: { code: 'HostCallFailed', message: expect.stringMatching(/no such view|the host does not have/) },
    });
    expect(await own.call(await callOf(1, async () => 'state'))).toMatchObject({ kind: 'value' });
    expect(own.figures()).toMatchObject({ kills: 0 });
  });

  it('end a call when the host returns a value of another type', async () => {
    await using own = executors();
    const outcome = await own.call(await callOf(1, async () => 5));
    expect(outcome).toMatchObject({ fault: { code: 'AbiViolation', message: expect.stringContaining('string') } });
  });

  it('end a call whose host does not answer in time, without a quarantine of the component', async () => {
    await using own = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } });
    // Loads and compiles, so that the time of the next call is that of the host.
    await own.call(await callOf(1, async () => 'state'));
    const never = (): Promise<Value> => new Promise(() => undefined);
    const outcome = await own.call({ ...(await callOf(1, never)), time: { wallMs: 1000, cpuMs: 60_000 } });
    expect(outcome).toMatchObject({
      fault: { code: 'DeadlineExceeded', message: expect.stringContaining('the host') },
    });
    expect(own.figures()).toMatchObject({ kills: 1, quarantined: 0 });
  });

  it('end aborted calls in any state, without a quarantine of the component', async () => {
    await using own = executors({ quarantine: { killsMax: 1, windowMs: 60_000 } });
    const { promise: hasAsked, resolve } = Promise.withResolvers<void>();
    const never = (): Promise<Value> => {
      resolve();
      return new Promise(() => undefined);
    };
    const aborts = Array.from({ length: 3 }, () => new AbortController());
    const calls = await Promise.all(aborts.map(async ({ signal }) => ({ ...(await callOf(1, never)), signal })));
    const outcomes = calls.map((call) => own.call(call));
    await hasAsked;
    // In this order: waiting, sent ahead, and running.
    for (const abort of aborts.toReversed()) abort.abort();
    const cancelled = { kind: 'fault', fault: { code: 'Cancelled' } };
    expect(await Promise.all(outcomes)).toMatchObject([cancelled, cancelled, cancelled]);
    expect(own.figures()).toMatchObject({ waiting: 0, quarantined: 0 });
    expect(await own.call(await callOf(1, async () => 'state'))).toMatchObject({ kind: 'value' });
  });
});

async function callOf(times: number, host: FunctionCall['host']): Promise<FunctionCall> {
  const artifact = await artifactOf(asking(times), 'state-change');
  const values = [{ body: 'x' }];
  return { artifact, ...LIMITED, time: TIME, bound: 'main', values, ...(host === undefined ? {} : { host }) };
}

/** Reads a view the given number of times, and emits nothing. */
function asking(times: number): string {
  return `(component
    (import "${READER}" (instance $r (export "read" (func (param "name" string) (result string)))))
    (core module $memory
      (memory (export "memory") 1)
      (data (i32.const 32) "view")
      (global $top (mut i32) (i32.const 4096))
      (func (export "realloc") (param i32 i32 i32 i32) (result i32)
        (global.get $top) (global.set $top (i32.add (global.get $top) (local.get 3)))))
    (core instance $memory (instantiate $memory))
    (core func $read (canon lower (func $r "read")
      (memory (core memory $memory "memory")) (realloc (core func $memory "realloc"))))
    (core module $m
      (import "h" "memory" (memory 1))
      (import "h" "read" (func $read (param i32 i32 i32)))
      (func (export "decide") (param i32 i32) (result i32) (local $left i32)
        (local.set $left (i32.const ${times}))
        (loop $l
          (call $read (i32.const 32) (i32.const 4) (i32.const 64))
          (br_if $l (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
        (i32.store8 (i32.const 16) (i32.const 0))
        (i32.store (i32.const 24) (i32.const 0))
        (i32.const 16)))
    (core instance $i (instantiate $m
      (with "h" (instance (export "memory" (memory $memory "memory")) (export "read" (func $read))))))
    (type $command (record (field "body" string)))
    (type $event (record (field "id" string)))
    (type $error (variant (case "internal-error" string)))
    (type $events (list $event))
    (func (export "decide") (param "command" $command) (result (result $events (error $error)))
      (canon lift (core func $i "decide")
        (memory (core memory $memory "memory")) (realloc (core func $memory "realloc")))))`;
}

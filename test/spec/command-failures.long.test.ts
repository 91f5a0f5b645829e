// Goal: a command that loses to others who write, or finds no executor, is told so by its code. Method: a real node;
// State Changes as text that misbehave, and one that reads what its command says, beside others who write.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { changeText } from '../support/components/change-text.ts';
import { type Asked, Commands } from '../support/components/commands.ts';
import type { Script, Step } from '../support/components/scripted-change.ts';
import { eventually } from '../support/eventually.ts';
import { type GrpcFailure, TestClient } from '../support/grpc-client.ts';
import { event, transaction, uniqueName } from '../support/grpc-requests.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { builtComponent } from '../support/wasm/built.ts';
import { wat } from '../support/wasm/wat.ts';

/** A component of 12 MB is built, published and started, on a machine with other things to do. */
const BUILD_MS = 300_000;

/** Who waits no longer is not waited for by the server, either. */
const IMPATIENT = { deadlineMs: 8_000 };
/** How many calls wait for an executor at most. */
const WAITING_MAX = 1000;
/** What the metrics show is as old as one second: so many together take longer. */
const SCRAPES = 6;
const SCRAPE_MS = 250;

/** By their names: what they do when they are asked. */
const TEXTS = {
  trapping: changeText('unreachable'),
  endless: changeText('(loop $l (br $l)) unreachable'),
};

let server: TestServer;
let commands: Commands;
let databaseName: string;

beforeAll(async () => {
  server = await startTestServer('--guest-executors=1', '--guest-fuel=1000000000');
  databaseName = uniqueName();
  commands = new Commands(server, databaseName);
  await server.client.send('createDatabase', { databaseName });
  for (const [name, text] of Object.entries(TEXTS)) await commands.publish(name, await wat(text));
  await commands.publish('scripted', await builtComponent('test/support/components/scripted-change.ts'));
}, BUILD_MS);

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function write(subjects: readonly string[]): Promise<number> {
  const events = subjects.map((subject) => event({ id: crypto.randomUUID(), subject }));
  return (await server.client.send('transact', transaction(databaseName, events))).revision;
}

/** A command that reads so, and emits an event or more. */
function script(steps: readonly Step[]): Asked {
  const body: Script = { steps, leastEvents: 1 };
  return { name: 'scripted', path: '/scripts', body };
}

/** So many times, so that others write meanwhile. */
function again(count: number, step: Step): Asked {
  return script(Array.from({ length: count }, () => step));
}

function eventsOf(prefix: string, limit: number): Step {
  return { kind: 'events', selector: JSON.stringify({ startsWith: { subject: prefix } }), limit };
}

describe('a command beside others who write', { timeout: 120_000 }, () => {
  it('is decided ten times where what it reads changes each time, and is then a concurrency conflict', async () => {
    const whole = again(90, { kind: 'database' });
    const { outcome, decisions } = await beside(() => write(['others']), whole);
    expect([outcome, decisions]).toEqual(['FAILED_PRECONDITION ConcurrencyConflict', 10]);
    expect(await commands.executed(whole)).toBe(await commands.latest());
  });

  it('is committed at once where others write what it does not read, unless that cannot be said of what it reads', async () => {
    const many = Array.from({ length: 4000 }, (_, number) => `many-${number}`);
    for (let from = 0; from < many.length; from += 1000) await write(many.slice(from, from + 1000));
    await write(['few-1', 'few-2']);
    const others = Array.from({ length: 600 }, () => 'others');
    const narrow = await beside(() => write(others), again(90, eventsOf('few-', 10)));
    expect([narrow.outcome, narrow.decisions]).toEqual(['committed', 1]);
    // Whether any of so many subjects has a new event takes more than a transaction may look at.
    const broad = await beside(() => write(others), script([eventsOf('many-', 10_000)]));
    expect([broad.outcome, broad.decisions]).toEqual(['FAILED_PRECONDITION ConcurrencyConflict', 10]);
    expect(await commands.executed(script([eventsOf('many-', 10_000)]))).toBe(await commands.latest());
  });

  /** What becomes of a command while somebody writes all the time, and how often it was decided. */
  async function beside(
    writing: () => Promise<unknown>,
    asked: Asked,
  ): Promise<{ readonly outcome: string; readonly decisions: number }> {
    const ending = new AbortController();
    let written = 0;
    const writer = (async (): Promise<void> => {
      while (!ending.signal.aborted) {
        await writing();
        written++;
      }
    })();
    const before = await decisionCount();
    const outcome = await commands.executed(asked).then(
      () => 'committed',
      (failure: GrpcFailure) => `${failure.code} ${failure.info?.metadata['reason']}`,
    );
    ending.abort();
    await writer;
    expect(written).toBeGreaterThan(0);
    return { outcome, decisions: (await decisionCount()) - before };
  }

  /** How often State Changes were called, as soon as several scrapes say the same. */
  function decisionCount(): Promise<number> {
    const seen: number[] = [];
    return vi.waitFor(
      async () => {
        const text = await (await fetch(server.metrics)).text();
        seen.push(Number(/^cairn_guest_calls_total\{pool="changes"\} (\d+)$/m.exec(text)?.[1]));
        const [count = Number.NaN, ...others] = seen.slice(-SCRAPES);
        if (others.length < SCRAPES - 1 || others.some((other) => other !== count))
          throw new Error('it may be an old one');
        return count;
      },
      { timeout: 60_000, interval: SCRAPE_MS },
    );
  }
});

describe('a command that finds no executor', { timeout: 120_000 }, () => {
  it('is told that they are busy over both interfaces, until there is one again', async () => {
    const crowd = new TestClient(server.grpc);
    const outcomes = Array.from({ length: WAITING_MAX + 10 }, () =>
      commands.executed({ name: 'endless' }, crowd, IMPATIENT).then(
        () => 'committed',
        (failure: GrpcFailure) => `${failure.code} ${failure.info?.metadata['reason']}`,
      ),
    );
    expect(await Promise.race(outcomes)).toBe('UNAVAILABLE Busy');
    expect(await commands.refusalsOf({ name: 'trapping' })).toEqual(['UNAVAILABLE', 'Busy', 503, 'INTERNAL', 'Busy']);
    await Promise.all(outcomes);
    await crowd[Symbol.asyncDispose]();
    await eventually(async () => {
      expect(await commands.executed(script([]))).toBe(await commands.latest());
    });
  });
});

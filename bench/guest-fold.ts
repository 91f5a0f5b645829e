/**
 * Measures the fold of events by a compiled guest in an executor, compared with the same fold inside this process.
 *
 *   node --conditions=source bench/guest-fold.ts [--events 1000000] [--batch 1000] [--turns 5] [--one]
 *
 * The events have 200 bytes each and are packed in memory before the measurement; the guest reads every byte. Three
 * variants alternate. `executor` sends batch after batch to one executor, each with the state after the previous batch.
 * `linked` calls the same metered guest in this process, through the linker. `bare` calls the guest's core function,
 * unmetered, after copying each batch into its memory at once. It prints the best and the median wall time, the ratios
 * of the medians, and the longest event-loop delay. With `--one`, the guest has no batch function and is called for
 * each event.
 */
import { loadavg } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { NO_BYTES } from '#base';
import type { Executors } from '#wasm';
import { isRecord } from '../src/wasm/abi/values.ts';
import { Executor } from '../src/wasm/executors/executor.ts';
import type { Answer } from '../src/wasm/executors/messages.ts';
import { CORE, countingText } from '../test/support/wasm/counting.ts';
import { instantiate } from '../test/support/wasm/engine.ts';
import { artifactOf, executors, LIMITED, packed, TIME } from '../test/support/wasm/executors.ts';
import { functionOf } from '../test/support/wasm/rewritten.ts';
import { wat } from '../test/support/wasm/wat.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    batch: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '5' },
    one: { type: 'boolean', default: false },
  },
});
const [EVENTS, BATCH, TURNS] = [Number(values.events), Number(values.batch), Number(values.turns)];
const EVENT_BYTES = 200;
const LENGTH_BYTES = 4;
const NS_PER_MS = 1e6;
const LIMITS = { ...LIMITED, limits: { fuel: 1e12, outputBytesMax: 1e6, hostCallsMax: 0 }, time: TIME };

const batch = packed(Array.from({ length: BATCH }, (_, i) => new Uint8Array(EVENT_BYTES).fill(i)));
const batches = Math.ceil(EVENTS / BATCH);
const artifact = await artifactOf(countingText({ hasBatch: !values.one }));

console.log(`load ${loadavg()[0]?.toFixed(2)}, ${batches * BATCH} events of ${EVENT_BYTES} bytes, ${BATCH} in a batch`);
await using own = executors();
const linked = linkedFold();
const bare = await bareFold();
let stoodMs = 0;
const times: Record<string, number[]> = { executor: [], linked: [], bare: [] };
await executorFold(own);
for (let turn = 0; turn < TURNS; turn++) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  times['executor']?.push(await timed(() => executorFold(own)));
  delay.disable();
  stoodMs = Math.max(stoodMs, delay.max / NS_PER_MS);
  times['linked']?.push(await timed(async () => linked()));
  times['bare']?.push(await timed(async () => bare()));
}
for (const [way, all] of Object.entries(times)) {
  const best = Math.min(...all);
  console.log(`${way}: median ${median(all).toFixed(0)} ms, best ${best.toFixed(0)} ms, ${rate(median(all))} events/s`);
}
const [through, without, least] = ['executor', 'linked', 'bare'].map((way) => median(times[way] ?? []));
console.log(`executor : linked ${ratio(without, through)} %, executor : bare ${ratio(least, through)} % of the rate`);
console.log(`the loop of this process stood ${stoodMs.toFixed(1)} ms at most`);

async function executorFold(running: Executors): Promise<void> {
  let state: Uint8Array = NO_BYTES;
  for (let i = 0; i < batches; i++) {
    const outcome = await running.fold({ artifact, ...LIMITS, state, events: batch });
    if (outcome.kind !== 'state') throw new Error(JSON.stringify(outcome));
    state = outcome.state;
  }
  expectAll(state);
}

/** The metered guest in this process. */
function linkedFold(): () => void {
  const executor = new Executor(() => undefined);
  executor.handle({ kind: 'load', id: 0, artifact: 1, guestBytesKept: 2 ** 30, bytes: artifact.bytes });
  return () => {
    let state: Uint8Array = NO_BYTES;
    for (let i = 0; i < batches; i++) {
      const answer = executor.handle({ kind: 'fold', id: 1, artifact: 1, ...LIMITS, state, events: batch });
      state = stateOf(answer);
    }
    expectAll(state);
  };
}

/** The core functions without metering, on memory that is filled by one copy. */
async function bareFold(): Promise<() => void> {
  const core = instantiate(await wat(`(module ${CORE})`));
  const memory = (core['memory'] as unknown as { readonly buffer: ArrayBuffer }).buffer;
  const [evolve, bytes, view] = [functionOf(core, 'evolve-many'), new Uint8Array(memory), new DataView(memory)];
  const [stateAt, listAt] = [4096, 8192];
  const eventsAt = listAt + 8 * BATCH;
  return () => {
    view.setUint32(64, 0, true);
    let stateBytes = 0;
    for (let i = 0; i < batches; i++) {
      bytes.set(batch, eventsAt);
      for (let event = 0, at = eventsAt + LENGTH_BYTES; event < BATCH; event++, at += EVENT_BYTES + LENGTH_BYTES) {
        view.setUint32(listAt + 8 * event, at, true);
        view.setUint32(listAt + 8 * event + 4, EVENT_BYTES, true);
      }
      evolve(stateAt, stateBytes, listAt, BATCH);
      stateBytes = 16;
      bytes.copyWithin(stateAt, 64, 80);
    }
    expectAll(bytes.slice(stateAt, stateAt + 16));
  };
}

function stateOf(answer: Answer | undefined): Uint8Array {
  const value = answer?.kind === 'value' ? answer.value : undefined;
  const state = isRecord(value) ? value['val'] : undefined;
  if (!(state instanceof Uint8Array)) throw new Error(JSON.stringify(answer));
  return state;
}

function expectAll(state: Uint8Array): void {
  const count = new DataView(state.buffer, state.byteOffset).getBigUint64(0, true);
  if (count !== BigInt(batches * BATCH)) throw new Error(`The guest has seen ${count} events`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const before = performance.now();
  await work();
  return performance.now() - before;
}

function median(all: readonly number[]): number {
  return all.toSorted((a, b) => a - b)[all.length >> 1] ?? 0;
}

function rate(ms: number): string {
  return Math.round((batches * BATCH) / (ms / 1000)).toLocaleString('en');
}

function ratio(one: number = 0, other: number = 1): string {
  return ((one / other) * 100).toFixed(0);
}

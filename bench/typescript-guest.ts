/**
 * Measures the publication of a component that componentize-js built from TypeScript, and the fold of events by it.
 *
 *   node --conditions=source bench/typescript-guest.ts [--events 1000000] [--batch 1000] [--turns 3] [--publish 5]
 *
 * The guest is the example of bank balances with 100 accounts; its events are 200 bytes of JSON, packed in memory
 * before the measurement. For comparison, a component of 100 KB is published, most of whose bytes are unused code. Each
 * measurement alternates between a separate process, as a node uses it (wall time), and this process (CPU time of all
 * threads, which depends less on other load). A fold processes batch after batch, each with the state after the
 * previous one. It prints the best and the median.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { DEFAULT_LIMITS, Publisher, type PublishOptions } from '#wasm';
import { accountEvent } from '../examples/bank/events.ts';
import { jsonText, parseJson, toBytes } from '../sdk/component/src/json.ts';
import { stored } from '../sdk/component/testing/scenario.ts';
import { isRecord } from '../src/wasm/abi/values.ts';
import { Executor } from '../src/wasm/executors/executor.ts';
import { publish } from '../src/wasm/publishing/publish.ts';
import { builtComponent } from '../test/support/wasm/built.ts';
import { executors, LIMITED, packed, TIME } from '../test/support/wasm/executors.ts';
import { viewText, wat } from '../test/support/wasm/wat.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    batch: { type: 'string', default: '1000' },
    turns: { type: 'string', default: '3' },
    publish: { type: 'string', default: '5' },
  },
});
const [EVENTS, BATCH] = [Number(values.events), Number(values.batch)];
const [TURNS, PUBLISHED] = [Number(values.turns), Number(values.publish)];
const ACCOUNTS = 100;
const SMALL_BYTES = 100_000;
const limits = { fuel: 1e12, outputBytesMax: 2 ** 20, hostCallsMax: 0 };
const OPTIONS: PublishOptions = { kind: 'state-view', limits: DEFAULT_LIMITS, smoke: { ...LIMITED, limits } };

class Times {
  readonly #all: number[] = [];

  async add(clock: () => number, work: () => Promise<unknown>): Promise<void> {
    const before = clock();
    await work();
    this.#all.push(clock() - before);
  }

  shown(): string {
    const sorted = this.#all.toSorted((a, b) => a - b);
    return `best ${sorted[0]?.toFixed(0)} ms, median ${sorted[sorted.length >> 1]?.toFixed(0)} ms of ${sorted.length}`;
  }
}

console.log(`load ${loadavg()[0]?.toFixed(2)}`);
const component = await builtComponent('examples/bank/balances.ts');
for (const bytes of [await smallComponent(), component]) {
  const own = new Times();
  const here = new Times();
  for (let turn = 0; turn < PUBLISHED; turn++) {
    await own.add(wallMs, () => published(bytes));
    await here.add(cpuMs, async () => publish(bytes, OPTIONS));
  }
  console.log(`publish ${bytes.length} bytes: process ${own.shown()}, here ${here.shown()} of processor time`);
}

const artifact = await published(component);
const accounts = Array.from({ length: ACCOUNTS }, (_, i) => `account-${String(i).padStart(6, '0')}`);
const opened = accounts.map((account) => accountEvent('account.opened', account, { owner: 'somebody' }));
const used = Array.from({ length: BATCH }, (_, i) =>
  accountEvent('account.deposited', accounts[i % ACCOUNTS] ?? '', { cents: 1 + (i % 7) }),
);
const first = packed(stored(...opened).map((event) => toBytes(jsonText(event))));
const events = stored(...used).map((event) => toBytes(jsonText(event)));
const batch = packed(events);
const batches = Math.ceil(EVENTS / BATCH);
await using own = executors();
const linked = new Executor(() => undefined);
linked.handle({ kind: 'load', id: 0, artifact: 1, bytes: artifact.bytes });
const times = { executor: new Times(), linked: new Times() };
for (let turn = 0; turn < TURNS; turn++) {
  await times.executor.add(wallMs, () => folded(byExecutor));
  await times.linked.add(cpuMs, () => folded(byLinked));
}
const bytes = events.reduce((sum, { length }) => sum + length, 0) / BATCH;
console.log(`fold ${batches * BATCH} events of ${bytes.toFixed(0)} bytes, ${BATCH} in a batch`);
console.log(`executor ${times.executor.shown()}, linked ${times.linked.shown()} of processor time`);
console.log(`${own.figures().fuel / ((batches * BATCH + ACCOUNTS) * TURNS)} units of fuel for an event`);

type Step = (state: Uint8Array, packedEvents: Uint8Array) => Promise<Uint8Array>;

async function byExecutor(state: Uint8Array, packedEvents: Uint8Array): Promise<Uint8Array> {
  const outcome = await own.fold({ artifact, ...LIMITED, limits, time: TIME, state, events: packedEvents });
  if (outcome.kind !== 'state') throw new Error(JSON.stringify(outcome));
  return outcome.state;
}

/** The metered guest in this process. */
async function byLinked(state: Uint8Array, packedEvents: Uint8Array): Promise<Uint8Array> {
  const answer = linked.handle({
    kind: 'fold',
    id: 1,
    artifact: 1,
    wasi: LIMITED.wasi,
    limits,
    state,
    events: packedEvents,
  });
  const value = answer?.kind === 'value' ? answer.value : undefined;
  const next = isRecord(value) ? value['val'] : undefined;
  if (next instanceof Uint8Array) return next;
  throw new Error(JSON.stringify(answer));
}

async function folded(step: Step): Promise<void> {
  let state = await step(new Uint8Array(0), first);
  for (let i = 0; i < batches; i++) state = await step(state, batch);
  const found = Object.values(parseJson<Record<string, { readonly cents: number }>>(state));
  const sum = found.reduce((all, { cents }) => all + cents, 0);
  const expected = batches * used.reduce((all, _event, i) => all + 1 + (i % 7), 0);
  if (sum !== expected) throw new Error(`The guest counts ${sum} cents, and there are ${expected}`);
}

async function published(of: Uint8Array): Promise<{ readonly digest: string; readonly bytes: Uint8Array }> {
  await using publisher = new Publisher();
  const made = await publisher.publish(of, OPTIONS);
  if (made.kind === 'failure') throw new Error(`${made.reason.code}: ${made.reason.message}`);
  return { digest: made.value.digest, bytes: made.value.artifact };
}

/** Adds unused functions until the component is large enough. */
async function smallComponent(): Promise<Uint8Array> {
  const body = '(drop (i32.add (i32.mul (local.get 0) (i32.const 3)) (i32.load (local.get 0))))'.repeat(10);
  const one = `(func (param i32) (loop ${body}))`;
  const bytesOf = async (count: number): Promise<Uint8Array> => wat(viewText({ core: one.repeat(count) }));
  const [none, hundred] = [await bytesOf(0), await bytesOf(100)];
  return bytesOf(Math.ceil((SMALL_BYTES - none.length) / ((hundred.length - none.length) / 100)));
}

function wallMs(): number {
  return performance.now();
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

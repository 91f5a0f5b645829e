/**
 * Measures the CPU time of the core thread's work per transaction, from the message of the front thread to the report
 * back, without a log, a store and a state machine.
 *
 *   node --conditions=source bench/core-cost.ts [--transactions 200000] [--bytes 300]
 *
 * That includes unpacking commands, admission, Raft, encoding of log records, the apply loop, settling and packing the
 * report, all on one thread. The log only counts batches, the store accepts empty ones, and the state machine counts
 * revisions. Each figure is the mean of a run after a warm-up run of the same size. It is CPU time, so it hardly
 * depends on other load of the machine.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type NodeId, replicaOf, toDatabaseId, toGroupId, toLogIndex, toNodeId, toRevision } from '#base';
import {
  type AppliedMark,
  type CatalogMachine,
  CoreRuntime,
  LIMITS,
  type Machines,
  noPeers,
  type Outcome,
} from '#cluster';
import { encodeMembership, membershipOf } from '#raft';
import { type BatchId, type LogWriter, NO_CHECKPOINT, type PersistedFacts } from '#storage';
import { CoreCounter } from '../src/cluster/core/observer.ts';
import type { MachineEntry } from '../src/cluster/machine.ts';
import { packCommands, unpackCommands } from '../src/cluster/thread/command-message.ts';
import { packReport } from '../src/cluster/thread/report-message.ts';
import { clusterOf, unobservedSnapshots } from '../test/support/cluster/core-parts.ts';
import { memoryKv } from '../test/support/memory-kv.ts';

const { values } = parseArgs({
  options: {
    transactions: { type: 'string', default: '200000' },
    bytes: { type: 'string', default: '300' },
  },
});
const GROUP = toGroupId(1);
const NODE = toNodeId(1);
const BINDING = {
  name: 'bench',
  databaseId: toDatabaseId('0199a5c8-3c1e-7a2b-9f00-0123456789ab'),
  group: GROUP,
  createdAtMs: 0,
  copies: 0,
  replicas: [replicaOf(NODE)],
  leaving: [],
  founders: [replicaOf(NODE)],
  placement: 0,
  isSettled: true,
};
const FIRST_MEMBERS = { index: toLogIndex(0), membership: encodeMembership(membershipOf(BINDING.replicas)) };
const payload = new Uint8Array(Number(values.bytes));

/** A state machine that counts revisions. */
class CountingMachine implements CatalogMachine {
  applied: AppliedMark = { ...NO_CHECKPOINT, group: FIRST_MEMBERS };
  readonly recordedTimeMs = 0;
  readonly standing = new Uint8Array(0);

  readonly level = 1;

  list(): readonly (typeof BINDING)[] {
    return [BINDING];
  }

  apiKeys(): readonly never[] {
    return [];
  }

  lookup(): typeof BINDING {
    return BINDING;
  }

  bindingOf(): typeof BINDING {
    return BINDING;
  }

  readonly copies = new Map<NodeId, number>();

  nodes(): readonly never[] {
    return [];
  }

  needs(): readonly never[] {
    return [];
  }

  async answer(): Promise<readonly number[]> {
    return [];
  }

  apply(entry: MachineEntry): Outcome | undefined {
    const basis = this.applied.revision;
    const isNoOp = entry.payload.length === 0;
    const { index, term } = entry;
    this.applied = { ...this.applied, index, term, revision: isNoOp ? basis : toRevision(basis + 1) };
    if (isNoOp) return undefined;
    const { revision } = this.applied;
    return { kind: 'committed', revision, basis, recordedTimeMs: 0, eventCount: 1, storedIds: [] };
  }

  flushInto(): void {}

  flushed(): void {}

  async warm(): Promise<void> {}
}

const machines: Machines = {
  openCatalog: () => new CountingMachine(),
  createDatabase: () => new CountingMachine(),
  markOf: () => ({ ...new CountingMachine().applied, end: 0 }),
  openDatabase: () => new CountingMachine(),
  verify: async () => true,
  audit: async () => undefined,
  withdraw: async () => undefined,
  rebuild: async () => true,
  storedLevel: () => 1,
  storedNodes: () => [],
  levelOf: () => 1,
  encode: () => payload,
  exportState: async () => 'a cluster of one node has nobody to send a state to',
  importState: () => ({ resume: () => payload, take: () => 'a cluster of one node gets no state' }),
  standingOf: () => undefined,
  compareHistory: () => 'same',
  copyOrigin: async () => false,
  recoverInto: () => undefined,
  stamp: () => undefined,
  faultInForwarded: () => undefined,
  isRepeatable: () => true,
  rowsOf: () => ({ gte: payload, lt: payload }),
};

/** A log that counts batches, and reports them all as durable on `sync`. */
class CountingLog implements LogWriter {
  #last: BatchId = 0;
  #durable: BatchId = 0;
  #onPersisted: (through: BatchId, facts: PersistedFacts) => void = () => undefined;

  append(): BatchId {
    this.#last += 1;
    return this.#last;
  }

  onPersisted(listener: (through: BatchId, facts: PersistedFacts) => void): void {
    this.#onPersisted = listener;
  }

  onFatal(): void {}

  async close(): Promise<void> {}

  sync(): void {
    if (this.#durable === this.#last) return;
    this.#durable = this.#last;
    this.#onPersisted(this.#last, { bytes: 0, elapsedMs: 0 });
  }
}

const log = new CountingLog();
const counter = new CoreCounter();
const seen = { settled: 0 };
const core = await opened();
core.onReport((report) => {
  seen.settled += report.settlements.length;
  packReport(report);
  counter.take();
});
console.log(`payload ${payload.length} B, load ${loadavg()[0]?.toFixed(2)}`);
for (const perTurn of [1, 16, 64]) {
  await run(perTurn);
  console.log(`${String(perTurn).padStart(3)} transactions a turn: ${(await run(perTurn)).toFixed(2)} µs each`);
}

async function opened(): Promise<CoreRuntime> {
  const opening = CoreRuntime.open(
    {
      ...clusterOf([NODE], NODE),
      kv: memoryKv(),
      syncStore: async () => undefined,
      log,
      peers: noPeers,
      machines,
      limits: LIMITS,
      clock: { nowMs: () => 0 },
      monotonicMs: () => 0,
      random: { bytes: (count) => new Uint8Array(count) },
      snapshotObserver: unobservedSnapshots,
      observer: counter,
      later: setImmediate,
    },
    { groups: new Map(), tombstones: new Set() },
  );
  const syncing = setInterval(() => log.sync());
  const result = await opening;
  clearInterval(syncing);
  return result;
}

/** Returns the CPU microseconds per transaction. */
async function run(perTurn: number): Promise<number> {
  const turns = Math.ceil(Number(values.transactions) / perTurn);
  seen.settled = 0;
  const before = process.cpuUsage();
  for (let turn = 0; turn < turns; turn += 1) {
    const proposals = Array.from({ length: perTurn }, (_, at) => ({
      token: turn * perTurn + at,
      group: GROUP,
      payload,
      tellsAdmission: false,
      staysHere: false,
    }));
    core.send(unpackCommands(packCommands({ proposals, creates: [], reads: [], shown: 0, follows: false })));
    log.sync();
    await answered((turn + 1) * perTurn);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (turns * perTurn);
}

/** Yields to microtasks until all are settled; the store answers within one or two of them. */
async function answered(count: number): Promise<void> {
  if (seen.settled >= count) return;
  await Promise.resolve();
  log.sync();
  await answered(count);
}

/**
 * Measures the CPU cost of the state machine of a database per event, on one thread: apply and flush including LevelDB
 * batches, but without the writes by LevelDB's own thread. Run it alone.
 *
 *   node --conditions=source bench/database-micro.ts [--events 200000] [--case many]
 *
 * Every event has its own id and subject; all share stream, source and type. It prints microseconds per event for apply
 * + flush, at percentiles over all flushes (other load disturbs the high ones), the total rate including writes, and
 * the CPU time of LevelDB's threads: of the writing threads together, and of the compaction thread, which is assumed to
 * be the busiest one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { encodeUtf8, toLogIndex, toTerm } from '#base';
import type { KvStore } from '#kv';
import { type Constraint, term } from '#model';
import { widenThreadPool } from '../src/main/process/node-pools.ts';
import { CREATED_AT_MS, createMachine, encodeOrder, encodeTransaction, withStore } from './support/database-machine.ts';

const { values } = parseArgs({
  options: { events: { type: 'string', default: '200000' }, case: { type: 'string', default: '' } },
});
const eventsMax = Number(values.events);
const DATA = encodeUtf8(`{"customer":"c-1234","total":"129.90","note":"${'x'.repeat(60)}"}`);

interface Case {
  readonly name: string;
  readonly eventsOfTransaction: number;
  readonly transactionsOfFlush: number;
  readonly conditional: boolean;
  /** Each event has a new subject, or one of a thousand. */
  readonly subjects: 'new' | 'known';
}

const CASES: readonly Case[] = [
  {
    name: 'many: 100 events, 1 transaction a flush',
    eventsOfTransaction: 100,
    transactionsOfFlush: 1,
    conditional: false,
    subjects: 'new',
  },
  {
    name: 'many-gathered: the same, 20 a flush',
    eventsOfTransaction: 100,
    transactionsOfFlush: 20,
    conditional: false,
    subjects: 'new',
  },
  {
    name: 'many-known: 1 a flush, known subjects',
    eventsOfTransaction: 100,
    transactionsOfFlush: 1,
    conditional: false,
    subjects: 'known',
  },
  {
    name: 'one: 1 event, 32 transactions a flush',
    eventsOfTransaction: 1,
    transactionsOfFlush: 32,
    conditional: false,
    subjects: 'new',
  },
  {
    name: 'one-conditional: the same, one constraint',
    eventsOfTransaction: 1,
    transactionsOfFlush: 32,
    conditional: true,
    subjects: 'new',
  },
  {
    name: 'lone-conditional: 1 transaction a flush',
    eventsOfTransaction: 1,
    transactionsOfFlush: 1,
    conditional: true,
    subjects: 'new',
  },
];

widenThreadPool(process.env);
let sequence = 0;

function payload({ eventsOfTransaction, conditional, subjects }: Case): Uint8Array {
  const events: Uint8Array[] = [];
  const constraints: Constraint[] = [];
  for (let index = 0; index < eventsOfTransaction; index++) {
    sequence++;
    const subject = `order-${subjects === 'new' ? sequence : sequence % 1000}`;
    if (conditional) constraints.push({ kind: 'max-revision', revision: 0, selector: term('by-subject', subject) });
    events.push(encodeOrder(sequence, subject, DATA));
  }
  return encodeTransaction(events, constraints, CREATED_AT_MS + Math.floor(sequence / 50));
}

/** Measures each piece of work separately, so that percentiles can exclude those that the machine interrupted. */
class Meter {
  readonly #us: number[] = [];

  run(work: () => void): void {
    const startedMs = performance.now();
    work();
    this.#us.push((performance.now() - startedMs) * 1000);
  }

  /** Percentile of the microseconds per piece of work. */
  percentile(hundredths: number): number {
    const sorted = this.#us.toSorted((left, right) => left - right);
    return sorted[Math.floor((sorted.length * hundredths) / 100)] ?? 0;
  }
}

async function measure(kv: KvStore, group: number, it: Case): Promise<string> {
  const machine = createMachine(kv, group);
  const [apply, flush] = [new Meter(), new Meter()];
  const roundTransactions = Math.max(it.transactionsOfFlush, Math.floor(4000 / it.eventsOfTransaction));
  let writing: Promise<void> = Promise.resolve();
  const before = levelThreads();
  let writeMs = 0;
  let index = 0;
  while (index * it.eventsOfTransaction < eventsMax) {
    const payloads = Array.from({ length: roundTransactions }, () => payload(it));
    const startedMs = performance.now();
    for (let from = 0; from < payloads.length; from += it.transactionsOfFlush) {
      apply.run(() => {
        for (const bytes of payloads.slice(from, from + it.transactionsOfFlush)) {
          index++;
          if (machine.needs(bytes).length > 0) throw new Error('No case has a prefix');
          const outcome = machine.transact({ index: toLogIndex(index), term: toTerm(1), payload: bytes });
          if (outcome.kind !== 'committed') throw new Error(`Expected a commit, found ${JSON.stringify(outcome)}`);
        }
      });
      await writing;
      if (index > it.transactionsOfFlush) machine.flushed();
      const batch = kv.batch();
      flush.run(() => machine.flushInto(batch));
      writing = kv.write(batch);
    }
    writeMs += performance.now() - startedMs;
  }
  await writing;
  const events = index * it.eventsOfTransaction;
  const perPiece = it.eventsOfTransaction * it.transactionsOfFlush;
  const each = (hundredths: number): string => {
    const [applying, flushing] = [apply.percentile(hundredths) / perPiece, flush.percentile(hundredths) / perPiece];
    return `${(applying + flushing).toFixed(2)} (${applying.toFixed(2)} + ${flushing.toFixed(2)})`;
  };
  const rate = Math.round((events / writeMs) * 1000);
  const times = `p25 ${each(25)}, p50 ${each(50)}, p90 ${each(90)} µs an event; ${rate} events/s`;
  return `${it.name.padEnd(44)} ${times}; ${levelTimes(before, events)}`;
}

/** CPU nanoseconds of each thread of libuv's pool, and of threads started by them. */
function levelThreads(): ReadonlyMap<string, number> {
  const threads = readdirSync('/proc/self/task').map((id) => `/proc/self/task/${id}`);
  const pool = threads.filter((path) => readFileSync(`${path}/comm`, 'utf8').startsWith('libuv-worker'));
  return new Map(pool.map((path) => [path, Number(readFileSync(`${path}/schedstat`, 'utf8').split(' ')[0])]));
}

function levelTimes(before: ReadonlyMap<string, number>, events: number): string {
  const each = [...levelThreads()].map(([path, used]) => (used - (before.get(path) ?? 0)) / 1000 / events);
  const compacting = Math.max(...each);
  const writing = each.reduce((sum, micros) => sum + micros, -compacting);
  return `LevelDB writing ${writing.toFixed(2)}, compacting ${compacting.toFixed(2)} µs an event`;
}

await withStore(async (kv) => {
  for (const [place, it] of CASES.entries()) {
    if (it.name.startsWith(values.case)) console.log(await measure(kv, place + 1, it));
  }
});

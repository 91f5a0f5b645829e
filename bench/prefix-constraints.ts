/**
 * Measures constraints on prefixes at the point where they are evaluated: the wall time and CPU time for which the
 * group of a database is blocked while one entry is applied.
 *
 *   node --conditions=source bench/prefix-constraints.ts [--subjects 200000] [--repeats 5]
 *
 * The database starts with ten subjects `rare-…`. Half of the other subjects are `old-…`, then half are `new-…`, a
 * thousand per transaction, and each transaction also has one event of the subject `spread`. It ends with a thousand
 * transactions of one event of `new-…`.
 */
import { parseArgs } from 'node:util';
import { encodeUtf8, toLogIndex, toTerm } from '#base';
import type { DatabaseMachine } from '#database';
import type { KvStore } from '#kv';
import { and, or, type Selector, term } from '#model';
import { CREATED_AT_MS, createMachine, encodeOrder, encodeTransaction, withStore } from './support/database-machine.ts';

const { values } = parseArgs({
  options: { subjects: { type: 'string', default: '200000' }, repeats: { type: 'string', default: '5' } },
});
const subjects = Number(values.subjects);
const repeats = Number(values.repeats);
const DATA = encodeUtf8(`{"note":"${'x'.repeat(100)}"}`);
const EVENTS_OF_TRANSACTION = 1000;
const ALTERNATIVES = 255;

const old = (end: string): Selector => term('by-subject-prefix', `old-${end}`);

const CASES: readonly (readonly [string, Selector])[] = [
  ['few and old: 10 subjects', term('by-subject-prefix', 'rare-')],
  ['many and new: half of all', term('by-subject-prefix', 'new-')],
  ['many and old: half of all', old('')],
  ['the same, of no such type', and([old(''), term('by-type', 'nosuch')])],
  ['none of the subject spread', and([term('by-type-prefix', 'nosuch'), term('by-subject', 'spread')])],
  [`${ALTERNATIVES} of old-100 … old-354`, or(Array.from({ length: ALTERNATIVES }, (_, n) => old(String(100 + n))))],
];

let sequence = 0;

function payload(names: readonly string[], selector?: Selector): Uint8Array {
  const events = names.map((subject) => encodeOrder(++sequence, subject, DATA));
  const constraints = selector === undefined ? [] : [{ kind: 'max-revision', revision: 0, selector } as const];
  return encodeTransaction(events, constraints, CREATED_AT_MS + sequence);
}

async function fill(kv: KvStore, machine: DatabaseMachine): Promise<void> {
  let index = 0;
  const commit = async (names: readonly string[]): Promise<void> => {
    index++;
    machine.transact({ index: toLogIndex(index), term: toTerm(1), payload: payload(names) });
    const batch = kv.batch();
    machine.flushInto(batch);
    await kv.write(batch);
    machine.flushed();
  };
  await commit(Array.from({ length: 10 }, (_, n) => `rare-${n}`));
  for (const kind of ['old', 'new']) {
    for (let from = 0; from < subjects / 2; from += EVENTS_OF_TRANSACTION) {
      await commit(Array.from({ length: EVENTS_OF_TRANSACTION }, (_, n) => `${kind}-${from + n}`));
      await commit(['spread']);
    }
  }
  for (let n = 0; n < 1000; n++) await commit([`new-${n}`]);
}

async function measure(machine: DatabaseMachine, name: string, selector: Selector): Promise<string> {
  const ms: number[] = [];
  const cpuMs: number[] = [];
  let answer = '';
  for (let repeat = 0; repeat < repeats; repeat++) {
    const needs = machine.needs(payload(['x'], selector));
    const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()];
    const found = await machine.answer(needs);
    ms.push(performance.now() - startedMs);
    const { user, system } = process.cpuUsage(startedCpu);
    cpuMs.push((user + system) / 1000);
    answer = `${needs.length} asked, ${found.slice(0, 2).join(' ')} first`;
  }
  const median = (list: readonly number[]): string =>
    (list.toSorted((left, right) => left - right)[Math.floor(list.length / 2)] ?? 0).toFixed(2);
  return `${name.padEnd(28)} ${median(ms).padStart(10)} ms, ${median(cpuMs).padStart(10)} ms of CPU (${answer})`;
}

await withStore(async (kv) => {
  const machine = createMachine(kv, 1);
  await fill(kv, machine);
  for (const [name, selector] of CASES) console.log(await measure(machine, name, selector));
});

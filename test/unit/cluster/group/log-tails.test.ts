// Goal: a tail returns applied entries unchanged, or reports that they are gone; all tails together keep to their
// limit. Method: random groups that apply, end and load, compared with a list of all entries.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toGroupId, toLogIndex, toReplicaId, toTerm } from '#base';
import { type Entry, membershipOf, ORIGIN } from '#raft';
import { Group } from '../../../../src/cluster/group/group.ts';
import { LogTails } from '../../../../src/cluster/group/log-tails.ts';
import { LossyKv } from '../../../support/cluster/lossy-kv.ts';
import { databaseKit } from '../../../support/cluster/machine-kit.ts';
import { openFirstReplica } from '../../../support/raft/first-replica.ts';

const replica = toReplicaId(2);
const BYTES_MAX = 2000;

function groupOf(id: number): Group {
  const founders = membershipOf([toReplicaId(1), replica]);
  const machine = databaseKit.machines.openCatalog(new LossyKv(), founders);
  const recovered = { hardState: { term: toTerm(0), vote: undefined }, base: ORIGIN, entries: [] };
  return new Group(
    { id: toGroupId(id), title: 'database', waits: () => undefined },
    openFirstReplica(founders, recovered),
    machine,
  );
}

const apply = fc.record({ at: fc.nat(2), bytes: fc.nat(300), count: fc.integer({ min: 1, max: 4 }) });
const load = fc.record({ at: fc.nat(2), from: fc.integer({ min: 1, max: 25 }), bytesMax: fc.nat(900) });

class Everything {
  readonly counts = { found: 0, gone: 0 };
  readonly faults: string[] = [];
  readonly #tails = new LogTails(BYTES_MAX);
  readonly #logs = [0, 1, 2].map((id) => ({ group: groupOf(id), entries: [] as Entry[] }));

  constructor() {
    for (const { group } of this.#logs) this.#tails.begin(group, ORIGIN, []);
  }

  apply({ at, bytes, count }: { readonly at: number; readonly bytes: number; readonly count: number }): void {
    const log = this.#log(at);
    const added = Array.from({ length: count }, (_, place) => {
      const index = log.entries.length + place + 1;
      return { index: toLogIndex(index), term: toTerm(1 + Math.floor(index / 5)), payload: new Uint8Array(bytes) };
    });
    log.entries.push(...added);
    this.#tails.add(log.group, added);
  }

  load({ at, from, bytesMax }: { readonly at: number; readonly from: number; readonly bytesMax: number }): void {
    const { group, entries } = this.#log(at);
    if (from > entries.length) return;
    const to = toLogIndex(entries.length + 1);
    const { found } = this.#tails.load(group, { kind: 'load-entries', replica, from: toLogIndex(from), to, bytesMax });
    if (found === undefined) {
      this.counts.gone += 1;
      const all = this.#logs.flatMap((log) => log.entries);
      if (all.reduce((sum, { payload }) => sum + payload.length + 64, 0) <= BYTES_MAX)
        this.faults.push('gone too early');
      return;
    }
    this.counts.found += 1;
    const wanted = entries.slice(from - 1, from - 1 + found.entries.length);
    if (!wanted.every((entry, place) => entry === found.entries[place])) this.faults.push('other entries');
    if (found.previousTerm !== (entries[from - 2]?.term ?? 0)) this.faults.push(`the term ${found.previousTerm}`);
    const bytes = found.entries.reduce((sum, { payload }) => sum + payload.length, 0);
    if (found.entries.length === 0 || (bytes > bytesMax && found.entries.length > 1))
      this.faults.push(`${bytes} bytes`);
  }

  #log(at: number): { readonly group: Group; readonly entries: Entry[] } {
    const log = this.#logs[at];
    if (log === undefined) throw new Error(`There is no group ${at}`);
    return log;
  }
}

it('the tails of the logs return applied entries, or nothing', () => {
  const counts = { found: 0, gone: 0 };
  fc.assert(
    fc.property(fc.array(fc.tuple(apply, load), { minLength: 20, maxLength: 60, size: 'max' }), (actions) => {
      const everything = new Everything();
      for (const [applied, loaded] of actions) {
        everything.apply(applied);
        everything.load(loaded);
      }
      expect(everything.faults).toEqual([]);
      counts.found += everything.counts.found;
      counts.gone += everything.counts.gone;
    }),
  );
  expect(Math.min(counts.found, counts.gone)).toBeGreaterThan(10);
});

it('the tails of the logs drop a group that ended, and keep the others', () => {
  const tails = new LogTails(BYTES_MAX);
  const [one, other] = [groupOf(1), groupOf(2)];
  const entries = [1, 2].map((index) => ({
    index: toLogIndex(index),
    term: toTerm(1),
    payload: new Uint8Array(900),
  }));
  for (const group of [one, other]) tails.begin(group, ORIGIN, entries.slice(0, 1));
  tails.end(one);
  tails.end(one);
  tails.add(other, entries.slice(1));
  const ask = { kind: 'load-entries', replica, from: toLogIndex(1), to: toLogIndex(3), bytesMax: 5000 } as const;
  expect(tails.load(other, ask).found?.entries).toEqual(entries);
  expect(tails.load(one, ask).found).toBeUndefined();
});

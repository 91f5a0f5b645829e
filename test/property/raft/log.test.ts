// Goal: the log in runs behaves like a plain array of entries, and older versions of it do not change. Method: random
// appends, completions and releases against an array, comparing every read after every operation.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { toLogIndex, toTerm } from '#base';
import { type Entry, ORIGIN } from '#raft';
import { memoryBytes, payloadBytes } from '../../../src/raft/entry.ts';
import {
  append,
  chunk,
  type Log,
  lastId,
  lastWithin,
  markPersisted,
  recoveredLog,
  releaseFor,
  releaseThrough,
  slice,
  termAt,
  truncateFrom,
} from '../../../src/raft/log.ts';
import { runs } from '../../support/runs.ts';

const operation = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 0, max: 5 }), term: fc.nat(1) }),
  fc.record({ kind: fc.constant('persist' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant('truncate' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant('release' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
);

function entriesAfter(all: readonly Entry[], count: number, termStep: number): readonly Entry[] {
  const last = all.at(-1) ?? ORIGIN;
  return Array.from({ length: count }, (_, at) => ({
    index: toLogIndex(last.index + 1 + at),
    term: toTerm(Math.max(1, last.term + termStep)),
    payload: new Uint8Array(at),
  }));
}

function readings(log: Log, all: readonly Entry[]): unknown {
  const inMemory = all.slice(log.base.index);
  const middle = log.base.index + 1 + Math.floor(inMemory.length / 2);
  return {
    last: lastId(log).index,
    terms: [...all, { index: toLogIndex(all.length + 1) }].map(({ index }) => termAt(log, index)),
    whole: slice(log, log.base.index + 1, all.length + 1),
    tail: slice(log, middle, all.length + 1),
    head: slice(log, log.base.index + 1, middle),
    bytes: log.bytes,
    persistedIsInside: log.persisted >= log.base.index && log.persisted <= all.length,
    chunks: all.slice(log.base.index).map(({ index }) => chunk(log, index, 3)),
    within: [0, 1, 2, 3].map(
      (term) => lastWithin(log, { index: toLogIndex(all.length + 2), term: toTerm(term) }).index,
    ),
    released: [0, 100, 200, 1000].map((bytesMax) => releaseFor(log, bytesMax, log.persisted)),
  };
}

function expected(log: Log, all: readonly Entry[]): unknown {
  const inMemory = all.slice(log.base.index);
  const middle = Math.floor(inMemory.length / 2);
  return {
    last: all.length,
    terms: [...all.map((entry) => (entry.index >= log.base.index ? entry.term : undefined)), undefined],
    whole: inMemory,
    tail: inMemory.slice(middle),
    head: inMemory.slice(0, middle),
    bytes: memoryBytes(inMemory),
    persistedIsInside: true,
    chunks: inMemory.map((_, at) => fitting(inMemory.slice(at), 3)),
    within: [0, 1, 2, 3].map((term) => inMemory.findLast((entry) => entry.term <= term)?.index ?? log.base.index),
    released: [0, 100, 200, 1000].map((bytesMax) => {
      const durable = inMemory.filter(({ index }) => index <= log.persisted);
      const count = durable.findIndex((_, at) => memoryBytes(inMemory.slice(at)) <= bytesMax);
      return log.base.index + (count === -1 ? durable.length : count);
    }),
  };
}

/** The first entry, and more as long as their payloads fit into `bytesMax`. */
function fitting(entries: readonly Entry[], bytesMax: number): readonly Entry[] {
  let count = 1;
  while (count < entries.length && payloadBytes(entries.slice(0, count + 1)) <= bytesMax) count += 1;
  return entries.slice(0, count);
}

it('log (R2, R3) reads like an array of its entries', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
      let log = recoveredLog(ORIGIN, []);
      let all: readonly Entry[] = [];
      const versions: (readonly [Log, readonly Entry[]])[] = [];
      for (const each of operations) {
        if (each.kind === 'append') {
          const entries = entriesAfter(all, each.count, each.term);
          log = append(log, entries);
          all = [...all, ...entries];
        }
        if (each.kind === 'persist') log = markPersisted(log, toLogIndex(Math.floor(each.share * all.length)));
        if (each.kind === 'truncate' && all.length > log.base.index) {
          const from = log.base.index + 1 + Math.floor(each.share * (all.length - log.base.index - 1));
          log = truncateFrom(log, toLogIndex(from));
          all = all.slice(0, from - 1);
        }
        if (each.kind === 'release') log = releaseThrough(log, toLogIndex(Math.floor(each.share * log.persisted)));
        versions.push([log, all]);
      }
      for (const [version, entries] of versions) expect(readings(version, entries)).toEqual(expected(version, entries));
    }),
    { numRuns: runs(200) },
  );
});

it('log (R2, R3) keeps few runs however the entries arrive', () => {
  let log = recoveredLog(ORIGIN, []);
  let all: readonly Entry[] = [];
  for (let at = 0; at < 1000; at += 1) {
    const entries = entriesAfter(all, 1 + (at % 3), 0);
    log = append(log, entries);
    all = [...all, ...entries];
  }
  expect(all.length).toBe(1999);
  expect(log.runs.length).toBeLessThanOrEqual(11);
});

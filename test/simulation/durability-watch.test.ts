/**
 * Tests DurabilityWatch: it reads the content of a disk only from the bytes, and detects replicas that promise or apply
 * entries that are not on disk.
 */
import { describe, expect, it } from 'vitest';
import { NO_BYTES, replicaOf, toGroupId, toLogIndex, toNodeId, toRevision, toTerm } from '#base';
import { NO_CHECKPOINT, RecordWriter, Wal } from '#storage';
import { SimDisk } from './disk/sim-disk.ts';
import { Rng } from './engine/random.ts';
import { DurabilityWatch } from './invariants/durability-watch.ts';
import type { SaidMessage, SaidVoters } from './invariants/raft-watch.ts';

const IDENTITY = { clusterId: new Uint8Array(16).fill(1), storeId: new Uint8Array(16).fill(2) };
const GROUP = toGroupId(7);
const FIRST = toNodeId(1);
const [ONE, TWO, THREE, FOUR] = [replicaOf(FIRST), ...[2, 3, 4].map((node) => replicaOf(toNodeId(node)))] as const;
const ALL: SaidVoters = { incoming: [ONE, TWO ?? 0, THREE ?? 0], outgoing: [] };
const WORD: SaidMessage = {
  group: GROUP,
  from: ONE,
  to: TWO ?? 0,
  kind: 'append-ack',
  term: 5,
  isGranted: false,
  previous: undefined,
  entries: [],
};

/** Four disks with logs that the real log wrote. */
class Stage {
  readonly faults: string[] = [];
  readonly watch = new DurabilityWatch((fault) => this.faults.push(fault.split(':')[0] ?? ''));
  readonly disks = [1, 2, 3, 4].map((node) => new SimDisk(new Rng(node, 'disk')));
  readonly #logs: readonly Wal[];

  constructor() {
    this.#logs = this.disks.map((disk) => Wal.open('log', { identity: IDENTITY, segmentBytes: 32_768, disk }).wal);
    this.disks.forEach((disk, place) => this.watch.isOn(toNodeId(place + 1), disk));
    this.say({ kind: 'append', entries: [1, 2, 3].map((index) => ({ index, term: index, digest: 0 })) });
  }

  /** Writes records to the log of a node and syncs it. */
  write(node: number, records: (writer: RecordWriter) => void): this {
    const writer = new RecordWriter();
    records(writer);
    this.#logs[node - 1]?.append([writer.take()]);
    this.#logs[node - 1]?.tidy();
    return this;
  }

  /** Writes entries up to an index, each with the term of its index. */
  hold(node: number, through: number): this {
    return this.write(node, (writer) => {
      writer.hardState(GROUP, { term: toTerm(5), vote: ONE });
      for (let index = 1; index <= through; index += 1) entry(writer, index, index);
    });
  }

  say(message: Partial<SaidMessage>): this {
    this.watch.said({ ...WORD, ...message });
    return this;
  }

  apply(index: number, voters?: SaidVoters): this {
    this.watch.applied(GROUP, { index, term: index, digest: 0, voters }, FIRST);
    return this;
  }

  lie(): this {
    this.disks[0]?.flip('.wal');
    return this;
  }
}

function entry(writer: RecordWriter, index: number, term: number): void {
  writer.entry(GROUP, { index: toLogIndex(index), term: toTerm(term), payload: NO_BYTES });
}

describe('DurabilityWatch', () => {
  const LOG_START = (writer: RecordWriter): void => {
    writer.hardState(GROUP, { term: toTerm(5), vote: 0 });
    writer.logStart(GROUP, { ...NO_CHECKPOINT, index: toLogIndex(3), term: toTerm(3), revision: toRevision(1) });
  };
  const HALF: SaidVoters = { incoming: [FOUR ?? 0], outgoing: [] };

  it.each<[what: string, faults: readonly string[], happens: (stage: Stage) => unknown]>([
    ['nothing wrong with an acknowledgement of what is on disk', [], (stage) => stage.hold(1, 3).say({ match: 3 })],
    ['an acknowledgement of an entry that is not on disk', ['I6'], (stage) => stage.hold(1, 2).say({ match: 3 })],
    [
      'an acknowledgement of an entry in whose place the disk has that of another leader',
      ['I6'],
      (stage) =>
        stage
          .hold(1, 2)
          .write(1, (writer) => entry(writer, 3, 4))
          .say({ match: 3 }),
    ],
    [
      'an acknowledgement of what was cut off since',
      ['I6'],
      (stage) =>
        stage
          .hold(1, 3)
          .write(1, (writer) => writer.truncateFrom(GROUP, toLogIndex(2)))
          .say({ match: 2 }),
    ],
    [
      'an acknowledgement of a replica whose log has ended',
      ['I10'],
      (stage) =>
        stage
          .hold(1, 3)
          .say({ match: 3 })
          .write(1, (writer) => writer.groupTombstone(GROUP))
          .say({ match: 3 }),
    ],
    ['nothing wrong with what precedes a log', [], (stage) => stage.write(1, LOG_START).say({ match: 3 })],
    ['nothing wrong with a disk that has lied', [], (stage) => stage.hold(1, 2).lie().say({ match: 3 })],
    [
      'a vote that is not on disk, given or asked for',
      ['I7', 'I7'],
      (stage) =>
        stage
          .hold(1, 1)
          .say({ kind: 'vote-request' })
          .say({ kind: 'vote-reply', isGranted: true })
          .say({ kind: 'vote-request', term: 6 }),
    ],
    ['an entry that is applied and not on disk', ['I8'], (stage) => stage.hold(1, 1).apply(1).apply(2)],
    [
      'an entry that is on the disks of one voter and of learners',
      ['I9'],
      (stage) => stage.hold(1, 3).hold(2, 2).hold(3, 1).hold(4, 3).apply(1, ALL).apply(2).apply(3),
    ],
    [
      'an entry that only one half of a change holds',
      ['I9'],
      (stage) =>
        stage
          .hold(1, 3)
          .hold(2, 3)
          .apply(1, { ...HALF, outgoing: ALL.incoming })
          .apply(2, HALF),
    ],
  ])('finds %s', (_what, expected, happens) => {
    const stage = new Stage();
    happens(stage);
    expect(stage.faults).toEqual(expected);
  });

  it('reads every batch that the log writes, masked ones and those of later segments too', () => {
    const stage = new Stage();
    stage.write(1, (writer) => writer.hardState(GROUP, { term: toTerm(5), vote: 0 }));
    for (let index = 1; index <= 300; index += 1) {
      stage.write(1, (writer) => {
        const payload = new Uint8Array(index % 3 === 0 ? 1500 : 5).fill(index % 2);
        writer.entry(GROUP, { index: toLogIndex(index), term: toTerm(5), payload });
      });
    }
    const held = stage.disks[0]?.held.group(GROUP);
    const missing = Array.from({ length: 300 }, (_, place) => place + 1).filter(
      (index) => held?.holds({ index, term: 5 }) !== true,
    );
    expect(missing).toEqual([]);
    expect(held?.holds({ index: 301, term: 5 })).toBe(false);
  });
});

// A simple model of the log: a list of records that is folded again for each query. Tests compare it with the state
// that the real log recovers, and draw random records that a correct user of the log could append.
import { crc32, NO_BYTES, toGroupId, toLogIndex, toRevision, toTerm } from '#base';
import { encodeMembership, type Membership, membershipOf, type ReplicaId, toReplicaId } from '#raft';
import { type Checkpoint, type EncodedRecords, NO_CHECKPOINT, RecordWriter, type RecoveredLog } from '#storage';
import type { LeveledEntry, LogRecord } from '../../src/storage/log-records.ts';

interface ModelEntry {
  readonly term: number;
  readonly index: number;
  readonly level: number;
  /** Length and checksum, which identify the payload and are short enough to print. */
  readonly payload: string;
  /** Members of the group from this entry on, if it changes them. */
  readonly membership: string;
}

interface ModelGroup {
  readonly hardState: { readonly term: number; readonly vote: number };
  readonly checkpoint: Checkpoint;
  readonly entries: readonly ModelEntry[];
}

/** Content of a log, in a form that can be compared and printed. */
export interface ModelState {
  readonly groups: Readonly<Record<number, ModelGroup>>;
  readonly tombstones: readonly number[];
}

const EMPTY: ModelGroup = { hardState: { term: 0, vote: 0 }, checkpoint: NO_CHECKPOINT, entries: [] };

/** Computes the state after these records. */
export function fold(records: readonly LogRecord[]): ModelState {
  const groups: Record<number, ModelGroup> = {};
  const tombstones = new Set<number>();
  for (const record of records) {
    if (record.kind === 'group-summary' || record.kind === 'tombstones') throw new Error('Nobody appends a summary');
    if (record.kind === 'group-tombstone') {
      delete groups[record.group];
      tombstones.add(record.group);
    } else {
      // A new replica of an ended group starts.
      tombstones.delete(record.group);
      groups[record.group] = next(groups[record.group] ?? EMPTY, record);
    }
  }
  return { groups, tombstones: [...tombstones].toSorted((a, b) => a - b) };
}

function next(group: ModelGroup, record: LogRecord): ModelGroup {
  switch (record.kind) {
    case 'entry':
      return { ...group, entries: [...group.entries, modelEntry(record)] };
    case 'hard-state':
      return { ...group, hardState: { ...record.hardState } };
    case 'truncate-from':
      return { ...group, entries: group.entries.filter((entry) => entry.index < record.index) };
    case 'checkpoint': {
      const checkpoint = { ...record.checkpoint };
      return { ...group, checkpoint, entries: group.entries.filter((entry) => entry.index > checkpoint.index) };
    }
    case 'log-start':
      return { ...group, checkpoint: { ...record.checkpoint }, entries: [] };
    case 'group-tombstone':
    case 'group-summary':
    case 'tombstones':
      return group;
  }
}

/** The recovered state, in the form of `fold`. */
export function stateOf(recovered: RecoveredLog): ModelState {
  const groups: Record<number, ModelGroup> = {};
  for (const { group, hardState, checkpoint, entries } of recovered.groups.values()) {
    groups[group] = { hardState: { ...hardState }, checkpoint: { ...checkpoint }, entries: entries.map(modelEntry) };
  }
  return { groups, tombstones: [...recovered.tombstones].toSorted((a, b) => a - b) };
}

function modelEntry(entry: LeveledEntry): ModelEntry {
  const { term, index, level, payload, membership } = entry;
  const members = membership === undefined ? '' : encodeMembership(membership).join(' ');
  return { term, index, level, payload: `${payload.length} bytes, ${crc32(payload)}`, membership: members };
}

export function encode(records: readonly LogRecord[]): EncodedRecords {
  const writer = new RecordWriter();
  for (const record of records) write(writer, record);
  return writer.take();
}

function write(writer: RecordWriter, record: LogRecord): void {
  switch (record.kind) {
    case 'entry':
      return writer.entry(record.group, record, record.level);
    case 'hard-state':
      return writer.hardState(record.group, record.hardState);
    case 'truncate-from':
      return writer.truncateFrom(record.group, record.index);
    case 'checkpoint':
      return writer.checkpoint(record.group, record.checkpoint);
    case 'log-start':
      return writer.logStart(record.group, record.checkpoint);
    case 'group-tombstone':
      return writer.groupTombstone(record.group);
    case 'group-summary':
      return writer.groupSummary(record.summary, record.chain);
    case 'tombstones':
      return writer.tombstones(record.groups);
  }
}

/** A random integer in [0, below). */
export type Draw = (below: number) => number;

/** mulberry32, a small generator with a seed. */
export function seededDraw(seed: number): Draw {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface SourceGroup {
  readonly id: number;
  term: number;
  checkpoint: number;
  revision: number;
  /** End of its history. */
  end: number;
  /** Terms of the entries after the checkpoint. */
  readonly terms: number[];
}

/** Draws records that a correct user of the log could append next. */
export class RecordSource {
  readonly #draw: Draw;
  readonly #payloadBytesMax: number;
  readonly #groups: (SourceGroup | undefined)[];
  #created: number;
  readonly #ended: number[] = [];

  constructor(
    draw: Draw,
    options: { readonly groups: number; readonly payloadBytesMax: number; readonly firstGroup?: number },
  ) {
    this.#draw = draw;
    this.#payloadBytesMax = options.payloadBytesMax;
    this.#created = options.firstGroup ?? 0;
    this.#groups = Array.from({ length: options.groups }, () => undefined);
  }

  batch(count: number): readonly LogRecord[] {
    return Array.from({ length: count }, () => this.#record());
  }

  #record(): LogRecord {
    const place = this.#draw(this.#groups.length);
    const group = this.#groups[place];
    if (group === undefined) return this.#create(place);
    const choice = this.#draw(100);
    if (choice < 2) {
      this.#groups[place] = undefined;
      this.#ended.push(group.id);
      return { kind: 'group-tombstone', group: toGroupId(group.id) };
    }
    if (choice < 8) return this.#vote(group);
    if (choice < 14 && group.terms.length > 0) return this.#truncate(group);
    if (choice < 28 && group.terms.length > 0) return this.#checkpoint(group);
    if (choice < 32) return this.#start(group);
    return this.#entry(group);
  }

  /** A new group, or a new replica of an ended one. */
  #create(place: number): LogRecord {
    const again = this.#ended.length > 1 ? this.#ended.shift() : undefined;
    const id = again ?? this.#created;
    if (again === undefined) this.#created += 1;
    this.#groups[place] = { id, term: 1, checkpoint: 0, revision: 0, end: 0, terms: [] };
    return { kind: 'hard-state', group: toGroupId(id), hardState: { term: toTerm(1), vote: 1 } };
  }

  #vote(group: SourceGroup): LogRecord {
    group.term += 1 + this.#draw(3);
    const hardState = { term: toTerm(group.term), vote: this.#draw(3) };
    return { kind: 'hard-state', group: toGroupId(group.id), hardState };
  }

  #truncate(group: SourceGroup): LogRecord {
    group.terms.length = this.#draw(group.terms.length);
    const index = toLogIndex(group.checkpoint + group.terms.length + 1);
    return { kind: 'truncate-from', group: toGroupId(group.id), index };
  }

  #checkpoint(group: SourceGroup): LogRecord {
    const passed = group.terms.splice(0, 1 + this.#draw(group.terms.length));
    group.checkpoint += passed.length;
    group.revision += this.#draw(passed.length + 1);
    return { kind: 'checkpoint', group: toGroupId(group.id), checkpoint: this.#state(group, passed.at(-1) ?? 0) };
  }

  /** A start after every checkpoint of the group, possibly after its last entry. */
  #start(group: SourceGroup): LogRecord {
    group.checkpoint += this.#draw(2 * group.terms.length + 3);
    group.terms.length = 0;
    group.revision += this.#draw(3);
    return { kind: 'log-start', group: toGroupId(group.id), checkpoint: this.#state(group, group.term) };
  }

  #state(group: SourceGroup, term: number): Checkpoint {
    group.end += this.#draw(2 ** 30);
    const [index, revision] = [toLogIndex(group.checkpoint), toRevision(group.revision)];
    const logStart = toLogIndex(this.#draw(index + 1));
    const members = { index: toLogIndex(this.#draw(index + 1)), membership: encodeMembership(this.#membership()) };
    const history = { end: group.end, crc: this.#draw(2 ** 32) };
    return { index, term: toTerm(term), revision, logStart, group: members, history };
  }

  #entry(group: SourceGroup): LogRecord {
    group.terms.push(group.term);
    const index = toLogIndex(group.checkpoint + group.terms.length);
    const level = 1 + this.#draw(3);
    const entry = { kind: 'entry', group: toGroupId(group.id), level, term: toTerm(group.term), index } as const;
    if (this.#draw(12) === 0) return { ...entry, payload: NO_BYTES, membership: this.#membership() };
    return { ...entry, payload: this.#payload() };
  }

  /** One to five voters with random numbers, possibly in a joint membership, and up to two learners. */
  #membership(): Membership {
    const first = 1 + this.#draw(2 ** 30);
    const replicas = (count: number, from: number): readonly ReplicaId[] =>
      Array.from({ length: count }, (_, at) => toReplicaId(from + at * 2 ** 20));
    const { voters, learners } = membershipOf(replicas(1 + this.#draw(5), first), replicas(this.#draw(3), first + 1));
    const outgoing = this.#draw(2) === 0 ? [] : replicas(1 + this.#draw(3), first + 2);
    return { voters: { ...voters, outgoing }, learners, learnersNext: outgoing.slice(0, this.#draw(2)) };
  }

  /** Random bytes; or zeros, which look like lost sectors; or zeros with a single bit. */
  #payload(): Uint8Array {
    const bytes = new Uint8Array(this.#draw(this.#payloadBytesMax + 1));
    const kind = this.#draw(5);
    if (kind === 0) return bytes;
    if (kind === 1 && bytes.length > 0) bytes[this.#draw(bytes.length)] = 1;
    else for (let at = 0; at < bytes.length; at++) bytes[at] = this.#draw(256);
    return bytes;
  }
}

/** Adapts the machines of #database to the interface of the runtime (machine.ts). */
import { assert, CATALOG_GROUP, type GroupId, LEVEL_FIRST, NO_BYTES, type NodeId } from '#base';
import {
  type Applied,
  auditDatabase,
  type CatalogDifference,
  CatalogExport,
  CatalogImport,
  CatalogMachine,
  type CheckedRecords,
  compareHistory,
  copyRows,
  DatabaseMachine,
  DatabaseReader,
  type DatabaseSource,
  decodePoint,
  differenceBetween,
  encodeCatalogEntry,
  encodePoint,
  faultInForwardedEntry,
  HistoryExport,
  HistoryImport,
  type HistoryPoint,
  type HistoryVerdict,
  type MachineOptions,
  type NewDatabase,
  type RangeNeed,
  type Recovery,
  RowKeys,
  readLevel,
  readNodes,
  rebuildDerived,
  recoverInto,
  rootOf,
  verifyHistory,
} from '#database';
import { KeyWriter, type KvBatch, type KvReader } from '#kv';
import {
  type ApiKey,
  decodeDefinitionEntry,
  definesSomething,
  faultInTransactPayload,
  stampDefinitionEntry,
  stampPayload,
} from '#model';
import { decodeMembership, encodeMembership, membershipOf } from '#raft';
import type {
  AppliedMark,
  CatalogMachine as CatalogPort,
  HeldMembership,
  Machine,
  MachineEntry,
  Machines,
} from './machine.ts';
import type { Binding, Outcome, RegisteredNode } from './outcome.ts';
import type { CheckedPart, StateImport, StatePart } from './state-transfer.ts';
import { nativeSha256 } from './system-ports.ts';

/** First byte of the keys of a group; the group follows, 4 bytes big-endian. */
const GROUP_ROWS = 0x01;

/** The production machines, with the digests of this platform. */
export const databaseMachines: Machines = machinesWith({});

/** Machines with other limits, for tests. */
export function machinesWith(options: Pick<MachineOptions, 'segmentBytes'>): Machines {
  return {
    openCatalog: (kv, founders) =>
      new CatalogAdapter(CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), encodeMembership(founders))),
    storedLevel: (kv) => readLevel(kv, new RowKeys(CATALOG_GROUP).level()),
    storedNodes: (kv) => readNodes(kv, new RowKeys(CATALOG_GROUP).nodes()),
    createDatabase: (kv, binding) =>
      new DatabaseAdapter(DatabaseMachine.create(sourceOf(kv, binding.group), newDatabaseOf(binding), options)),
    markOf: (kv, group) => new DatabaseReader(sourceOf(kv, group)).applied(),
    openDatabase: (kv, group) => {
      const machine = DatabaseMachine.open(sourceOf(kv, group), options);
      return machine === undefined ? undefined : new DatabaseAdapter(machine);
    },
    verify: async (kv, group, durable) => {
      return (await verifyHistory(sourceOf(kv, group), durable)) === undefined;
    },
    audit: (kv, group) => auditDatabase({ kv, group }),
    rebuild: ({ kv, syncStore }, binding, durable) => {
      const target = { durable, created: newDatabaseOf(binding), syncStore, ...options };
      return rebuildDerived(kv, sourceOf(kv, binding.group), target);
    },
    standingOf: (kv, group) => new DatabaseReader(sourceOf(kv, group)).applied(),
    copyOrigin: (kv, binding, goesOn) =>
      copyRows(kv, sourceOf(kv, recoveryOf(binding).group), sourceOf(kv, binding.group), goesOn),
    recoverInto: (batch, kv, binding) => {
      const { group, rootId } = recoveryOf(binding);
      const { databaseId, membership } = newDatabaseOf(binding);
      recoverInto(batch, sourceOf(kv, group), sourceOf(kv, binding.group), { databaseId, rootId, membership });
    },
    exportState: async (kv, group, standing) => {
      const source = sourceOf(kv, group);
      const from = group === CATALOG_GROUP ? await CatalogExport.open(source) : HistoryExport.open(source, standing);
      if (typeof from === 'string') return from;
      return { members: held(from.group), next: async (bytesMax) => from.next(bytesMax) };
    },
    compareHistory: (kv, group, machine, bytes) => {
      const point = decodePoint(bytes);
      if (point === undefined) return 'beyond';
      return machine instanceof CatalogAdapter ? machine.compare(point) : compareHistory(sourceOf(kv, group), point);
    },
    importState: (kv, group, machine) => {
      const source = sourceOf(kv, group);
      if (group === CATALOG_GROUP) return new CatalogParts(source);
      assert(machine instanceof DatabaseAdapter, 'A group other than the catalog is a database', group);
      return new HistoryParts(new HistoryImport(source, machine.state));
    },
    faultInForwarded: (group, payload) =>
      group === CATALOG_GROUP ? faultInForwardedEntry(payload) : faultInDatabaseEntry(payload),
    isRepeatable: (group, payload) => group !== CATALOG_GROUP && !definesSomething(payload),
    stamp: (payload, recordedTimeMs) => {
      if (definesSomething(payload)) stampDefinitionEntry(payload, recordedTimeMs);
      else stampPayload(payload, recordedTimeMs);
    },
    encode: encodeCatalogEntry,
    // The format of a payload equals its feature level.
    levelOf: (payload) => payload[0] ?? LEVEL_FIRST,
    rowsOf: (group) => ({ gte: groupPrefix(group), lt: groupPrefix(group + 1) }),
  };
}

class DatabaseAdapter implements Machine {
  readonly #machine: DatabaseMachine;

  constructor(machine: DatabaseMachine) {
    this.#machine = machine;
  }

  get applied(): AppliedMark {
    return this.#machine.applied;
  }

  get members(): HeldMembership {
    return held(this.#machine.applied.group);
  }

  get state(): Applied {
    return this.#machine.applied;
  }

  get standing(): Uint8Array {
    return encodePoint(this.#machine.applied);
  }

  get recordedTimeMs(): number {
    return this.#machine.recordedTimeMs;
  }

  needs(payload: Uint8Array): readonly RangeNeed[] {
    return payload.length === 0 || definesSomething(payload) ? [] : this.#machine.needs(payload);
  }

  async answer(needs: readonly RangeNeed[]): Promise<readonly number[]> {
    return this.#machine.answer(needs);
  }

  apply({ index, term, payload, answers, membership }: MachineEntry): Outcome | undefined {
    if (definesSomething(payload)) {
      return { kind: 'definition', outcome: this.#machine.define({ index, term, payload }) };
    }
    if (payload.length > 0) return this.#machine.apply({ index, term, payload, answers });
    this.#machine.advance(index, term, membership && encodeMembership(membership));
    return undefined;
  }

  install({ last, content }: CheckedPart & Content<CheckedRecords>, members: HeldMembership): readonly never[] {
    this.#machine.install(content, last, groupMark(members));
    return [];
  }

  flushInto(batch: KvBatch): void {
    this.#machine.flushInto(batch);
  }

  flushed(): void {
    this.#machine.flushed();
  }

  async warm(): Promise<void> {
    await this.#machine.warm();
  }
}

class CatalogAdapter implements CatalogPort {
  readonly #machine: CatalogMachine;
  /** Creations carry their own time. */
  readonly recordedTimeMs = 0;

  constructor(machine: CatalogMachine) {
    this.#machine = machine;
  }

  get applied(): AppliedMark {
    return this.#machine.applied;
  }

  get members(): HeldMembership {
    return held(this.#machine.applied.group);
  }

  get standing(): Uint8Array {
    const { revision, chainHash } = this.#machine.applied;
    return encodePoint({ revision, chainHash, control: undefined });
  }

  /** Hashes of earlier revisions are unknown. The catalog changes rarely, so other nodes soon reach this revision. */
  compare({ revision, chainHash }: HistoryPoint): HistoryVerdict {
    const { applied } = this.#machine;
    if (revision !== applied.revision) return 'beyond';
    return differenceBetween(`the chain hash of revision ${revision}`, applied.chainHash, chainHash) ?? 'same';
  }

  list(): readonly Binding[] {
    return this.#machine.list();
  }

  lookup(name: string): Binding | undefined {
    return this.#machine.lookup(name);
  }

  bindingOf(group: GroupId): Binding | undefined {
    return this.#machine.bindingOf(group);
  }

  get copies(): ReadonlyMap<NodeId, number> {
    return this.#machine.copies;
  }

  nodes(): readonly RegisteredNode[] {
    return this.#machine.nodes();
  }

  apiKeys(): readonly ApiKey[] {
    return this.#machine.apiKeys();
  }

  get level(): number {
    return this.#machine.level;
  }

  needs(): readonly never[] {
    return [];
  }

  async answer(): Promise<readonly number[]> {
    return [];
  }

  apply({ index, term, payload, membership }: MachineEntry): Outcome | undefined {
    if (payload.length > 0) return this.#machine.apply({ index, term, payload });
    this.#machine.advance(index, term, membership && encodeMembership(membership));
    return undefined;
  }

  install({ content }: CheckedPart & Content<CatalogMachine>): readonly CatalogDifference[] {
    return this.#machine.install(content);
  }

  flushInto(batch: KvBatch): void {
    this.#machine.flushInto(batch);
  }

  flushed(): void {
    // The catalog reads the store only when it is opened.
  }

  async warm(): Promise<void> {
    // The catalog is entirely in memory.
  }
}

/** Opaque to all but the machine that installs it. */
interface Content<Value> {
  readonly content: Value;
}

/** Records of a history: each part can be installed separately. */
class HistoryParts implements StateImport {
  readonly #history: HistoryImport;

  constructor(history: HistoryImport) {
    this.#history = history;
  }

  resume(): Uint8Array {
    return encodePoint(this.#history.point);
  }

  take({ data, last }: StatePart): CheckedPart | string {
    const basis = this.#history.index;
    const content = this.#history.take(data);
    if (typeof content === 'string') return content;
    // The entries between would be applied once more.
    const { index } = this.#history;
    if (last.index < index) return `It ends at entry ${last.index} of the log, and has a record of entry ${index}`;
    return { last, basis, bytes: data.length, content };
  }
}

/** Rows: usable only when all parts have arrived. */
class CatalogParts implements StateImport {
  readonly #source: DatabaseSource;
  #catalog: CatalogImport;

  constructor(source: DatabaseSource) {
    this.#source = source;
    this.#catalog = new CatalogImport(source);
  }

  /** Always transferred as a whole. */
  resume(): Uint8Array {
    this.#catalog = new CatalogImport(this.#source);
    return NO_BYTES;
  }

  take({ data, last, isLast }: StatePart): CheckedPart | undefined | string {
    const fault = this.#catalog.take(data);
    if (fault !== undefined) return fault;
    if (!isLast) return undefined;
    const content = this.#catalog.finish(last);
    return typeof content === 'string' ? content : { last, basis: 0, bytes: data.length, content };
  }
}

function faultInDatabaseEntry(payload: Uint8Array): string | undefined {
  if (!definesSomething(payload)) return faultInTransactPayload(payload);
  return decodeDefinitionEntry(payload) === undefined ? 'it is no entry that defines something' : undefined;
}

function newDatabaseOf(binding: Binding): NewDatabase {
  return { ...binding, rootId: rootOf(binding), membership: encodeMembership(membershipOf(binding.founders)) };
}

function recoveryOf({ group, recovery }: Binding): Recovery {
  assert(recovery !== undefined, 'The database was recovered from another one', group);
  return recovery;
}

function groupMark({ index, membership }: HeldMembership): Applied['group'] {
  return { index, membership: encodeMembership(membership) };
}

function held({ index, membership }: Applied['group']): HeldMembership {
  const decoded = decodeMembership(membership);
  assert(typeof decoded !== 'string', 'An applied row holds the membership that was put into it', decoded);
  return { index, membership: decoded };
}

function sourceOf(kv: KvReader, group: GroupId): DatabaseSource {
  return { kv, group, sha256: nativeSha256 };
}

function groupPrefix(group: number): Uint8Array {
  return new KeyWriter().u8(GROUP_ROWS).u32(group).key();
}

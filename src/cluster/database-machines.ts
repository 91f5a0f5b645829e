/** The machines of #database, as the runtime creates and repairs them (machine.ts). */
import { assert, CATALOG_GROUP, type GroupId, LEVEL_FIRST, NO_BYTES } from '#base';
import {
  auditDatabase,
  CatalogExport,
  CatalogImport,
  CatalogMachine,
  compareHistory,
  copyRows,
  DatabaseMachine,
  DatabaseReader,
  type DatabaseSource,
  decodePoint,
  encodeCatalogEntry,
  encodePoint,
  faultInForwardedEntry,
  HistoryExport,
  HistoryImport,
  type MachineOptions,
  type NewDatabase,
  type Recovery,
  RowKeys,
  readLevel,
  readNodes,
  rebuildDerived,
  recoverInto,
  rootOf,
  verifyHistory,
  withdrawRows,
} from '#database';
import { KeyWriter, type KvReader } from '#kv';
import {
  decodeDefinitionEntry,
  definesSomething,
  faultInTransactPayload,
  stampDefinitionEntry,
  stampPayload,
} from '#model';
import { encodeMembership, membershipOf } from '#raft';
import type { Machines } from './machine.ts';
import type { Binding } from './outcome.ts';
import { type CheckedPart, membersIn, type StateImport } from './state-transfer.ts';
import { nativeSha256 } from './system-ports.ts';

/** First byte of the keys of a group; the group follows, 4 bytes big-endian. */
const GROUP_ROWS = 0x01;

/** The production machines, with the digests of this platform. */
export const databaseMachines: Machines = machinesWith({});

/** Machines with other limits, for tests. */
export function machinesWith(options: Pick<MachineOptions, 'segmentBytes'>): Machines {
  return {
    openCatalog: (kv, founders) => CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), encodeMembership(founders)),
    storedLevel: (kv) => readLevel(kv, new RowKeys(CATALOG_GROUP).level()),
    storedNodes: (kv) => readNodes(kv, new RowKeys(CATALOG_GROUP).nodes()),
    createDatabase: (kv, binding) =>
      DatabaseMachine.create(sourceOf(kv, binding.group), newDatabaseOf(binding), options),
    markOf: (kv, group) => new DatabaseReader(sourceOf(kv, group)).applied(),
    openDatabase: (kv, group) => DatabaseMachine.open(sourceOf(kv, group), options),
    verify: async (kv, group, durable) => (await verifyHistory(sourceOf(kv, group), durable)) === undefined,
    audit: (kv, group) => auditDatabase({ kv, group }),
    withdraw: withdrawRows,
    rebuild: ({ kv, syncStore }, binding, durable, mayContinue) => {
      const target = { durable, created: newDatabaseOf(binding), syncStore, mayContinue, ...options };
      return rebuildDerived(kv, sourceOf(kv, binding.group), target);
    },
    standingOf: (kv, group) => new DatabaseReader(sourceOf(kv, group)).applied(),
    copyOrigin: (kv, binding, mayContinue) =>
      copyRows(kv, sourceOf(kv, recoveryOf(binding).group), sourceOf(kv, binding.group), mayContinue),
    recoverInto: (batch, kv, binding) => {
      const { group, rootId } = recoveryOf(binding);
      const { databaseId, membership } = newDatabaseOf(binding);
      recoverInto(batch, sourceOf(kv, group), sourceOf(kv, binding.group), { databaseId, rootId, membership });
    },
    exportState: async (kv, group, standing) => {
      const source = sourceOf(kv, group);
      const from = group === CATALOG_GROUP ? await CatalogExport.open(source) : HistoryExport.open(source, standing);
      if (typeof from === 'string') return from;
      return { members: membersIn(from.group), next: async (bytesMax) => from.next(bytesMax) };
    },
    compareHistory: (kv, group, machine, bytes) => {
      const point = decodePoint(bytes);
      if (point === undefined) return 'beyond';
      return machine instanceof CatalogMachine ? machine.compare(point) : compareHistory(sourceOf(kv, group), point);
    },
    importState: (kv, group, machine) => {
      const source = sourceOf(kv, group);
      if (machine instanceof CatalogMachine) return catalogParts(source, machine);
      assert(machine instanceof DatabaseMachine, 'A group other than the catalog is a database', group);
      return historyParts(new HistoryImport(source, machine.applied), machine);
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

/** Records of a history: each part can be installed separately. */
function historyParts(history: HistoryImport, machine: DatabaseMachine): StateImport {
  return {
    resume: () => encodePoint(history.point),
    take: ({ data, last }) => {
      const basis = history.index;
      const content = history.take(data);
      if (typeof content === 'string') return content;
      // The entries between would be applied once more.
      const { index } = history;
      if (last.index < index) return `It ends at entry ${last.index} of the log, and has a record of entry ${index}`;
      const install: CheckedPart['install'] = (group) => {
        machine.install(content, last, group);
        return [];
      };
      return { last, basis, bytes: data.length, install };
    },
  };
}

/** Rows: usable only when all parts have arrived. */
function catalogParts(source: DatabaseSource, machine: CatalogMachine): StateImport {
  let catalog = new CatalogImport(source);
  return {
    // Always transferred as a whole.
    resume: () => {
      catalog = new CatalogImport(source);
      return NO_BYTES;
    },
    take: ({ data, last, isLast }) => {
      const fault = catalog.take(data);
      if (fault !== undefined || !isLast) return fault;
      const content = catalog.finish(last);
      if (typeof content === 'string') return content;
      return { last, basis: 0, bytes: data.length, install: () => machine.install(content) };
    },
  };
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

function sourceOf(kv: KvReader, group: GroupId): DatabaseSource {
  return { kv, group, sha256: nativeSha256 };
}

function groupPrefix(group: number): Uint8Array {
  return new KeyWriter().u8(GROUP_ROWS).u32(group).key();
}

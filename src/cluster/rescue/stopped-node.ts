/**
 * Opens a stopped node like a start would, up to the point where it would contact other nodes: every row is verified or
 * made again, effects of a power failure are repaired, and the log of the catalog after its state is applied in memory.
 * The identity of the node does not change.
 *
 * Entries after the state of the catalog are not known to be committed, but may have been acknowledged (ADR 0045).
 */
import { assert, CATALOG_GROUP, DatabaseError, type GroupId, type NodeId, nodeOf } from '#base';
import { type Applied, type Binding, CatalogMachine, DatabaseReader, type DatabaseSource } from '#database';
import { decodeMembership, type EntryId, encodeMembership, type Membership } from '#raft';
import { type Disk, isStoreDamage, patientDisk, type RecoveredGroup, type RecoveredLog, Wal } from '#storage';
import { checkLevels } from '../admin/levels.ts';
import { checkCatalog, namingFiles, recoverDatabases } from '../core/crash-recovery.ts';
import { databaseMachines } from '../database-machines.ts';
import type { Machines } from '../machine.ts';
import { FOUNDERS, type NodeIdentity } from '../node.ts';
import { noteDamage } from '../store/damage-note.ts';
import { openStoppedStore, type StoppedStoreFiles } from '../store/data-directory.ts';
import type { LedgerStore } from '../store/ledger-store.ts';
import { type LogPlaces, logDirectoryOf, nodePlaces, settleLog } from '../store/next-log.ts';
import {
  BEFORE_KEY,
  type ClusterBefore,
  IDENTITY_KEY,
  readBefore,
  readIdentity,
  readTrash,
  walIdentity,
} from '../store/node-rows.ts';
import { nativeSha256 } from '../system-ports.ts';

/** Access to a data directory. */
export interface StoppedPorts {
  /** Rejects when it does not exist, is damaged, or is open in another process. */
  readonly openStore: (directory: string) => Promise<StoppedStoreFiles>;
  /** Access to files of logs, and to their directories. */
  readonly disk: Disk;
  readonly places: LogPlaces;
  readonly machines: Machines;
}

const NODE_PORTS: StoppedPorts = {
  openStore: openStoppedStore,
  disk: patientDisk,
  places: nodePlaces,
  machines: databaseMachines,
};

/** The replica of a database on the node. */
export interface StoppedCopy {
  readonly binding: Binding;
  /** The group whose rows these are: that of the binding, or its origin. */
  readonly origin: GroupId;
  readonly applied: Applied;
  /** Log of the origin; undefined when it has none yet. */
  readonly log: RecoveredGroup | undefined;
}

export interface StoppedNode extends AsyncDisposable {
  readonly directory: string;
  readonly identity: NodeIdentity;
  /** Only if its cluster was founded from the store of another one. */
  readonly before: ClusterBefore | undefined;
  readonly store: LedgerStore;
  readonly log: RecoveredLog;
  readonly ports: StoppedPorts;
  /** With all entries of its log applied in memory; nothing is written. */
  readonly catalog: CatalogMachine;
  /** Membership of its state. */
  readonly members: Membership;
  /** The last entry that the state included, and the databases in it. */
  readonly written: EntryId;
  readonly namedBefore: readonly Binding[];
  /** Replicas of the databases in the catalog, by group. */
  readonly copies: ReadonlyMap<GroupId, StoppedCopy>;
  /** Groups whose rows are being deleted. */
  readonly trash: ReadonlySet<GroupId>;
}

/** @throws DatabaseError or StorageFailure when it is not a node, runs, never joined its cluster, or is damaged. */
export async function openStoppedNode(directory: string, ports: StoppedPorts = NODE_PORTS): Promise<StoppedNode> {
  const { store, ...files } = await ports.openStore(directory);
  try {
    const row = store.get(IDENTITY_KEY);
    if (row === undefined) throw neverJoined(directory);
    const identity = readIdentity(row);
    settleLog(directory, identity.storeId, ports.places);
    const log = await readLog(directory, identity, ports.disk);
    checkLevels({ kv: store, machines: ports.machines, node: identity.node }, log);
    const before = store.get(BEFORE_KEY);
    const opened = await lookInto(store, { log, machines: ports.machines, node: identity.node });
    if (opened.written.index === 0) throw neverJoined(directory);
    const close = (): Promise<void> => store.close();
    const known = { directory, identity, before: before && readBefore(before), store, log, ports };
    return { ...known, ...opened, [Symbol.asyncDispose]: close };
  } catch (failure) {
    await store.close();
    if (isStoreDamage(failure)) noteDamage(directory, { text: failure.message, groups: [], isOfStore: true });
    throw namingFiles(failure, files);
  }
}

function sourceIn(store: LedgerStore, group: GroupId): DatabaseSource {
  return { kv: store, group, sha256: nativeSha256 };
}

type Looked = Pick<StoppedNode, 'catalog' | 'members' | 'written' | 'namedBefore' | 'copies' | 'trash'>;

async function lookInto(store: LedgerStore, known: Pick<Parts, 'log' | 'machines' | 'node'>): Promise<Looked> {
  const { log } = known;
  const catalog = CatalogMachine.open(sourceIn(store, CATALOG_GROUP), encodeMembership(FOUNDERS));
  const { index, term, group } = catalog.applied;
  const members = decodeMembership(group.membership);
  if (typeof members === 'string') throw new DatabaseError('internal', `The catalog has no membership: ${members}`);
  const namedBefore = catalog.list();
  if (!checkCatalog(catalog, log)) applyLog(catalog, log.groups.get(CATALOG_GROUP));
  const trash = new Set<GroupId>();
  for await (const ended of readTrash(store)) trash.add(ended);
  const copies = await mendedCopies(store, { ...known, catalog, namedBefore, trash });
  return { catalog, members, written: { index, term }, namedBefore, copies, trash };
}

/** The log is only read; writes go into another one. */
async function readLog(directory: string, identity: NodeIdentity, disk: Disk): Promise<RecoveredLog> {
  const { wal, recovered } = Wal.open(logDirectoryOf(directory), { identity: walIdentity(identity), disk });
  await wal.close();
  return recovered;
}

function applyLog(catalog: CatalogMachine, log: RecoveredGroup | undefined): void {
  for (const { index, term, payload, membership } of log?.entries ?? []) {
    if (index <= catalog.applied.index) continue;
    catalog.apply({ index, term, payload, membership: membership && encodeMembership(membership) });
  }
}

interface Parts {
  readonly catalog: CatalogMachine;
  /** The databases in the stored catalog. */
  readonly namedBefore: readonly Binding[];
  readonly log: RecoveredLog;
  readonly machines: Machines;
  readonly trash: ReadonlySet<GroupId>;
  readonly node: NodeId;
}

/** Repairs the replicas of the databases in the catalog; their rows may be those of an origin. */
async function mendedCopies(store: LedgerStore, parts: Parts): Promise<ReadonlyMap<GroupId, StoppedCopy>> {
  const { catalog, log, machines } = parts;
  const held = new Map<Binding, Binding>();
  for (const binding of catalog.list()) {
    const source = heldAs(binding, parts);
    if (source !== undefined) held.set(binding, source);
  }
  const ports = { kv: store, syncStore: () => store.checkpointFiles(), machines, isSuspect: true };
  await recoverDatabases(ports, log, [...held.values()], async ({ binding, durable }) => {
    await machines.rebuild(ports, binding, durable, () => true);
  });
  const copies = new Map<GroupId, StoppedCopy>();
  for (const [binding, { group: origin }] of held) {
    const applied = appliedIn(store, origin);
    assert(applied !== undefined, 'A repaired database has its applied row', origin);
    await store.verifyHistory(origin, applied.end, log.groups.get(origin)?.checkpoint.history.end ?? 0);
    copies.set(binding.group, { binding, origin, applied, log: log.groups.get(origin) });
  }
  return copies;
}

/**
 * The database whose rows the node has for this one: itself, or its origin until the log of that has ended, also where
 * the origin is already marked as trash. A log ends, durably, before rows of its group are deleted.
 */
function heldAs(binding: Binding, { namedBefore, log, trash, node }: Parts): Binding | undefined {
  const { recovery, founders, placement } = binding;
  const origin = recovery && { ...binding, group: recovery.group, databaseId: recovery.databaseId };
  const isMadeHere = founders.some((replica) => nodeOf(replica) === node);
  const here = [binding, origin]
    .filter((each) => each !== undefined)
    .filter((each) => !trash.has(each.group) || (each === origin && isMadeHere));
  // Nothing was applied to a first replica without a log. Its first row may have been lost.
  const isBegun = (group: GroupId): boolean =>
    placement === 0 && isMadeHere && namedBefore.some((before) => before.group === group);
  return here.findLast(({ group }) => log.groups.has(group)) ?? here.find(({ group }) => isBegun(group));
}

function appliedIn(store: LedgerStore, group: GroupId): Applied | undefined {
  return new DatabaseReader(sourceIn(store, group)).applied();
}

function neverJoined(directory: string): DatabaseError {
  const message = `The data directory ${directory} was never part of a cluster, or never received its catalog; there is nothing to recover`;
  return new DatabaseError('invalid_argument', message, { details: { reason: 'NeverJoined' } });
}

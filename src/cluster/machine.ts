/**
 * The replicated state machines as the runtime uses them: that of the catalog and those of databases. The machines
 * define the meaning of entries; the runtime passes entries in order and gets their outcomes.
 */
import type { DatabaseId, GroupId, LogIndex, NodeId, Revision, Term } from '#base';
import type { CatalogEntry, HistoryVerdict } from '#database';
import type { KvBatch, KvReader, KvStore } from '#kv';
import type { ApiKey } from '#model';
import type { Membership } from '#raft';
import type { Checkpoint } from '#storage';
import type { Binding, Outcome, RegisteredNode } from './outcome.ts';
import type { StateExport, StateImport } from './state-transfer.ts';

/** Data that a machine must read from the store asynchronously to decide an entry; opaque here. */
export type MachineNeed = unknown;

export interface MachineEntry {
  readonly index: LogIndex;
  readonly term: Term;
  /** Empty for the leader's own no-op. */
  readonly payload: Uint8Array;
  /** Results of `answer` for the `needs` of this payload; empty when there were none. */
  readonly answers: readonly number[];
  /** Membership of the group from this entry on. Only in an entry without payload. */
  readonly membership?: Uint8Array | undefined;
}

/** The checkpoint of a group in the log: everything up to it is durable in the store. */
export type DurableMark = Checkpoint;

/** Position of a machine, as in its applied row. */
export type AppliedMark = Omit<DurableMark, 'history'>;

/** The same of a database in the store. */
export interface StoredMark extends AppliedMark {
  /** Position in its history behind the last applied transaction. */
  readonly end: number;
}

export interface Machine {
  readonly applied: AppliedMark;
  /** Position of its history with the identifying hashes; opaque to all but `compareHistory`. */
  readonly standing: Uint8Array;
  /** The latest recorded time of its history; later ones are not before it. */
  readonly recordedTimeMs: number;
  /** Data to read before the payload is applied. Empty for nearly every entry. */
  needs(payload: Uint8Array): readonly MachineNeed[];
  /** Called when everything applied is in the store; nothing is applied until it has resolved. */
  answer(needs: readonly MachineNeed[]): Promise<readonly number[]>;
  /** Decides the next entry. Undefined for a no-op. Throws for an unknown entry. */
  apply(entry: MachineEntry): Outcome | undefined;
  /** Adds everything that is in no batch yet, and the applied row, to this one. Entries may be applied meanwhile. */
  flushInto(batch: KvBatch): void;
  /** The batch is in the store. Called between two calls of `flushInto`. */
  flushed(): void;
  /** Warms caches in the background, once; changes no state and may run concurrently with everything else. */
  warm(): Promise<void>;
}

/** The rows with `gte <= key < lt`. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

export interface CatalogMachine extends Machine {
  /** Iterates over all of them. */
  list(): readonly Binding[];
  /** The binding of the name; with an id, only if it is of that instance. */
  lookup(name: string, databaseId?: DatabaseId): Binding | undefined;
  bindingOf(group: GroupId): Binding | undefined;
  /** Replicas per node; nodes without any may be missing. */
  readonly copies: ReadonlyMap<NodeId, number>;
  nodes(): readonly RegisteredNode[];
  /** Every API key, by id. */
  apiKeys(): readonly ApiKey[];
  /** Feature level of the cluster. */
  readonly level: number;
}

/** Creates and repairs machines. */
export interface Machines {
  /** The catalog in the store; a new one is empty, and its group starts with this membership. */
  openCatalog(kv: KvReader, founders: Membership): CatalogMachine;
  /** The level of the cluster, without opening its catalog, which may be of a later release. */
  storedLevel(kv: KvReader): number;
  /** The nodes of the cluster, in the same way. */
  storedNodes(kv: KvReader): readonly RegisteredNode[];
  /** A new one, whose group starts with the founders of the binding. */
  createDatabase(kv: KvReader, binding: Binding): Machine;
  /**
   * Position of a database, without opening it; undefined when the store has no applied row of it.
   * @throws DatabaseError when that row is damaged
   */
  markOf(kv: KvReader, group: GroupId): StoredMark | undefined;
  /** Undefined when the store has no such database. */
  openDatabase(kv: KvReader, group: GroupId): Machine | undefined;
  /** Returns whether the history between the durable mark and the applied row is complete. */
  verify(kv: KvReader, group: GroupId, durable: DurableMark): Promise<boolean>;
  /** Reads every row of the database; returns the first that is missing or damaged, as text. */
  audit(kv: KvReader, group: GroupId): Promise<string | undefined>;
  /** Removes what follows the durable mark in the history, and the applied row. `rebuild` does the rest. */
  withdraw(kv: KvStore, group: GroupId, durable: DurableMark): Promise<void>;
  /**
   * Takes the database of the binding to the durable mark: removes later records and makes all rows again. Returns
   * false when `mayContinue` returned false after a slice, which ends at that position of the history.
   */
  rebuild(
    store: { readonly kv: KvStore; readonly syncStore: () => Promise<void> },
    binding: Binding,
    durable: DurableMark,
    mayContinue: (indexed: number) => boolean,
  ): Promise<boolean>;
  /** The revision of a database in the store, with its chain hash; undefined when there is no such database. */
  standingOf(kv: KvReader, group: GroupId): { readonly revision: Revision; readonly chainHash: Uint8Array } | undefined;
  /**
   * Copies every row of the origin of a recovered database, except the applied row, to the group of that database.
   * Returns false when `mayContinue` returned false in between.
   */
  copyOrigin(kv: KvStore, binding: Binding, mayContinue: () => boolean): Promise<boolean>;
  /** Adds the applied row of a recovered database to the batch, which makes it complete. Its other rows are durable. */
  recoverInto(batch: KvBatch, kv: KvReader, binding: Binding): void;
  /**
   * The state of a group in the store of this node, for a replica at that position. As text: the reason why there is
   * none for it.
   */
  exportState(kv: KvReader, group: GroupId, standing: Uint8Array): Promise<StateExport | string>;
  /** Returns whether the history of another replica at that position is a prefix of this one's. */
  compareHistory(kv: KvReader, group: GroupId, machine: Machine, standing: Uint8Array): HistoryVerdict;
  /** Prepares to check parts that continue the state of this machine. */
  importState(kv: KvReader, group: GroupId, machine: Machine): StateImport;
  /**
   * Fault of a payload that another node wants to become an entry of the group, or undefined. A payload without a fault
   * can be stamped and applied.
   */
  faultInForwarded(group: GroupId, payload: Uint8Array): string | undefined;
  /** Returns whether applying the payload twice has the same effect as once: it has a transaction_id. */
  isRepeatable(group: GroupId, payload: Uint8Array): boolean;
  /** Writes the recorded time into a transaction's payload, in place. */
  stamp(payload: Uint8Array, recordedTimeMs: number): void;
  /** The payload of an entry of the catalog. */
  encode(entry: CatalogEntry): Uint8Array;
  /** The feature level of a payload. */
  levelOf(payload: Uint8Array): number;
  /** Every row of a group, as a key range. */
  rowsOf(group: GroupId): KeyRange;
}

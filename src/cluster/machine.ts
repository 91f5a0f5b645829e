/**
 * The replicated state machines as the runtime drives them: the catalog's and a database's. What an entry means is
 * their business; here they take entries in order and say what came of each.
 */
import type { DatabaseId, GroupId, LogIndex, NodeId, ReplicaId, Revision, Term } from '#base';
import type { HistoryVerdict } from '#database';
import type { KvBatch, KvReader, KvStore } from '#kv';
import type { ApiKey } from '#model';
import type { Membership } from '#raft';
import type { CatalogChange } from './node.ts';
import type { Binding, NodeRegistration, NodeState, Outcome, RegisteredNode } from './outcome.ts';
import type { CheckedPart, HeldMembership, StateExport, StateImport } from './snapshots/state-transfer.ts';

export type { HeldMembership } from './snapshots/state-transfer.ts';

/** Something that a machine must learn from the store to decide an entry, by an asynchronous walk. Its own business. */
export type MachineNeed = unknown;

export interface MachineEntry {
  readonly index: LogIndex;
  readonly term: Term;
  /** Empty for the leader's own no-op. */
  readonly payload: Uint8Array;
  /** What `answer` gave for the `needs` of this payload; empty when there were none. */
  readonly answers: readonly number[];
  /** Who belongs to the group from this entry on. Only in an entry without payload. */
  readonly membership?: Membership | undefined;
}

/** How far a machine is, as its applied row says it. */
export interface AppliedMark {
  readonly index: LogIndex;
  readonly term: Term;
  readonly revision: Revision;
  /** Up to here the state came from another replica; 0 when all of it came by the log. */
  readonly logStart: LogIndex;
}

export interface Machine {
  readonly applied: AppliedMark;
  /** As of the last applied entry that had one; in the applied row with what is applied (C9). */
  readonly members: HeldMembership;
  /** How far its history is, with the hashes that say what it is; in bytes that only `compareHistory` looks into. */
  readonly standing: Uint8Array;
  /** The latest recorded time of its history; the next one is not before it. */
  readonly recordedTimeMs: number;
  /** What must be answered before the payload is applied. Empty for nearly every entry. */
  needs(payload: Uint8Array): readonly MachineNeed[];
  /** Called when everything applied is in the store; nothing is applied until it has resolved. */
  answer(needs: readonly MachineNeed[]): Promise<readonly number[]>;
  /** Decides the next entry. Undefined for a no-op. Throws for an entry that it does not understand. */
  apply(entry: MachineEntry): Outcome | undefined;
  /**
   * Takes over a part of another replica's state, and is then where it ends in the log. What that changes for others is
   * returned. Everything that was handed out to be applied is applied, and nothing is until the whole is installed.
   */
  install(part: CheckedPart, members: HeldMembership): readonly CatalogChange[];
  /** Puts everything that is in no batch yet, and the applied row, into this one. Entries may be applied meanwhile. */
  flushInto(batch: KvBatch): void;
  /** The batch is in the store. Comes between two calls of `flushInto`. */
  flushed(): void;
  /** Prepares in the background for being quick, once; changes no state and may run beside everything else. */
  warm(): Promise<void>;
}

/** The rows with `gte <= key < lt`. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

export interface CatalogMachine extends Machine {
  /** A pass over all of them. */
  list(): readonly Binding[];
  lookup(name: string): Binding | undefined;
  bindingOf(group: GroupId): Binding | undefined;
  /** Copies that each node holds; who holds none may be missing. */
  readonly copies: ReadonlyMap<NodeId, number>;
  nodes(): readonly RegisteredNode[];
  /** Every API key, by id. */
  apiKeys(): readonly ApiKey[];
  /** Of the cluster: what may be written. */
  readonly level: number;
}

/** The checkpoint that the log knows of a group: everything up to it is durable in the store. */
export interface DurableMark {
  readonly index: LogIndex;
  readonly term: Term;
  readonly revision: Revision;
}

/** Makes and mends machines. */
export interface Machines {
  /** The catalog as it is in the store; a new one is empty, and its group begins with this membership. */
  openCatalog(kv: KvReader, founders: Membership): CatalogMachine;
  /** The level of the cluster, without opening its catalog, which may be of a later release. */
  storedLevel(kv: KvReader): number;
  /** The nodes of the cluster, in the same way. */
  storedNodes(kv: KvReader): readonly RegisteredNode[];
  createDatabase(kv: KvReader, binding: Binding, founders: Membership): Machine;
  /** How far a database is, without opening it; undefined when the store has no such database. */
  markOf(kv: KvReader, group: GroupId): AppliedMark | undefined;
  /** Undefined when the store has no such database. */
  openDatabase(kv: KvReader, group: GroupId): Machine | undefined;
  /** Whether the history between the durable mark and the applied row is whole. */
  verify(kv: KvReader, group: GroupId, durable: DurableMark): Promise<boolean>;
  /**
   * Takes the database back to the durable mark: deletes what is above and derives the rest anew. The store it is given
   * makes each change durable before the next.
   */
  rebuild(kv: KvStore, group: GroupId, durable: DurableMark): Promise<void>;
  /** The revision that the store has of a database, with its chain hash; undefined when it has no such database. */
  standingOf(kv: KvReader, group: GroupId): { readonly revision: Revision; readonly chainHash: Uint8Array } | undefined;
  /**
   * Copies every row of the group that a recovered database goes on from, but for the applied row, to the group of that
   * database. False when `goesOn` said no in between.
   */
  copyOrigin(kv: KvStore, binding: Binding, goesOn: () => boolean): Promise<boolean>;
  /** Puts the applied row of a recovered database into the batch: it is there with it. Its other rows are durable. */
  recoverInto(batch: KvBatch, kv: KvReader, binding: Binding, founders: Membership): void;
  /**
   * The state of a group of this node as it is in the store, for a replica that stands there. As text: why there is
   * none for it.
   */
  exportState(kv: KvReader, group: GroupId, standing: Uint8Array): Promise<StateExport | string>;
  /** Whether the history of another replica, which stands there, is a beginning of this one's. */
  compareHistory(kv: KvReader, group: GroupId, machine: Machine, standing: Uint8Array): HistoryVerdict;
  /** What is to follow the state of this machine. */
  importState(kv: KvReader, group: GroupId, machine: Machine): StateImport;
  /**
   * What is wrong with a payload that another node wants to become an entry of the group, or undefined. What has no
   * fault can be stamped and applied.
   */
  faultInForwarded(group: GroupId, payload: Uint8Array): string | undefined;
  /** Whether the payload has the same effect twice as once: it names a transaction_id. */
  isRepeatable(group: GroupId, payload: Uint8Array): boolean;
  /** Writes the recorded time into a transaction's payload, in place. */
  stamp(payload: Uint8Array, recordedTimeMs: number): void;
  encodeCreate(request: {
    readonly name: string;
    readonly databaseId: DatabaseId;
    readonly createdAtMs: number;
    readonly replicas: readonly ReplicaId[];
  }): Uint8Array;
  encodeDelete(request: { readonly name: string; readonly databaseId: DatabaseId | undefined }): Uint8Array;
  /** Which nodes are to hold the database from now on, if it is still at this placement. */
  encodePlace(request: {
    readonly group: GroupId;
    readonly placement: number;
    readonly nodes: readonly NodeId[];
  }): Uint8Array;
  /** The group's committed membership is what the placement wants it to be. */
  encodePlaced(request: { readonly group: GroupId; readonly placement: number }): Uint8Array;
  /** The group's database goes on as another instance, with what the node holds of it. */
  encodeRecover(request: {
    readonly group: GroupId;
    readonly databaseId: DatabaseId;
    readonly node: NodeId;
    readonly revision: Revision;
    readonly chainHash: Uint8Array;
  }): Uint8Array;
  encodeRegister(registration: NodeRegistration): Uint8Array;
  /** The node is to be in this state, if it may come to it. */
  encodeMark(request: { readonly node: NodeId; readonly state: NodeState }): Uint8Array;
  /** The cluster is to be at this level, if every node knows it. */
  encodeRaise(request: { readonly level: number }): Uint8Array;
  /** The level that a payload is written at. */
  levelOf(payload: Uint8Array): number;
  /** Every row of a group, as a key range. */
  rowsOf(group: GroupId): KeyRange;
}

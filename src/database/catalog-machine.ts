/**
 * The replicated state machine of the catalog, group 0: the bindings of names to database instances, the nodes, and the
 * feature level of the cluster.
 *
 * A name is bound to one instance at most. An instance gets a group when it is created; neither its id nor its group is
 * ever used again (D10). The caller, which applies the entries, creates and deletes the rows and the Raft group of a
 * database.
 */
import {
  assert,
  ByteWriter,
  type DatabaseId,
  encodeUtf8,
  type GroupId,
  type LogIndex,
  type NodeId,
  nodeOf,
  type Term,
  toGroupId,
  toLogIndex,
  toRevision,
  toTerm,
  unreachable,
} from '#base';
import type { KvBatch } from '#kv';
import type { ApiKey } from '#model';
import { CatalogBindings } from './catalog-bindings.ts';
import { type CatalogDifference, diffCatalogs } from './catalog-diff.ts';
import { type CatalogEntry, readCatalogEntry } from './catalog-entry.ts';
import { blockOfKey, CatalogKeys, KEY_BLOCKS, type KeyOutcome, writeKeys } from './catalog-keys.ts';
import { readLevel, writeLevel } from './catalog-level.ts';
import { CatalogNodes, type MarkOutcome, mayVote, type RegisteredNode, type RegisterOutcome } from './catalog-nodes.ts';
import { place, settle } from './catalog-placements.ts';
import type { RecoverEntry } from './catalog-recovery.ts';
import {
  type Binding,
  blockOfGroup,
  type CatalogApplied,
  readBindings,
  readCatalogApplied,
  writeBindings,
  writeCatalogApplied,
} from './catalog-rows.ts';
import type { HistoryPoint } from './chain.ts';
import { differenceBetween, encodePoint, type HistoryVerdict } from './compare-history.ts';
import { RowKeys } from './keys.ts';
import type { DatabaseSource } from './reader.ts';
import { recover, type Successor, successorOf } from './recovered-binding.ts';

export type CatalogOutcome =
  | RegisterOutcome
  | { readonly kind: 'created'; readonly binding: Binding }
  /** The name is taken, by this binding. */
  | { readonly kind: 'exists'; readonly binding: Binding }
  | { readonly kind: 'deleted'; readonly binding: Binding }
  /** The name is bound to nothing, or to another instance than the deletion named. */
  | { readonly kind: 'absent' }
  | MarkOutcome
  | RecoverOutcome
  | RaiseOutcome
  | KeyOutcome
  | PlaceOutcome;

export type RaiseOutcome =
  | { readonly kind: 'raised'; readonly level: number }
  /** It is there already, or a node does not know that level. */
  | { readonly kind: 'unmoved' };

export type PlaceOutcome =
  /** Other nodes, or another number of them, hold the database from now on, or are to hold it. */
  | { readonly kind: 'moved'; readonly binding: Binding }
  /** It is so already, or it was decided otherwise since, or the database is gone, or a node takes no more of them. */
  | { readonly kind: 'unmoved' };

export type RecoverOutcome =
  /** Another instance has the name of the one before from now on. */
  | { readonly kind: 'recovered'; readonly before: Binding; readonly binding: Binding }
  /** The database is gone, or the node has no replica of it. */
  | { readonly kind: 'unmoved' };

export interface CatalogEntryToApply {
  readonly index: LogIndex;
  readonly term: Term;
  /** Empty for an entry that changes no state. */
  readonly payload: Uint8Array;
  /** Membership of the group from this entry on. Only in an entry without payload. */
  readonly membership?: Uint8Array | undefined;
}

/** A cluster that begins with what one node holds of another one. */
export interface Refounding {
  readonly node: NodeId;
  /** The store that the node is from now on. */
  readonly storeId: string;
  /** Membership of the catalog's group. */
  readonly membership: Uint8Array;
  /** Instances that continue databases, by their former groups. All other databases are gone. */
  readonly successors: ReadonlyMap<GroupId, Omit<Successor, 'node'>>;
}

const FIRST_GROUP = 1;
/** Beginning of the chain of the catalog's history. */
const GENESIS = 'cairn catalog';

export class CatalogMachine {
  /** Creations carry their own time. */
  readonly recordedTimeMs = 0;
  readonly #source: DatabaseSource;
  readonly #keys: RowKeys;
  readonly #row = new ByteWriter();
  #bindings = new CatalogBindings();
  readonly #changedBlocks = new Set<number>();
  #nodes = new CatalogNodes();
  #haveNodesChanged = false;
  #level: number;
  #hasLevelChanged = false;
  #apiKeys = new CatalogKeys();
  readonly #changedKeys = new Set<number>();
  #applied: CatalogApplied;

  /**
   * Takes up the catalog that is in the store; an empty one when there is none, whose group begins with `membership`.
   * Its group is that of the source.
   */
  static open(source: DatabaseSource, membership: Uint8Array): CatalogMachine {
    return new CatalogMachine(source, membership);
  }

  private constructor(source: DatabaseSource, membership: Uint8Array) {
    this.#source = source;
    this.#keys = new RowKeys(source.group);
    const key = this.#keys.applied();
    const value = source.kv.get(key);
    this.#applied = value === undefined ? emptyCatalog(source, membership) : readCatalogApplied(key, value);
    for (let block = 0; block <= blockOfGroup(this.#applied.nextGroup); block++) this.#readBlock(block);
    const nodes = source.kv.get(this.#keys.nodes());
    if (nodes !== undefined) this.#nodes.read(this.#keys.nodes(), nodes);
    this.#level = readLevel(source.kv, this.#keys.level());
    for (const block of KEY_BLOCKS) {
      const keys = source.kv.get(this.#keys.apiKeys(block));
      if (keys !== undefined) this.#apiKeys.read(this.#keys.apiKeys(block), keys);
    }
  }

  get applied(): CatalogApplied {
    return this.#applied;
  }

  lookup(name: string, databaseId?: DatabaseId): Binding | undefined {
    return this.#bindings.lookup(name, databaseId);
  }

  /** Its revision and chain hash, for another replica. */
  get standing(): Uint8Array {
    const { revision, chainHash } = this.#applied;
    return encodePoint({ revision, chainHash, control: undefined });
  }

  /** Hashes of earlier revisions are unknown. The catalog changes rarely, so other nodes soon reach this revision. */
  compare({ revision, chainHash }: HistoryPoint): HistoryVerdict {
    if (revision !== this.#applied.revision) return 'beyond';
    const difference = differenceBetween(`the chain hash of revision ${revision}`, this.#applied.chainHash, chainHash);
    return difference ?? 'same';
  }

  /** Entries need nothing of the store, which is read only when the catalog is opened. */
  needs(): readonly never[] {
    return [];
  }

  async answer(): Promise<readonly never[]> {
    return [];
  }

  flushed(): void {}

  async warm(): Promise<void> {}

  /** Every binding, by group. */
  list(): readonly Binding[] {
    return this.#bindings.list();
  }

  bindingOf(group: GroupId): Binding | undefined {
    return this.#bindings.ofGroup(group);
  }

  /** Copies that each node holds, or is to hold; who holds none may be missing. */
  get copies(): ReadonlyMap<NodeId, number> {
    return this.#bindings.copies;
  }

  /** Every node, by number. */
  nodes(): readonly RegisteredNode[] {
    return this.#nodes.list();
  }

  /** Every API key, by id. */
  apiKeys(): readonly ApiKey[] {
    return this.#apiKeys.list();
  }

  /** The feature level, which limits the formats that may be written (ADR 0047). */
  get level(): number {
    return this.#level;
  }

  /** Notes an entry that changes no state: the leader's own, or one that says who belongs to the group from it on. */
  advance(index: LogIndex, term: Term, membership?: Uint8Array): undefined {
    assert(index > this.#applied.index, 'Entries are applied in log order', [this.#applied.index, index]);
    this.#applied = { ...this.#applied, index, term, ...(membership && { group: { index, membership } }) };
  }

  /** Applies any entry. Undefined for one without a payload. */
  apply(entry: CatalogEntryToApply): CatalogOutcome | undefined {
    const { index, term, payload, membership } = entry;
    return payload.length === 0 ? this.advance(index, term, membership) : this.decide(entry);
  }

  /** Throws for an entry that this release does not know: it stops the node. */
  decide({ index, term, payload }: CatalogEntryToApply): CatalogOutcome {
    const entry = readCatalogEntry(payload);
    this.advance(index, term);
    const outcome = this.#decide(entry);
    this.#noteChange(payload, outcome);
    return outcome;
  }

  /**
   * Becomes what a snapshot says, which goes further than the state (D16). Returns what has changed, in an order in
   * which it can be carried out; the entries that did it are not known.
   */
  install(snapshot: CatalogMachine): readonly CatalogDifference[] {
    const { index } = snapshot.applied;
    assert(index > this.#applied.index, 'A snapshot goes further than the state', [this.#applied.index, index]);
    const changes = diffCatalogs(this, snapshot);
    const blocks = Math.max(blockOfGroup(this.#applied.nextGroup), blockOfGroup(snapshot.applied.nextGroup));
    for (let block = 0; block <= blocks; block++) this.#changedBlocks.add(block);
    this.#haveNodesChanged = true;
    this.#bindings = snapshot.#bindings;
    this.#nodes = snapshot.#nodes;
    this.#hasLevelChanged ||= this.#level !== snapshot.#level;
    this.#level = snapshot.#level;
    this.#apiKeys = snapshot.#apiKeys;
    for (const block of KEY_BLOCKS) this.#changedKeys.add(block);
    this.#applied = { ...snapshot.applied, logStart: index };
    return changes;
  }

  /**
   * Becomes the catalog of another cluster, at the same log index: its only member is the node, and the databases with
   * a replica on it continue as other instances (D21). Returns those, by group.
   */
  refound({ node, storeId, membership, successors }: Refounding): readonly Binding[] {
    const before = this.list();
    const { index, revision, chainHash } = this.#applied;
    this.#bindings.clear();
    for (const binding of before) {
      this.#changedBlocks.add(blockOfGroup(binding.group));
      const successor = successors.get(binding.group);
      if (successor === undefined) continue;
      const next = successorOf(binding, { ...successor, node }, this.#takeGroup());
      this.#bindings.set(next);
      this.#changedBlocks.add(blockOfGroup(next.group));
    }
    this.#nodes.refound(node, storeId);
    this.#haveNodesChanged = true;
    const standing = { group: { index, membership }, logStart: index, revision: toRevision(revision + 1) };
    this.#applied = { ...this.#applied, ...standing, chainHash: this.#source.sha256([chainHash, encodeUtf8(storeId)]) };
    return this.list();
  }

  /** Puts everything that changed since the last call into the batch. */
  flushInto(batch: KvBatch): void {
    const put = (key: Uint8Array, write: (row: ByteWriter) => void, isThere = true): void => {
      if (!isThere) return batch.del(key);
      this.#row.reset();
      write(this.#row);
      batch.put(key, this.#row.view());
    };
    for (const block of this.#changedBlocks) {
      const bindings = this.#bindings.inBlock(block);
      put(this.#keys.bindings(block), (row) => writeBindings(row, bindings), bindings.length > 0);
    }
    if (this.#haveNodesChanged) put(this.#keys.nodes(), (row) => this.#nodes.writeInto(row));
    if (this.#hasLevelChanged) put(this.#keys.level(), (row) => writeLevel(row, this.#level));
    for (const block of this.#changedKeys) {
      const keys = this.#apiKeys.inBlock(block);
      put(this.#keys.apiKeys(block), (row) => writeKeys(row, keys), keys.length > 0);
    }
    put(this.#keys.applied(), (row) => writeCatalogApplied(row, this.#applied));
    this.#changedBlocks.clear();
    this.#haveNodesChanged = false;
    this.#hasLevelChanged = false;
    this.#changedKeys.clear();
  }

  #decide(entry: CatalogEntry): CatalogOutcome {
    switch (entry.kind) {
      case 'create':
        return this.#create(entry);
      case 'delete':
        return this.#delete(entry);
      case 'set-copies':
        return this.#setCopies(entry);
      case 'register':
        return this.#nodes.register(entry.registration, this.#level);
      case 'mark':
        return this.#mark(entry);
      case 'recover':
        return this.#recover(entry);
      case 'raise':
        return this.#raise(entry.level);
      case 'keep-key':
        return this.#apiKeys.keep(entry.key);
      case 'remove-key':
        return this.#apiKeys.remove(entry.id);
      case 'place':
      case 'placed':
        return this.#move(entry);
      default:
        return unreachable(entry);
    }
  }

  #create(entry: CatalogEntry & { readonly kind: 'create' }): CatalogOutcome {
    const taken = this.#bindings.lookup(entry.name);
    if (taken !== undefined) return { kind: 'exists', binding: taken };
    const { name, databaseId, createdAtMs, replicas, copies } = entry;
    const held = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
    const binding = { name, databaseId, createdAtMs, copies, ...held, group: this.#takeGroup() };
    this.#bindings.set(binding);
    return { kind: 'created', binding };
  }

  #delete(entry: CatalogEntry & { readonly kind: 'delete' }): CatalogOutcome {
    const binding = this.#bindings.lookup(entry.name, entry.databaseId);
    if (binding === undefined) return { kind: 'absent' };
    this.#bindings.delete(entry.name);
    return { kind: 'deleted', binding };
  }

  #setCopies(entry: CatalogEntry & { readonly kind: 'set-copies' }): CatalogOutcome {
    const before = this.#bindings.lookup(entry.name, entry.databaseId);
    if (before === undefined || before.copies === entry.copies) return { kind: 'unmoved' };
    const binding = { ...before, copies: entry.copies };
    this.#bindings.set(binding);
    return { kind: 'moved', binding };
  }

  #move(entry: CatalogEntry & { readonly kind: 'place' | 'placed' }): CatalogOutcome {
    const { group, placement } = entry;
    const before = this.#bindings.ofGroup(group);
    if (before === undefined || (entry.kind === 'place' && !this.#mayHold(before, entry.nodes))) {
      return { kind: 'unmoved' };
    }
    const binding = entry.kind === 'place' ? place(before, placement, entry.nodes) : settle(before, placement);
    if (binding === undefined) return { kind: 'unmoved' };
    this.#bindings.set(binding);
    return { kind: 'moved', binding };
  }

  /** True when none of the nodes that would get a new replica is leaving or removed, or a learner. */
  #mayHold({ replicas }: Binding, nodes: readonly NodeId[]): boolean {
    const holders = replicas.map(nodeOf);
    return this.nodes().every((each) => mayVote(each) || holders.includes(each.node) || !nodes.includes(each.node));
  }

  #recover(entry: RecoverEntry): CatalogOutcome {
    const before = this.#bindings.ofGroup(entry.group);
    const binding = before && recover(before, entry, this.#applied.nextGroup);
    if (before === undefined || binding === undefined) return { kind: 'unmoved' };
    this.#takeGroup();
    this.#bindings.set(binding);
    return { kind: 'recovered', before, binding };
  }

  #mark({ node, state }: CatalogEntry & { readonly kind: 'mark' }): CatalogOutcome {
    const holds = (this.#bindings.copies.get(node) ?? 0) > 0;
    return state === 'removed' && holds ? { kind: 'unmoved' } : this.#nodes.mark(node, state);
  }

  /** The level never decreases, and every node supports it (D20). */
  #raise(level: number): CatalogOutcome {
    if (level <= this.#level || !this.#nodes.know(level)) return { kind: 'unmoved' };
    this.#level = level;
    return { kind: 'raised', level };
  }

  #takeGroup(): GroupId {
    const group = this.#applied.nextGroup;
    this.#applied = { ...this.#applied, nextGroup: toGroupId(group + 1) };
    return group;
  }

  #noteChange(payload: Uint8Array, outcome: CatalogOutcome): void {
    switch (outcome.kind) {
      case 'exists':
      case 'absent':
      case 'unmoved':
      case 'known':
      case 'unsupported':
      case 'key-unmoved':
        return;
      case 'registered':
        this.#haveNodesChanged = true;
        break;
      case 'raised':
        this.#hasLevelChanged = true;
        break;
      case 'key-kept':
      case 'key-removed':
        this.#changedKeys.add(blockOfKey(outcome.kind === 'key-kept' ? outcome.key.id : outcome.id));
        break;
      case 'recovered':
        this.#changedBlocks.add(blockOfGroup(outcome.before.group)).add(blockOfGroup(outcome.binding.group));
        break;
      case 'created':
      case 'deleted':
      case 'moved':
        this.#changedBlocks.add(blockOfGroup(outcome.binding.group));
    }
    const { revision, chainHash } = this.#applied;
    const next = { revision: toRevision(revision + 1), chainHash: this.#source.sha256([chainHash, payload]) };
    this.#applied = { ...this.#applied, ...next };
  }

  #readBlock(block: number): void {
    const key = this.#keys.bindings(block);
    const value = this.#source.kv.get(key);
    if (value === undefined) return;
    for (const binding of readBindings(key, value)) this.#bindings.set(binding);
  }
}

function emptyCatalog({ sha256 }: DatabaseSource, membership: Uint8Array): CatalogApplied {
  return {
    index: toLogIndex(0),
    term: toTerm(0),
    logStart: toLogIndex(0),
    group: { index: toLogIndex(0), membership },
    revision: toRevision(0),
    chainHash: sha256([encodeUtf8(GENESIS)]),
    nextGroup: toGroupId(FIRST_GROUP),
  };
}

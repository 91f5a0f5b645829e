/**
 * The front: implements `Node` for the layers above, over a link to the core.
 *
 * All requests of one turn of the event loop are sent in one message. A report is processed in a fixed order: catalog,
 * revisions, then answers. So a client that knows a database can see it. A revision that a client was shown is a floor
 * for later reads, which wait until its rows are in the store (C6).
 *
 *   C32  While this process has never known another node, every client learns about databases from this front. So
 *        the highest revision that it has returned is the latest, and the core is not asked, except the first time:
 *        that opens the group and checks what the store has.
 */
import {
  assert,
  CATALOG_GROUP,
  DatabaseError,
  type DatabaseId,
  type GroupId,
  type LeaderAddress,
  type NodeId,
  nodeOf,
  type ReplicaId,
  type Revision,
  Slots,
  toRevision,
} from '#base';
import { encodeCatalogEntry } from '#database';
import type { KvReader } from '#kv';
import { type ApiKey, decodeDefinitionEntry } from '#model';
import { type DiskLevel, PAYLOAD_BYTES_MAX } from '#storage';
import type { Administers } from '../admin/administration.ts';
import { CatalogLease } from '../catalog/catalog-lease.ts';
import { type CatalogState, LiveCatalog, leadsWithOthers } from '../catalog/catalog-mirror.ts';
import { type CoreLimits, LIMITS } from '../limits.ts';
import type { CoreLink, Damage, HistoryNote, Report, Settlement, Token } from '../link.ts';
import {
  type CatalogMirror,
  type ClientAddresses,
  type CreateOptions,
  type Node,
  type NodeHealth,
  type NodeIdentity,
  ownReplica,
  type TransactOptions,
  type Unfinished,
  type WaitOutcome,
  type WriteOptions,
} from '../node.ts';
import type {
  Binding,
  CreateOutcome,
  DefinitionOutcome,
  DeleteOutcome,
  KeyOutcome,
  TransactOutcome,
} from '../outcome.ts';
import {
  CATALOG_TITLE,
  catalogDiverged,
  definitionUnreadable,
  draining,
  notLeader,
  payloadTooLarge,
  type Title,
  titleOf,
} from '../refusals.ts';
import { absenceOf } from './absence.ts';
import type { FrontObserver } from './node-metrics.ts';
import { RevisionWaits } from './revision-waits.ts';
import { type Asked, outcomeOf, type Pending, readRevision, Turn } from './turn.ts';

export interface FrontPorts extends Partial<Pick<Node, 'peerAddress'> & Administers> {
  readonly link: CoreLink;
  readonly reader: KvReader;
  readonly identity: NodeIdentity;
  readonly name: string;
  /** The catalog of the core when the link opens. */
  readonly catalog: CatalogState;
  readonly disk: () => DiskLevel;
  /** From the reports of the core every second; by default healthy. */
  readonly core?: () => Pick<NodeHealth, 'isClockFar' | 'coreSilentMs' | 'hasCaughtUp' | 'refusedBy'>;
  /** Returns whether this node drains with `--stay`; by default false. */
  readonly isDraining?: () => boolean;
  readonly storedRevision: (group: GroupId) => Revision;
  /** Databases whose rows were being rebuilt when the link opened; by default none. */
  readonly rebuilding?: Iterable<GroupId>;
  /** Reason to refuse writes to a database above its quota. */
  readonly overQuota?: (group: GroupId, name: string | undefined) => DatabaseError | undefined;
  /** Runs the flush at the end of this turn of the event loop. */
  readonly schedule: (flush: () => void) => void;
  readonly monotonicMs: () => number;
  readonly observer: FrontObserver;
  /** The core has reported divergence or lost entries of a replica. */
  readonly onHistory?: (note: HistoryNote, title: Title) => void;
  /** Limits of the core. */
  readonly limits?: Pick<CoreLimits, 'leaseMs' | 'leaseRenewMs'>;
  /** Reason why this node serves nothing, in the wrong cluster; undefined: it serves. */
  readonly refusal?: () => DatabaseError | undefined;
  /** Announces the client addresses of this node to other nodes. */
  readonly announce?: (clients: ClientAddresses) => void;
  /** Closes what the node opened besides the core. */
  readonly close: () => Promise<void>;
}

const NO_OPTIONS: TransactOptions = {};

export class FrontNode implements Node, Administers {
  readonly #ports: FrontPorts;
  readonly #catalog: LiveCatalog;
  readonly #lease: CatalogLease;
  readonly #revisions: RevisionWaits;
  readonly #pending = new Slots<Pending>();
  readonly #leaders = new Map<GroupId, NodeId | undefined>();
  /** The diverged replicas of this node (C42), which count as absent. */
  readonly #diverged = new Set<GroupId>();
  /** Databases whose rows are being rebuilt, or cannot be (C43): their replicas count as absent, too. */
  readonly #withdrawn: Map<GroupId, Damage | undefined>;
  /** Groups that the core has reported on since this process started; the first request opens a group. */
  readonly #confirmed = new Set<GroupId>();
  #turn: Turn = new Turn();
  #isScheduled = false;
  /** True when the core knows that a client waits for rows. */
  #isFollowing = false;
  #pendingProposals = 0;
  #address = '';
  #leaving: Promise<void> | undefined;
  #draining: Promise<void> | undefined;

  constructor(ports: FrontPorts) {
    this.#ports = ports;
    this.#catalog = new LiveCatalog(ports.catalog);
    const { limits = LIMITS, monotonicMs } = ports;
    this.#lease = new CatalogLease({ limits, monotonicMs, ask: () => this.confirmedLatest(CATALOG_GROUP) });
    this.#revisions = new RevisionWaits(ports.storedRevision);
    this.#withdrawn = new Map(Array.from(ports.rebuilding ?? [], (group) => [group, undefined]));
    ports.link.onReport((report) => this.#take(report));
  }

  get identity(): NodeIdentity {
    return this.#ports.identity;
  }

  get peerAddress(): string | undefined {
    return this.#ports.peerAddress;
  }

  get catalog(): CatalogMirror {
    return this.#catalog;
  }

  get reader(): KvReader {
    return this.#ports.reader;
  }

  get #refusal(): DatabaseError | undefined {
    return this.#draining === undefined ? this.#ports.refusal?.() : draining();
  }

  currentCatalog(): Promise<void> | undefined {
    // No more requests are answered, and other nodes need not wait for this node's clients.
    const refusal = this.#refusal ?? (this.#diverged.has(CATALOG_GROUP) ? catalogDiverged() : undefined);
    return refusal === undefined ? this.#lease.take() : this.#refuse('read', refusal);
  }

  absence(group: GroupId): DatabaseError | undefined {
    const binding = this.#catalog.bindingOf(group);
    if (binding === undefined) return undefined;
    return absenceOf(binding, this.identity.node, {
      isHere: this.#own(binding) !== undefined,
      hasDiverged: this.#diverged.has(group),
      isWithdrawn: this.#withdrawn.has(group),
      damage: this.#withdrawn.get(group),
      shown: this.#revisions.ahead(group),
      leader: this.#leaders.get(group),
      disk: this.#ports.disk(),
    });
  }

  leaderOf(group: GroupId): LeaderAddress | undefined {
    const node = this.#leaders.get(group) ?? this.#soleHolder(group);
    if (node === undefined) return undefined;
    if (node === this.#ports.identity.node) return { node: this.#ports.name, address: this.#address };
    const registered = this.#catalog.node(node);
    return { node: registered?.name ?? `node-${node}`, address: registered?.grpc ?? '' };
  }

  notLeading(group: GroupId): DatabaseError | undefined {
    const node = this.#leaders.get(group) ?? this.#soleHolder(group);
    const leader = this.leaderOf(group);
    if (node === undefined || leader === undefined || node === this.identity.node) return undefined;
    const { code, message, details } = notLeader(titleOf(this.#catalog.bindingOf(group)?.name), node);
    return new DatabaseError(code, message, { details: { ...details, leader } });
  }

  get administer(): Administers['administer'] {
    return this.#ports.administer;
  }

  advertise(clients: ClientAddresses): void {
    this.#address = clients.grpc;
    this.#ports.announce?.(clients);
  }

  createDatabase(name: string, { copies = 0, requireLeader = false }: CreateOptions = {}): Promise<CreateOutcome> {
    const add = (token: Token): unknown => this.#turn.creates.push({ token, name, copies, staysHere: requireLeader });
    return this.#ask('proposal', { add, answer: (settled) => outcomeOf(settled, ['created', 'exists']) });
  }

  deleteDatabase(name: string, databaseId?: DatabaseId, options: WriteOptions = {}): Promise<DeleteOutcome> {
    const instance = databaseId !== undefined && { databaseId };
    const payload = encodeCatalogEntry({ kind: 'delete', name, ...instance });
    return this.#propose(CATALOG_GROUP, payload, options, (settled) => outcomeOf(settled, ['deleted', 'absent']));
  }

  transact(group: GroupId, payload: Uint8Array, options: TransactOptions = NO_OPTIONS): Promise<TransactOutcome> {
    if (payload.length > PAYLOAD_BYTES_MAX) {
      return this.#refuse('proposal', payloadTooLarge(payload.length, PAYLOAD_BYTES_MAX));
    }
    const refusal = this.#overQuota(group);
    if (refusal !== undefined) return this.#refuse('proposal', refusal);
    return this.#propose(group, payload, options, (settled) => {
      const outcome = outcomeOf(settled, ['committed', 'replayed', 'violated', 'too-broad']);
      if (this.#catalog.has(group)) this.#revisions.answer(group, outcome.revision);
      return outcome;
    });
  }

  define(group: GroupId, payload: Uint8Array, options: WriteOptions = {}): Promise<DefinitionOutcome> {
    // An entry that replicas cannot read would stop each of them at every start, so it must not reach a log.
    if (decodeDefinitionEntry(payload) === undefined) return this.#refuse('proposal', definitionUnreadable());
    const refusal = this.#overQuota(group);
    if (refusal !== undefined) return this.#refuse('proposal', refusal);
    return this.#propose(group, payload, options, (settled) => outcomeOf(settled, ['definition']).outcome);
  }

  #overQuota(group: GroupId): DatabaseError | undefined {
    return this.#ports.overQuota?.(group, this.#catalog.bindingOf(group)?.name);
  }

  keepApiKey(key: ApiKey): Promise<KeyOutcome> {
    return this.#changeKey(encodeCatalogEntry({ kind: 'keep-key', key }));
  }

  removeApiKey(id: string): Promise<KeyOutcome> {
    return this.#changeKey(encodeCatalogEntry({ kind: 'remove-key', id }));
  }

  latest(group: GroupId): Promise<Revision> {
    const answered = this.#latestAnswered(group);
    return answered === undefined ? this.confirmedLatest(group) : this.#shown(group, answered);
  }

  async confirmedLatest(group: GroupId): Promise<Revision> {
    const shared = this.#turn.sharedReads?.get(group);
    if (shared !== undefined) return shared;
    const read = this.#read(group);
    this.#turn.sharedReads ??= new Map();
    this.#turn.sharedReads.set(group, read);
    return read;
  }

  readable(group: GroupId): Revision {
    return this.#counts(group) ? this.#revisions.of(group) : toRevision(0);
  }

  answered(group: GroupId): Revision {
    return this.#counts(group) ? this.#revisions.answered(group) : toRevision(0);
  }

  show(group: GroupId, revision: Revision): void {
    if (this.#catalog.has(group)) this.#revisions.show(group, revision);
  }

  async waitFor(group: GroupId, revision: Revision, signal: AbortSignal): Promise<WaitOutcome> {
    if (!this.#catalog.has(group)) return 'gone';
    const outcome = this.#revisions.wait(group, revision, signal);
    this.#follow();
    return outcome;
  }

  onReadable(group: GroupId, listener: (revision: Revision | undefined) => void): () => void {
    if (this.#catalog.has(group)) {
      const stop = this.#revisions.listen(group, listener);
      this.#follow();
      return stop;
    }
    queueMicrotask(() => listener(undefined));
    return () => undefined;
  }

  runs(digest: string, fault?: string): void {
    if (this.#draining === undefined) this.#ports.link.runs(digest, fault);
  }

  health(): NodeHealth {
    // A health check also renews the lease, so that an idle node notices a lost catalog.
    this.currentCatalog()?.catch(() => undefined);
    const isDraining = (this.#leaving ?? this.#draining) !== undefined || this.#ports.isDraining?.() === true;
    return {
      accepting: !isDraining && this.#ports.refusal?.() === undefined,
      isDraining,
      disk: this.#ports.disk(),
      knowsCatalog: !this.#lease.isLost && !this.#diverged.has(CATALOG_GROUP),
      ...(this.#ports.core?.() ?? { isClockFar: false, coreSilentMs: 0, hasCaughtUp: true, refusedBy: undefined }),
      otherCluster: this.#ports.refusal?.()?.message,
      hasDiverged: this.#diverged.size > 0,
      pendingProposals: this.#pendingProposals,
    };
  }

  get unfinished(): Unfinished {
    const leads = leadsWithOthers(this.identity.node, this.#catalog, this.#leaders);
    return { leads, requests: this.#pending.size };
  }

  async leave(withinMs: number): Promise<void> {
    this.#leaving ??= this.#ports.link.leave(withinMs);
    await this.#leaving;
  }

  async drain(): Promise<void> {
    this.#draining ??= this.#drain();
    await this.#draining;
  }

  #changeKey(payload: Uint8Array): Promise<KeyOutcome> {
    const answer = (settled: Settlement): KeyOutcome => outcomeOf(settled, ['key-kept', 'key-removed', 'key-unmoved']);
    return this.#propose(CATALOG_GROUP, payload, NO_OPTIONS, answer);
  }

  #propose<Answer>(
    group: GroupId,
    payload: Uint8Array,
    { requireLeader: staysHere = false, onAdmitted }: TransactOptions,
    answer: (settled: Settlement) => Answer,
  ): Promise<Answer> {
    const asked = { group, payload, tellsAdmission: onAdmitted !== undefined, staysHere };
    const add = (token: Token): unknown => this.#turn.proposals.push({ token, ...asked });
    return this.#ask('proposal', { add, answer, onAdmitted });
  }

  async #drain(): Promise<void> {
    this.#flush();
    await this.#ports.link.drain();
    await this.#ports.close();
  }

  /**
   * The latest revision of a database whose only replica is here, on a node that is alone: the highest that was
   * returned, because every client learns it from this front (C32). Undefined: the core must be asked.
   */
  #latestAnswered(group: GroupId): Revision | undefined {
    const { link } = this.#ports;
    if (!this.#confirmed.has(group) || !link.isAlone || this.#draining !== undefined) return undefined;
    return this.#catalog.has(group) ? this.#revisions.answered(group) : undefined;
  }

  /**
   * Resolves with the revision as soon as its rows can be read; for a group that is gone meanwhile, with the answer of
   * the core.
   */
  async #shown(group: GroupId, revision: Revision): Promise<Revision> {
    const { monotonicMs, observer } = this.#ports;
    const sinceMs = monotonicMs();
    if (this.#revisions.of(group) < revision) {
      const waiting = this.#revisions.wait(group, revision);
      this.#follow();
      if ((await waiting) === 'gone') return this.confirmedLatest(group);
    }
    observer.read({ elapsedMs: monotonicMs() - sinceMs });
    return revision;
  }

  async #read(group: GroupId): Promise<Revision> {
    if (group === CATALOG_GROUP && this.#diverged.has(group)) return this.#refuse('read', catalogDiverged());
    const askedMs = this.#ports.monotonicMs();
    const add = (token: Token): unknown => this.#turn.reads.push({ token, group });
    const revision = await this.#ask('read', { add, answer: readRevision });
    if (group === CATALOG_GROUP) this.#lease.confirmed(askedMs);
    this.#revisions.advance(group, revision);
    if (group !== CATALOG_GROUP && this.#catalog.has(group)) this.#confirmed.add(group);
    return revision;
  }

  /** Adds a request to the message of this turn; resolves or rejects with its settlement. */
  #ask<Answer>(kind: Pending['kind'], { add, answer, onAdmitted }: Asked<Answer>): Promise<Answer> {
    const refusal = this.#refusal;
    if (refusal !== undefined) return this.#refuse(kind, refusal);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (kind === 'proposal') this.#pendingProposals += 1;
    const settle = (settlement: Settlement): void => {
      if (settlement.kind === 'refused') reject(settlement.error);
      else resolve(answer(settlement));
    };
    add(this.#pending.add({ kind, startedMs: this.#ports.monotonicMs(), settle, onAdmitted }));
    this.#schedule();
    return promise;
  }

  /** A database with a single replica has no other possible leader, whether its group is open or not. */
  #soleHolder(group: GroupId): NodeId | undefined {
    const replicas = this.#catalog.bindingOf(group)?.replicas;
    const only = replicas?.length === 1 ? replicas[0] : undefined;
    const isNone = only === undefined || this.#leaders.has(group) || this.#withdrawn.has(group);
    return isNone ? undefined : nodeOf(only);
  }

  /** Lets the core report rows at once while a client waits for them; the next message of any kind ends that. */
  #follow(): void {
    if (this.#revisions.isFollowed && !this.#isFollowing && this.#draining === undefined) this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const follows = this.#revisions.isFollowed;
    if (this.#turn.isEmpty && (this.#isFollowing || !follows)) return;
    this.#isFollowing = follows;
    const commands = this.#turn;
    commands.follows = follows;
    this.#turn = new Turn();
    this.#ports.link.send(commands);
  }

  #take({ catalog, catalogIndex, readable, leaders, admitted, settlements, histories = [] }: Report): void {
    for (const { group, node } of leaders) this.#leaders.set(group, node);
    for (const change of catalog) {
      const before = change.kind === 'moved' ? this.#catalog.lookup(change.binding.name) : undefined;
      this.#catalog.apply(change);
      if (change.kind === 'deleted') {
        this.#revisions.remove(change.binding.group);
        this.#confirmed.delete(change.binding.group);
        this.#forgetReplica(change.binding.group);
      } else if (change.kind === 'moved' && this.#own(before) !== this.#own(change.binding)) {
        this.#revisions.restart(change.binding.group);
        this.#forgetReplica(change.binding.group);
      }
    }
    if (catalogIndex > 0 && this.#draining === undefined) {
      this.#turn.shown = catalogIndex;
      this.#schedule();
    }
    for (const { group, revision } of readable) if (this.#catalog.has(group)) this.#revisions.advance(group, revision);
    for (const note of histories) this.#noteHistory(note);
    for (const token of admitted) this.#pending.get(token)?.onAdmitted?.();
    const nowMs = this.#ports.monotonicMs();
    for (const settlement of settlements) this.#settle(settlement, nowMs);
  }

  #forgetReplica(group: GroupId): void {
    for (const known of [this.#leaders, this.#diverged, this.#withdrawn]) known.delete(group);
  }

  /** Forgets the revisions that a diverged replica has shown; its waiting requests are relayed to other nodes. */
  #noteHistory(note: HistoryNote): void {
    const { group } = note;
    const name = this.#catalog.bindingOf(group)?.name;
    this.#ports.onHistory?.(note, group === CATALOG_GROUP ? CATALOG_TITLE : titleOf(name));
    if (note.kind === 'rebuilding') this.#withdrawn.set(group, undefined);
    if (note.kind === 'damaged') this.#withdrawn.set(group, note);
    if (note.kind === 'rebuilt') this.#withdrawn.delete(group);
    if (note.kind !== 'diverged') return;
    this.#diverged.add(group);
    this.#confirmed.delete(group);
    this.#revisions.remove(group);
  }

  #counts(group: GroupId): boolean {
    return this.#catalog.has(group) && !this.#diverged.has(group) && !this.#withdrawn.has(group);
  }

  /** The replica of this node among those of a database. */
  #own(binding: Binding | undefined): ReplicaId | undefined {
    return binding && ownReplica(this.identity, binding);
  }

  #settle(settlement: Settlement, nowMs: number): void {
    const pending = this.#pending.remove(settlement.token);
    assert(pending !== undefined, 'A request is answered once', settlement.token);
    const elapsedMs = nowMs - pending.startedMs;
    if (pending.kind === 'proposal') this.#pendingProposals -= 1;
    if (settlement.kind === 'refused') this.#noteRefusal(pending.kind, settlement.error);
    else if (pending.kind === 'proposal') this.#ports.observer.proposed({ elapsedMs });
    else this.#ports.observer.read({ elapsedMs });
    pending.settle(settlement);
  }

  #refuse(kind: Pending['kind'], error: DatabaseError): Promise<never> {
    this.#noteRefusal(kind, error);
    return Promise.reject(error);
  }

  #noteRefusal(kind: Pending['kind'], error: DatabaseError): void {
    this.#ports.observer.refused({ error, isProposal: kind === 'proposal' });
  }
}

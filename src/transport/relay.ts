/**
 * Relays requests for a database without a replica on this node: chooses another node, and handles failures on the way.
 *
 * ```
 *   no replica here (V10) ── the request was already relayed ──> NotReplica
 *        │
 *        └──> a node with a replica ── answers ──────────────────> its reply
 *              ├── is unreachable, or did not try ──> the next node ── there is none ──> NoHolderReached
 *              └── connection lost ── idempotent ───> the next node ── refuses a write ──> the next, or OutcomeUnknown
 *                                  └── not ─────────> OutcomeUnknown
 * ```
 *
 * A node is probed before anything is sent to it, and again while its reply is awaited.
 *
 * This file has what both protocols share: the order of the nodes, their state, the metrics. Each protocol carries the
 * request and its reply.
 *
 *   TM5  A request for a database without a replica here (V10) is answered by a node with one: status, headers, messages
 *        and body are that node's, byte for byte. Its reader costs this node at most a window of one stream.
 *   TM6  A request is relayed once, and not again by the node that receives it. Another node is tried only when the
 *        previous one did not try, or when the request is idempotent. A client never gets parts of two replies.
 *   TM8  A refusal of a write means that it is not stored. After a lost attempt no refusal is passed on: it may concern
 *        the disk, load or limits of the last node, while the previous one has committed.
 */
import { DatabaseError, type GroupId, isDatabaseId, isRevision, type NodeId } from '#base';
import {
  ending,
  type Logger,
  type Metrics,
  type RelayProtocol,
  type RelayResult,
  type Traced,
  type TraceHeaders,
} from '#observability';
import type { Elsewhere, Holder, Service, Shown } from '#service';
import { countedHeader, type RateLimits } from './rate-limits.ts';
import { type Dial, dialWith } from './secure.ts';

/** Header and metadata of a relayed request: the name of the node that relays it. */
export const RELAYED = 'x-cairn-relayed';
/** Header and metadata of a relayed read: what clients of that node were shown, as `<database id>;<revision>`. */
export const SHOWN = 'x-cairn-shown';
/** Header of an HTTP reply to a relayed request that the node has not tried. */
export const UNTRIED = 'x-cairn-untried';
/** Trailer of a reply to a write over gRPC. */
const LEADER_NODE = 'x-leader-node';

/** A node that was not reached is asked after all others for so long. */
const SUSPECT_MS = 15_000;

/** Databases whose leader is known; beyond it all are forgotten. */
const LEADERS_MAX = 10_000;

const RETRY_AFTER_MS = 1_000;

/** Reasons of errors of a node that has not tried the request. */
const UNTRIED_REASONS: ReadonlySet<string | undefined> = new Set(['NotReplica', 'Draining', 'CatalogNotConfirmed']);

export function isUntried(reason: string | undefined): boolean {
  return UNTRIED_REASONS.has(reason);
}

/** Parts of a request that decide which nodes are asked, and how often. */
export interface Asked extends Traced {
  readonly protocol: RelayProtocol;
  readonly isWrite: boolean;
  /** Returns whether the request is idempotent; called when an answer is lost. */
  readonly isRepeatable: () => boolean;
}

/** Parts of a request to one node. */
export interface Asking {
  readonly holder: Holder;
  /** Revision that the node must have applied, because a client has seen it. Absent: only the client's requirement. */
  readonly shown: Shown | undefined;
  /** Headers by which the node continues the trace; absent: those of the request are passed on. */
  readonly trace?: TraceHeaders | undefined;
  /** It is a write, and an attempt before this one was lost: a refusal is not passed on (TM8). */
  readonly isAfterLost: boolean;
}

/** Result of a request to a node, as the metrics count it. */
export type Relayed =
  /** The client has its answer, which has these headers. */
  | { readonly kind: 'answered'; readonly header: (name: string) => string | undefined }
  /** The client has the beginning of an answer, and an error that no more comes. */
  | { readonly kind: 'broken' }
  | { readonly kind: 'unreached' }
  /** The node may have done it. */
  | { readonly kind: 'lost' }
  /** The client has gone. */
  | { readonly kind: 'abandoned' };

/** `untried`: the node did not try, or refuses what another one may have done; the next one is asked. */
export type Attempt = Relayed | { readonly kind: 'untried' };

export type AskHolder = (asking: Asking) => Promise<Attempt>;

export interface RelayParts {
  readonly service: Service;
  /** The name of this node. */
  readonly name: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Dials nodes with TLS. Default: like any client. */
  readonly dial?: Dial;
  readonly rateLimits?: RateLimits | undefined;
  /** A monotonic clock. */
  readonly nowMs?: () => number;
}

export class Relay {
  readonly dial: Dial;
  readonly #parts: RelayParts;
  readonly #nowMs: () => number;
  /** Names of leaders, by what replies to writes have said. */
  readonly #leaders = new Map<GroupId, string>();
  /** Nodes that were not reached, and until when they are asked after all others. */
  readonly #suspects = new Map<NodeId, number>();

  constructor(parts: RelayParts) {
    const { dial = dialWith(() => undefined), nowMs = () => performance.now() } = parts;
    this.#parts = parts;
    this.dial = dial;
    this.#nowMs = nowMs;
  }

  /** Other nodes that can answer; undefined: the failure is the answer. `relayedBy`: header of the request. */
  elsewhere(failure: unknown, relayedBy: unknown): Elsewhere | undefined {
    return relayedBy === undefined ? this.#parts.service.elsewhere(failure) : undefined;
  }

  /** Headers and metadata that this node adds to a request that it relays. */
  headersFor({ shown, trace }: Asking): Readonly<Record<string, string>> {
    const { name, rateLimits } = this.#parts;
    const had = shown === undefined ? {} : { [SHOWN]: `${shown.databaseId};${shown.revision}` };
    return { ...had, ...trace, [RELAYED]: name, ...countedHeader(rateLimits) };
  }

  /**
   * Asks one node after the other until the client has an answer, or has gone.
   * @throws DatabaseError unavailable: there is no answer
   */
  async relay(where: Elsewhere, asked: Asked, ask: AskHolder): Promise<void> {
    let lostBy: Holder | undefined;
    for (const holder of this.#inOrder(where, asked)) {
      const isAfterLost = lostBy !== undefined;
      const attempt = await traced(asked, { holder, shown: this.#shownOf(where, asked), isAfterLost }, ask);
      const { kind } = attempt;
      if (kind === 'answered') this.#learn(where, holder, attempt.header);
      if (kind === 'answered' || kind === 'broken' || kind === 'abandoned') return this.#count(asked, kind);
      if (kind === 'unreached' || kind === 'lost') this.#suspect(holder);
      if (kind === 'lost' && asked.isWrite) lostBy = holder;
      if (lostBy !== undefined && !asked.isRepeatable()) break;
    }
    this.#count(asked, lostBy === undefined ? 'unreached' : 'lost');
    throw lostBy === undefined ? noHolderReached(where.holders) : outcomeUnknown(lostBy, asked.isRepeatable());
  }

  /** Asks the only node that can answer. */
  async relayTo(
    holder: Holder,
    asked: Pick<Asked, 'protocol' | 'span'>,
    ask: (asking: Asking) => Promise<Relayed>,
  ): Promise<RelayResult> {
    const { kind } = await traced(asked, { holder, shown: undefined, isAfterLost: false }, ask);
    this.#count(asked, kind);
    return kind;
  }

  /** The best first, and the same for all reads of a database. Databases begin with different nodes. */
  #inOrder({ group, holders }: Elsewhere, { isWrite }: Asked): readonly Holder[] {
    const start = holders.length === 0 ? 0 : group % holders.length;
    const nowMs = this.#nowMs();
    const rank = ({ node, name, isNear }: Holder): number => {
      if (this.#isSuspect(node, nowMs)) return 3;
      if (isWrite && name === this.#leaders.get(group)) return 0;
      return isNear ? 1 : 2;
    };
    const turned = [...holders.slice(start), ...holders.slice(0, start)];
    return turned.toSorted((one, other) => rank(one) - rank(other));
  }

  /**
   * Revision that a node must have applied because a client has seen it: `cached` never goes back.
   * It is sent also to the node that returned it, which may have restarted. A node may know the name as another
   * instance.
   */
  #shownOf({ group, databaseId }: Elsewhere, { isWrite }: Asked): Shown | undefined {
    const revision = this.#parts.service.shown(group);
    return isWrite || revision === 0 ? undefined : { databaseId, revision };
  }

  #learn({ group, databaseId }: Elsewhere, { node }: Holder, header: (name: string) => string | undefined): void {
    this.#suspects.delete(node);
    const leader = header(LEADER_NODE);
    if (leader !== undefined) {
      if (this.#leaders.size === LEADERS_MAX) this.#leaders.clear();
      this.#leaders.set(group, leader);
    }
    const revision = Number(header('x-revision') ?? 0);
    if (header('x-database-id') === databaseId && isRevision(revision)) this.#parts.service.show(group, revision);
  }

  #suspect({ node, name }: Holder): void {
    const nowMs = this.#nowMs();
    if (this.#isSuspect(node, nowMs)) return;
    this.#suspects.set(node, nowMs + SUSPECT_MS);
    this.#parts.logger.warn('relay-fails', { nodeId: node, name });
  }

  #isSuspect(node: NodeId, nowMs: number): boolean {
    return (this.#suspects.get(node) ?? nowMs) > nowMs;
  }

  #count({ protocol }: Pick<Asked, 'protocol'>, result: RelayResult): void {
    this.#parts.metrics.counter('cairn_relayed_requests_total', { protocol, result }).add();
  }
}

/** Asks in a client span of its own, whose trace the other node continues. */
async function traced<Result extends Attempt>(
  { span: parent, protocol }: Pick<Asked, 'span' | 'protocol'>,
  asking: Asking,
  ask: (asking: Asking) => Promise<Result>,
): Promise<Result> {
  if (parent === undefined) return ask(asking);
  const { name, grpc, http } = asking.holder;
  const url = URL.parse(protocol === 'grpc' ? `http://${grpc}` : http);
  const span = parent.child('cairn.relay', 'client', {
    'cairn.relay.protocol': protocol,
    'cairn.relay.node': name,
    'server.address': url?.hostname,
    'server.port': Number(url?.port) || undefined,
  });
  return ending(span, async () => {
    const attempt = await ask({ ...asking, trace: span.headers() });
    span.set({ 'cairn.relay.result': attempt.kind });
    if (attempt.kind === 'lost' || attempt.kind === 'unreached' || attempt.kind === 'broken') span.fail();
    return attempt;
  });
}

/** Reads the revision that clients of the relaying node have seen. A header of a client is ignored. */
export function shownBy(header: (name: string) => string | undefined): { readonly shown?: Shown } {
  if (header(RELAYED) === undefined) return NOTHING_SHOWN;
  const [databaseId = '', text = ''] = header(SHOWN)?.split(';') ?? [];
  const revision = Number(text);
  return isDatabaseId(databaseId) && isRevision(revision) ? { shown: { databaseId, revision } } : NOTHING_SHOWN;
}

const NOTHING_SHOWN = {};

function outcomeUnknown({ name }: Holder, isRepeatable: boolean): DatabaseError {
  const remedy = isRepeatable
    ? 'Repeat it with the same transaction_id, and the answer is the recorded one if there is one'
    : 'It had no transaction_id: read whether its events are there before you send it again, and send one with what is to be repeatable';
  const message = `This node has no replica of the database and has relayed the request to ${name}, whose answer was lost: it may be committed or not. ${remedy}`;
  return new DatabaseError('unavailable', message, { details: { reason: 'OutcomeUnknown' } });
}

function noHolderReached(holders: readonly Holder[]): DatabaseError {
  const names = holders.map(({ name }) => name).join(', ');
  const message = `This node has no replica of the database, and no node that has one answers now: ${names}. Nothing was stored; retry`;
  return new DatabaseError('unavailable', message, {
    details: { reason: 'NoHolderReached', retryAfterMs: RETRY_AFTER_MS },
  });
}

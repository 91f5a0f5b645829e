/**
 * Relays requests for a database without a replica on this node: chooses another node, and handles failures on the way.
 *
 * ```
 *   no replica here (V10) ── the request was already relayed ──> NotReplica
 *        │
 *        └──> a node with a replica ── answers ──────────────────> its reply
 *              ├── is unreachable, or did not try ──> the next node ── there is none ──> NoHolderReached
 *              └── connection lost ── idempotent ───> the next node ── refuses a write ──> OutcomeUnknown
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
import { DatabaseError, type GroupId, isDatabaseId, isRevision, type NodeId, unreachable } from '#base';
import {
  type Count,
  ending,
  type Logger,
  type Metrics,
  type RelayProtocol,
  type RelayResult,
  type Traced,
  type TraceHeaders,
} from '#observability';
import type { Elsewhere, Holder, Service, Shown } from '#service';
import { type Dial, dialWith } from './secure.ts';

/** The header and the metadata that a relayed request carries: the name of the node that relays it. */
export const RELAYED = 'x-cairn-relayed';
/** With it: what clients of that node were shown, as `<database id>;<revision>`. */
export const SHOWN = 'x-cairn-shown';
/** Of a reply to a write, over gRPC. */
const LEADER_NODE = 'x-leader-node';

/** How long a node that was not reached is asked after all others, and at most when that happens again and again. */
const SUSPECT_MS = 2_000;
const SUSPECT_MS_MAX = 60_000;

/** Databases of which is known who has answered last. */
const KNOWN_MAX = 10_000;

const RETRY_AFTER_MS = 1_000;

/** Who refuses so has not tried, and another node may. */
const UNTRIED: ReadonlySet<string | undefined> = new Set(['NotReplica', 'Draining', 'CatalogNotConfirmed']);

export function isUntried(reason: string | undefined): boolean {
  return UNTRIED.has(reason);
}

/** What is asked, as far as it decides whom, and how often. */
export interface Asked extends Traced {
  readonly protocol: RelayProtocol;
  readonly isWrite: boolean;
  /** Whether it has the same effect twice as once; asked when an answer is lost. */
  readonly isRepeatable: () => boolean;
}

/** How a holder is asked. */
export interface Asking {
  readonly holder: Holder;
  /** What it must have applied, for a client was shown as much; absent: only what the client says. */
  readonly shown: Shown | undefined;
  /** Headers by which the holder goes on with the trace; absent: those of the request are passed on as they came. */
  readonly trace?: TraceHeaders | undefined;
  /** It is a write, and an attempt before this one was lost: a refusal is not passed on, but `refused` (TM8). */
  readonly isAfterLost: boolean;
}

/** What came of asking a holder. */
export type Attempt =
  /** The client has its answer, and these of its headers say what it is like. */
  | { readonly kind: 'answered'; readonly header: (name: string) => string | undefined }
  /** The client has its beginning, and knows that nothing more comes. */
  | { readonly kind: 'broken' }
  | { readonly kind: 'unreached' }
  /** It says so itself. */
  | { readonly kind: 'untried' }
  /** Nobody knows what it has done. */
  | { readonly kind: 'lost' }
  /** It refuses what another one may have done ({@link Asking.isAfterLost}); the client has nothing of that. */
  | { readonly kind: 'refused' }
  /** The client has left. */
  | { readonly kind: 'abandoned' };

export type AskHolder = (asking: Asking) => Promise<Attempt>;

export interface RelayParts {
  readonly service: Service;
  /** Of this node. */
  readonly name: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** How nodes are reached that speak TLS; as by any client unless given. */
  readonly dial?: Dial;
  /** From any beginning, never back. */
  readonly nowMs?: () => number;
}

/** Of a node that has not answered since: until when it is asked after all others, and for how long that is. */
interface Suspicion {
  readonly untilMs: number;
  readonly forMs: number;
}

interface Known {
  /** Who answers reads, for as long as it is reached: what it shows does not go back. */
  chosen?: NodeId;
  /** The name of the node that leads. */
  leader?: string;
}

export class Relay {
  readonly name: string;
  readonly dial: Dial;
  readonly #service: Service;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #nowMs: () => number;
  readonly #known = new Map<GroupId, Known>();
  readonly #suspects = new Map<NodeId, Suspicion>();
  readonly #counts = new Map<string, Count>();

  constructor(parts: RelayParts) {
    const { service, name, metrics, logger, dial = dialWith(() => undefined), nowMs = () => performance.now() } = parts;
    this.#service = service;
    this.name = name;
    this.dial = dial;
    this.#metrics = metrics;
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  /**
   * Who else can answer what failed here; undefined: the failure is the answer. `relayedBy`: the header of the request.
   */
  elsewhere(failure: unknown, relayedBy: string | undefined): Elsewhere | undefined {
    return relayedBy === undefined ? this.#service.elsewhere(failure) : undefined;
  }

  /**
   * Asks one holder after the other until the client has an answer, or has left.
   * @throws DatabaseError unavailable: there is no answer
   */
  async relay(where: Elsewhere, asked: Asked, ask: AskHolder): Promise<void> {
    const { group, holders } = where;
    const known = this.#knownOf(group);
    let lostBy: Holder | undefined;
    for (const holder of this.#inOrder(group, holders, known, asked)) {
      const isAfterLost = asked.isWrite && lostBy !== undefined;
      const attempt = await traced(asked, { holder, shown: this.#shownOf(where, asked), isAfterLost }, ask);
      switch (attempt.kind) {
        case 'answered':
          this.#learn(where, holder, attempt.header);
          this.#count(asked, 'answered');
          return;
        case 'broken':
        case 'abandoned':
          this.#count(asked, attempt.kind);
          return;
        case 'untried':
        case 'refused':
          break;
        case 'unreached':
          this.#suspect(holder);
          break;
        case 'lost':
          this.#suspect(holder);
          lostBy = holder;
          break;
        default:
          unreachable(attempt);
      }
      if (lostBy !== undefined && asked.isWrite && (attempt.kind === 'refused' || !asked.isRepeatable())) break;
    }
    if (lostBy !== undefined && asked.isWrite) {
      this.#count(asked, 'lost');
      throw outcomeUnknown(lostBy, asked.isRepeatable());
    }
    this.#count(asked, 'unreached');
    throw noHolderReached(holders);
  }

  #knownOf(group: GroupId): Known {
    const known = this.#known.get(group) ?? {};
    // The last of all to be forgotten.
    this.#known.delete(group);
    this.#known.set(group, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KNOWN_MAX) break;
      this.#known.delete(oldest);
    }
    return known;
  }

  /** The best first. Databases begin with another one each, so that they are spread. */
  #inOrder(group: GroupId, holders: readonly Holder[], known: Known, { isWrite }: Asked): readonly Holder[] {
    const start = holders.length === 0 ? 0 : group % holders.length;
    const nowMs = this.#nowMs();
    const rank = ({ node, name, isNear }: Holder): number => {
      if (this.#isSuspect(node, nowMs)) return 4;
      if (isWrite && name === known.leader) return 0;
      if (node === known.chosen) return 1;
      return isNear ? 2 : 3;
    };
    const turned = [...holders.slice(start), ...holders.slice(0, start)];
    return turned.toSorted((one, other) => rank(one) - rank(other));
  }

  /**
   * What a holder must have applied, for a client was shown as much: `cached` never goes back (decisions 6.2). Also the
   * one that has shown it: it may have been restarted, and have to apply it again. It may know the name as that of
   * another instance, of which this says nothing.
   */
  #shownOf({ group, databaseId }: Elsewhere, { isWrite }: Asked): Shown | undefined {
    const revision = this.#service.shown(group);
    return isWrite || revision === 0 ? undefined : { databaseId, revision };
  }

  #learn({ group, databaseId }: Elsewhere, { node }: Holder, header: (name: string) => string | undefined): void {
    const known = this.#knownOf(group);
    this.#suspects.delete(node);
    const leader = header(LEADER_NODE);
    if (leader !== undefined) known.leader = leader;
    else known.chosen = node;
    const revision = Number(header('x-revision') ?? 0);
    if (header('x-database-id') === databaseId && isRevision(revision)) this.#service.show(group, revision);
  }

  #suspect({ node, name }: Holder): void {
    const nowMs = this.#nowMs();
    if (this.#isSuspect(node, nowMs)) return;
    // Finding out that one is silent takes time of whoever asks: that is done ever more rarely.
    const forMs = Math.min(2 * (this.#suspects.get(node)?.forMs ?? SUSPECT_MS / 2), SUSPECT_MS_MAX);
    this.#suspects.set(node, { untilMs: nowMs + forMs, forMs });
    this.#logger.warn('relay-fails', { nodeId: node, name });
  }

  #isSuspect(node: NodeId, nowMs: number): boolean {
    return (this.#suspects.get(node)?.untilMs ?? 0) > nowMs;
  }

  #count({ protocol }: Asked, result: RelayResult): void {
    const key = `${protocol} ${result}`;
    const count = this.#counts.get(key) ?? this.#metrics.counter('cairn_relayed_requests_total', { protocol, result });
    this.#counts.set(key, count);
    count.add();
  }
}

/** Asks in a client span of its own, whose trace the holder goes on with. */
async function traced({ span: parent, protocol }: Asked, asking: Asking, ask: AskHolder): Promise<Attempt> {
  if (parent === undefined) return ask(asking);
  const { name, grpc, http } = asking.holder;
  const span = parent.child('cairn.relay', 'client', {
    'cairn.relay.protocol': protocol,
    'cairn.relay.node': name,
    'server.address': protocol === 'grpc' ? grpc : http,
  });
  return ending(span, async () => {
    const attempt = await ask({ ...asking, trace: span.headers() });
    span.set({ 'cairn.relay.result': attempt.kind });
    if (attempt.kind === 'lost' || attempt.kind === 'unreached' || attempt.kind === 'broken') span.fail();
    return attempt;
  });
}

export function formatShown({ databaseId, revision }: Shown): string {
  return `${databaseId};${revision}`;
}

/** What the node that relays a request says that its clients were shown; of a request of a client it is nothing. */
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
  const message = `This node holds no copy of the database and has passed the request to ${name}, whose answer was lost: it may be committed or not. ${remedy}`;
  return new DatabaseError('unavailable', message, { details: { reason: 'OutcomeUnknown' } });
}

function noHolderReached(holders: readonly Holder[]): DatabaseError {
  const names = holders.map(({ name }) => name).join(', ');
  const message = `This node holds no copy of the database, and none of those that do answers now: ${names}. Nothing was stored; send again`;
  return new DatabaseError('unavailable', message, {
    details: { reason: 'NoHolderReached', retryAfterMs: RETRY_AFTER_MS },
  });
}

/**
 * A store joins a cluster, and a node announces its address after every start. It asks any node, which answers or names
 * the leader of the catalog.
 *
 * ```
 *   store ── JoinRequest ──> a seed            names the leader
 *   store ── JoinRequest ──> the leader        registers the store in the catalog; answers its number
 *   store ── JoinRequest ──> a node whose catalog has the store as removed: replies so (C39)
 * ```
 * Requests may be repeated: the store id identifies the node.
 */
import { type Address, DatabaseError, formatAddress, type NodeId, type ReplicaId } from '#base';
import { isSame } from '#database';
import type { NodeRegistration } from '../outcome.ts';
import { nodeRemoved } from '../refusals.ts';
import type { Peer } from './peer-identity.ts';

export interface JoinRequest {
  /** The cluster that the store belongs to; undefined when it belongs to none yet. */
  readonly clusterId: string | undefined;
  readonly registration: NodeRegistration;
  /** Release that the asking node runs. */
  readonly release: string;
  /** Run of the process, as in its hellos; 0 while the store is not a node yet. */
  readonly run: number;
  /** Aborts when the caller has gone; absent where it waits. */
  readonly signal?: AbortSignal;
}

export interface Joined {
  readonly kind: 'joined';
  readonly clusterId: string;
  readonly node: NodeId;
  /** The initial voters of the catalog group. */
  readonly founders: readonly ReplicaId[];
  /** All reachable nodes that the answering node knows. */
  readonly nodes: readonly Peer[];
}

export type JoinReply =
  | Joined
  /** Names the leader of the catalog, which can answer. */
  | { readonly kind: 'elsewhere'; readonly leader: Address }
  /** No node can answer now; the caller retries. */
  | { readonly kind: 'later'; readonly reason: string }
  /** Retrying is useless. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The store was this node and was removed. Only a node whose catalog has applied the removal replies so. */
  | { readonly kind: 'removed'; readonly node: NodeId };

/** Asks one node. The reply is `later` when it cannot be reached or does not answer in time. */
export type AskToJoin = (address: Address, request: JoinRequest, timeoutMs: number) => Promise<JoinReply>;

/** Answers join requests to this node. */
export type Register = (request: JoinRequest) => Promise<JoinReply>;

/**
 * Handlers for the join requests of the node itself and for those from the network. A network request that names the
 * own store is refused, unless the node itself sent it (a seed may be the node's own address).
 */
export function forOwnAndOthers(
  storeId: string,
  register: Register,
): { readonly own: Register; readonly others: Register } {
  let said: NodeRegistration | undefined;
  return {
    own: (request) => {
      said = request.registration;
      return register(request);
    },
    others: async (request) => {
      const { registration } = request;
      const isRefused = registration.storeId === storeId && (said === undefined || !isSame(said, registration));
      if (!isRefused) return register(request);
      const reason = `the store ${storeId} is that of this node itself`;
      // A member with this store is another process of this node; the other nodes refuse it until it ends (TP12).
      return { kind: request.clusterId === undefined ? 'refused' : 'later', reason };
    },
  };
}

export interface JoinPorts {
  readonly ask: AskToJoin;
  readonly sleep: (ms: number) => Promise<void>;
  readonly monotonicMs: () => number;
  /** The addresses of the nodes that a seed names; absent: itself. */
  readonly resolve?: (seed: Address) => Promise<readonly DialledAddress[]>;
  /** Why this node founds no cluster yet; undefined: it does now. Absent: it never does. */
  readonly judge?: () => Promise<string | undefined>;
  /** Called after each attempt on all seeds, with the reason for waiting. */
  readonly onWaiting?: (why: string) => void;
}

/** One address of a name; the node there must have a certificate for the name. */
export interface DialledAddress extends Address {
  readonly ip?: string;
}

/** This node begins a cluster. */
export interface Founder {
  readonly kind: 'founder';
}

const ASK_TIMEOUT_MS = 5_000;
/** Maximum number of referrals to another leader. */
const HOPS_MAX = 4;
const PAUSE_FIRST_MS = 200;
const PAUSE_LAST_MS = 3_000;

/**
 * Asks the seeds in turn, repeatedly, and follows them to the leader. `waitMs` may be infinite.
 * @throws DatabaseError `unavailable` when none has answered in time, or the store was a node that was removed;
 *   `invalid_argument` when one refuses.
 */
export async function joinCluster(
  ports: JoinPorts,
  seeds: readonly Address[],
  request: JoinRequest,
  waitMs: number,
): Promise<Joined | Founder> {
  const endMs = ports.monotonicMs() + waitMs;
  const { resolve = (seed: Address) => Promise.resolve([seed]) } = ports;
  for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_LAST_MS)) {
    const said = new Map<string, string>();
    for (const seed of seeds) {
      const addresses = await resolve(seed);
      if (addresses.length === 0) said.set(formatAddress(seed), 'its name is not known');
      for (const address of addresses) {
        const reply = await askThrough(ports.ask, address, request);
        if (reply.kind === 'joined') return reply;
        const by = `The node at ${formatAddress(seed)}`;
        if (reply.kind === 'refused') throw joinRefused(`${by} does not let this one join: ${reply.reason}`);
        if (reply.kind === 'removed') throw nodeRemoved(reply.node);
        said.set(formatAddress(seed), reply.reason);
      }
    }
    const why = await ports.judge?.();
    if (ports.judge !== undefined && why === undefined) return { kind: 'founder' };
    ports.onWaiting?.(why ?? `no cluster can be joined yet (${each(said)})`);
    if (ports.monotonicMs() + pauseMs >= endMs) throw notJoined(said, waitMs);
    await ports.sleep(pauseMs);
  }
}

/** Asks at an address, and then where the answer points. */
export async function askThrough(
  ask: AskToJoin,
  first: Address,
  request: JoinRequest,
): Promise<Exclude<JoinReply, { readonly kind: 'elsewhere' }>> {
  let address = first;
  for (let hop = 0; hop < HOPS_MAX; hop++) {
    const reply = await ask(address, request, ASK_TIMEOUT_MS);
    if (reply.kind !== 'elsewhere') return reply;
    address = reply.leader;
  }
  return { kind: 'later', reason: 'the nodes name each other as leader of the catalog' };
}

/** A refusal that repetition does not change. */
export function joinRefused(message: string): DatabaseError {
  return new DatabaseError('invalid_argument', message, { details: { reason: 'JoinRefused' } });
}

function each(said: ReadonlyMap<string, string>): string {
  return [...said].map(([seed, reason]) => `${seed}: ${reason}`).join('; ');
}

function notJoined(said: ReadonlyMap<string, string>, waitMs: number): DatabaseError {
  const message = `No cluster could be joined within ${waitMs} ms (${each(said)}). Name a running node's peer address by --join; repeating is safe`;
  return new DatabaseError('unavailable', message, { details: { reason: 'NotJoined' } });
}

/**
 * Forwards requests of this node's clients to the leaders on other nodes, and handles forwarded requests of other
 * nodes.
 *
 * ```
 *   this node's client ── ask ──> sent ── accepted ──> awaited in the group until the entry is applied here
 *                                  │  └── refused ──> reported, or retried: it is no entry anywhere
 *                                  ├── no connection ──> retried: it was not sent
 *                                  ├── connection lost ──> retried, under the same transaction_id (C40)
 *                                  └── no answer in time ──> outcome unknown (C2)
 *
 *   another node's client ── take ──> a proposal with a negative token ── an entry ──> accepted
 *                                                                      └─ not accepted ──> refused
 * ```
 *   C14  A request is forwarded by the node of its client, to one node at a time, and to another one only when it was
 *        refused there, or is retried (C40). An answer belongs to a request of this process, never of an earlier one.
 *   C40  A request without an outcome is proposed again by the node of its client, if another entry was committed in
 *        its place, or if it is a transaction, which commits once however often it is an entry; only within
 *        `leaderWaitMs`, and `REPEATS_MAX` times. From then on it is committed or unknown: it is refused only for the
 *        result of an entry, and only when no attempt can become an entry after that one.
 */
import {
  assert,
  type DatabaseError,
  type GroupId,
  type LogIndex,
  type NodeId,
  quote,
  Slots,
  type Term,
  unreachable,
} from '#base';
import { isDatabaseName } from '#model';
import { PAYLOAD_BYTES_MAX } from '#storage';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { Lost, Waiting } from '../group/group-proposals.ts';
import type { Histories } from '../group/histories.ts';
import { isWithinShare } from '../group/node-memory.ts';
import type { CreateRequest, Proposal, Token } from '../link.ts';
import type { ClockItem, DepartureItem, FenceItem, ForwardItem } from '../peer/forward.ts';
import {
  draining,
  forwardsFull,
  malformedForward,
  nodeNotKnown,
  noLeader,
  notCommitted,
  outcomeUnknown,
  payloadTooLarge,
  type Title,
} from '../refusals.ts';

export interface ForwardsPorts extends GroupPorts {
  readonly lifecycle: { titleOf(group: GroupId): Title };
  /** Looked up when a message for them has arrived. */
  readonly parts: {
    readonly cluster: {
      readonly clocks: { heard(from: NodeId, item: ClockItem): void };
      readonly departures: { heard(from: NodeId, item: DepartureItem): void };
      readonly fence: { take(from: NodeId, item: FenceItem): void };
    };
    readonly histories: Pick<Histories, 'take'>;
  };
  /** Random for each process, 0 to 2^32 - 1. */
  readonly session: number;
}

/** No request of this process has this number, so its answers are ignored. */
const NO_REQUEST = 2 ** 32 - 1;

/** Approximate memory of a request besides its payload. */
const REQUEST_BYTES = 256;

/** Maximum number of answers kept for an unreachable node; its own limit in bytes bounds its requests. */
const ANSWERS_MAX = 2 ** 15;

/** The next leader may be lost as well. */
const REPEATS_MAX = 3;

/** A request without an answer. */
interface Sent extends Waiting {
  readonly to: NodeId;
  readonly sentMs: number;
}

interface Asker {
  readonly node: NodeId;
  readonly session: number;
  readonly id: number;
}

/** Requests of other nodes. */
export interface ForeignRequests {
  readonly proposals: readonly Proposal[];
  readonly creates: readonly CreateRequest[];
}

/** Refusals by a node that has not accepted the request, so that another one may. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set([
  'NotLeader',
  'NotReplica',
  'NoLeader',
  'Draining',
  'NodeNotKnown',
  'LevelNotReached',
  'ClockSkewed',
]);

export class Forwards {
  readonly #ports: ForwardsPorts;
  readonly #sent = new Slots<Sent>();
  readonly #sentBytes = new Map<NodeId, number>();
  readonly #bytesOf = new Map<GroupId, number>();
  readonly #askers = new Slots<Asker>();
  /** Requests that were refused by one node, or have no outcome, and must be retried. */
  #again: Waiting[] = [];
  #outgoing = new Map<NodeId, ForwardItem[]>();

  constructor(ports: ForwardsPorts) {
    this.#ports = ports;
  }

  /** Number of requests of this node that are not known to be entries. */
  get count(): number {
    return this.#sent.size + this.#again.length;
  }

  /** Memory of requests of the group without an answer. */
  bytesOf(group: GroupId): number {
    return this.#bytesOf.get(group) ?? 0;
  }

  /** Sends the request to the leader. */
  ask(to: NodeId, { proposal, sinceMs }: Waiting): void {
    const { limits, monotonicMs, reporter, session, lifecycle } = this.#ports;
    assert(!proposal.staysHere, 'What another node has asked for is not passed on', proposal.group);
    const wish = { own: this.bytesOf(proposal.group), added: costOf(proposal) };
    if (!isWithinShare(wish, limits.forwardedBytesMax - this.#bytesTo(to))) {
      reporter.refuse([proposal.token], forwardsFull(lifecycle.titleOf(proposal.group), to, limits.forwardedBytesMax));
      return;
    }
    this.#count(to, proposal, 1);
    const { group, payload, creates } = proposal;
    const id = this.#sent.add({ proposal, sinceMs, to, sentMs: monotonicMs() });
    if (creates === undefined) this.post(to, { kind: 'propose', session, id, group, payload });
    else this.post(to, { kind: 'create', session, id, name: creates.name, copies: creates.copies });
  }

  /** Forwards a payload to the leader of the group, without an answer. */
  tell(to: NodeId, group: GroupId, payload: Uint8Array): void {
    this.post(to, { kind: 'propose', session: this.#ports.session, id: NO_REQUEST, group, payload });
  }

  /** Handles answers; returns the requests of the other node, to be handled like those of the front. */
  take(from: NodeId, items: readonly ForwardItem[]): ForeignRequests {
    const proposals: Proposal[] = [];
    const creates: CreateRequest[] = [];
    const isKnown = this.#ports.isKnown(from);
    const { cluster, histories } = this.#ports.parts;
    for (const item of items) {
      switch (item.kind) {
        case 'propose':
        case 'create': {
          const token = this.#tokenOf(from, item);
          const refusal = isKnown ? this.#refusal(item) : nodeNotKnown(from);
          if (refusal !== undefined) this.refused(token, refusal);
          else if (item.kind === 'create')
            creates.push({ token, name: item.name, copies: item.copies, staysHere: true });
          else proposals.push(foreign({ token, group: item.group, payload: item.payload }));
          break;
        }
        case 'accepted':
        case 'refused':
          this.#takeAnswer(from, item);
          break;
        case 'await-past':
        case 'await-shown':
        case 'shown':
        case 'past':
          if (isKnown) cluster.fence.take(from, item);
          break;
        case 'leaving':
        case 'full':
          if (isKnown) cluster.departures.heard(from, item);
          break;
        case 'clock-ask':
        case 'clock-told':
          if (isKnown) cluster.clocks.heard(from, item);
          break;
        case 'compare':
        case 'same':
        case 'differs':
        case 'acknowledged':
          if (isKnown) histories.take(from, item);
          break;
        default:
          unreachable(item);
      }
    }
    return { proposals, creates };
  }

  /** Refuses requests of another node because this process is about to exit and does not know the next leaders. */
  turnAway(from: NodeId, items: readonly ForwardItem[]): void {
    const refused = items.flatMap((item): readonly ForwardItem[] => {
      if (item.kind !== 'propose' && item.kind !== 'create') return [];
      return [{ kind: 'refused', session: item.session, id: item.id, error: draining() }];
    });
    if (refused.length > 0) this.#ports.peers.forward(from, refused);
  }

  /** A request of another node is an entry of the log. */
  accepted(token: Token, index: LogIndex, term: Term): void {
    const { node, session, id } = this.#askerOf(token);
    this.post(node, { kind: 'accepted', session, id, index, term });
  }

  /** A request of another node is no entry, and never will be. */
  refused(token: Token, error: DatabaseError): void {
    const { node, session, id } = this.#askerOf(token);
    this.post(node, { kind: 'refused', session, id, error });
  }

  /** A node became unreachable: its last requests may be entries already, or become entries later. */
  unreachable(node: NodeId): void {
    this.#outgoing.delete(node);
    for (const sent of this.#takeSent(({ to }) => to === node)) this.#repeat(sent, { isEntered: false });
  }

  /** Entries of a group were applied or skipped without an outcome for these requests. */
  passedOver({ title }: Group, { superseded, unknown }: Lost): void {
    for (const waiting of unknown) this.#repeat(waiting, { isEntered: true });
    for (const { proposal, sinceMs } of superseded) {
      if (mayRepeat(proposal)) this.#again.push({ proposal: repeated(proposal, false), sinceMs });
      else this.#ports.reporter.refuse([proposal.token], notCommitted(title));
    }
  }

  /** Fails requests that have timed out. Returns those to retry. */
  expire(nowMs: number): readonly Waiting[] {
    const { limits, reporter, lifecycle } = this.#ports;
    for (const { proposal } of this.#takeSent(({ sentMs }) => sentMs <= nowMs - limits.outcomeWaitMs)) {
      reporter.refuse([proposal.token], outcomeUnknown(lifecycle.titleOf(proposal.group)));
    }
    const again = this.#again;
    this.#again = [];
    const isLate = ({ sinceMs }: Waiting): boolean => sinceMs <= nowMs - limits.leaderWaitMs;
    for (const { proposal } of again.filter(isLate)) {
      reporter.refuse([proposal.token], noLeader(lifecycle.titleOf(proposal.group)));
    }
    return again.filter((waiting) => !isLate(waiting));
  }

  /** Sent before the messages of the turn: a node must know the position of its request before it gets the entry. */
  flush(): void {
    if (this.#outgoing.size === 0) return;
    const outgoing = this.#outgoing;
    this.#outgoing = new Map();
    for (const [node, items] of outgoing) if (!this.#ports.peers.forward(node, items)) this.#keep(node, items);
  }

  /** Keeps answers until the node is reachable, and retries its requests. All else is lost, as on any network. */
  #keep(node: NodeId, items: readonly ForwardItem[]): void {
    const answers = items.filter(({ kind }) => kind === 'accepted' || kind === 'refused');
    if (answers.length > 0) this.#outgoing.set(node, answers.slice(-ANSWERS_MAX));
    for (const item of items) {
      if (item.kind !== 'propose' && item.kind !== 'create') continue;
      const sent = this.#remove(item.id);
      if (sent !== undefined) this.#again.push(sent);
    }
  }

  /** Reason to refuse a request of another node, which is not trusted to be valid. */
  #refusal(item: Extract<ForwardItem, { readonly kind: 'propose' | 'create' }>): DatabaseError | undefined {
    if (item.kind === 'create') {
      return isDatabaseName(item.name) ? undefined : malformedForward(`${quote(item.name)} is no name of a database`);
    }
    const { group, payload } = item;
    if (payload.length > PAYLOAD_BYTES_MAX) return payloadTooLarge(payload.length, PAYLOAD_BYTES_MAX);
    const fault = this.#ports.machines.faultInForwarded(group, payload);
    return fault === undefined ? undefined : malformedForward(fault);
  }

  #takeAnswer(from: NodeId, item: Extract<ForwardItem, { readonly kind: 'accepted' | 'refused' }>): void {
    if (item.session !== this.#ports.session || this.#sent.get(item.id)?.to !== from) return;
    const sent = this.#remove(item.id);
    if (sent === undefined) return;
    if (item.kind === 'accepted') this.#expect(sent, item.index, item.term);
    else if (ELSEWHERE.has(item.error.details.reason)) this.#again.push(sent);
    else this.#ports.reporter.refuse([sent.proposal.token], item.error);
  }

  #expect(waiting: Waiting, index: LogIndex, term: Term): void {
    const { touch, reporter, monotonicMs } = this.#ports;
    const { proposal } = waiting;
    if (proposal.tellsAdmission) reporter.admitted(proposal.token);
    const group = touch(proposal.group);
    // It was an entry, and this node may have removed its replica meanwhile; a refusal could be taken for a reason to
    // retry.
    const isOver = group === undefined || group.machine.applied.index >= index;
    if (isOver) this.#repeat(waiting, { isEntered: true });
    else group.proposals.expect({ proposal, index, term }, monotonicMs());
  }

  /** Retries a request whose outcome is unknown and will not be reported, if that is safe. */
  #repeat({ proposal, sinceMs }: Waiting, { isEntered }: { readonly isEntered: boolean }): void {
    const { reporter, lifecycle, machines } = this.#ports;
    const error = outcomeUnknown(lifecycle.titleOf(proposal.group));
    if (!mayRepeat(proposal) || !machines.isRepeatable(proposal.group, proposal.payload)) {
      return reporter.refuse([proposal.token], error);
    }
    reporter.doubt(proposal.token, { error, isDelayed: !isEntered });
    const tellsAdmission = !isEntered && proposal.tellsAdmission;
    this.#again.push({ proposal: { ...repeated(proposal, tellsAdmission), staysHere: false }, sinceMs });
  }

  #takeSent(isLost: (sent: Sent) => boolean): readonly Sent[] {
    if (this.#sent.size === 0) return [];
    const lost = [...this.#sent.entries()].filter(([, sent]) => isLost(sent));
    for (const [id] of lost) this.#remove(id);
    return lost.map(([, sent]) => sent);
  }

  #remove(id: number): Sent | undefined {
    const sent = this.#sent.remove(id);
    if (sent === undefined) return undefined;
    this.#count(sent.to, sent.proposal, -1);
    return sent;
  }

  #count(to: NodeId, proposal: Proposal, sign: 1 | -1): void {
    const bytes = sign * costOf(proposal);
    this.#ports.memory.forwarded.bytes += bytes;
    add(this.#sentBytes, to, bytes);
    add(this.#bytesOf, proposal.group, bytes);
  }

  #bytesTo(node: NodeId): number {
    return this.#sentBytes.get(node) ?? 0;
  }

  #tokenOf(node: NodeId, { session, id }: Extract<ForwardItem, { readonly kind: 'propose' | 'create' }>): Token {
    return -1 - this.#askers.add({ node, session, id });
  }

  #askerOf(token: Token): Asker {
    const asker = this.#askers.remove(-1 - token);
    assert(asker !== undefined, 'A request of another node is answered once', token);
    return asker;
  }

  /** Sent at the end of the turn; it may be lost. */
  post(to: NodeId, item: ForwardItem): void {
    const items = this.#outgoing.get(to);
    if (items === undefined) this.#outgoing.set(to, [item]);
    else items.push(item);
  }
}

function costOf({ payload }: Proposal): number {
  return REQUEST_BYTES + payload.length;
}

function mayRepeat({ repeats = 0 }: Proposal): boolean {
  return repeats < REPEATS_MAX;
}

function repeated(proposal: Proposal, tellsAdmission: boolean): Proposal {
  return { ...proposal, tellsAdmission, repeats: (proposal.repeats ?? 0) + 1 };
}

/** Zero counts are not in the map. */
function add<Key>(counts: Map<Key, number>, key: Key, bytes: number): void {
  const count = (counts.get(key) ?? 0) + bytes;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** It is not forwarded a second time, and its node is always notified of its admission. */
function foreign(asked: Pick<Proposal, 'token' | 'group' | 'payload'>): Proposal {
  return { ...asked, tellsAdmission: false, staysHere: true };
}

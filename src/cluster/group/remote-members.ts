/**
 * Additional work for groups with members on other nodes: sending and receiving their messages, tails of their logs for
 * members that lag, and their first leader.
 *
 *   C10  The messages of a turn to a node are sent together, after what the turn persists. A message reaches
 *        only the replica that it names, on its node, from the node in its sender's id. After
 *        this thread was suspended, pending messages are handled before timeouts.
 *   C34  From a node that is neither in the local catalog nor a member of its group, only messages about the
 *        catalog are accepted.
 *   C37  Below the hard level of its disk a node accepts no entries of databases: an append only tells it who
 *        leads, and the commit index. The catalog continues, because without it nothing could be deleted.
 */
import { CATALOG_GROUP, Fifo, type NodeId, nodeOf, type ReplicaId } from '#base';
import {
  type Entry,
  type EntryId,
  everybody,
  type Fact,
  type Input,
  type LoadEntries,
  type Message,
  members,
} from '#raft';
import type { Binding } from '../outcome.ts';
import type { Envelope } from '../peer/links.ts';
import type { AskingPace } from './asking-pace.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';
import { inTurn } from './leader-balance.ts';
import { LogTails } from './log-tails.ts';
import { Outbox } from './outbox.ts';

export interface ReplicationPorts extends GroupPorts {
  readonly asking: AskingPace;
  readonly catchUp: { heard(group: Group, envelope: Pick<Envelope, 'from' | 'message'>): void };
}

/** Applied entries that were still in the log. */
export interface AppliedTail {
  readonly base: EntryId;
  readonly entries: readonly Entry[];
}

/** Replicas of a new group campaign one after the other, this many times `firstCampaignMs` apart. */
const FOUNDERS_APART = 4;

/** Time of the next campaign of a group, and the interval until the one after it. */
interface Campaign {
  readonly atMs: number;
  readonly againMs: number;
  /** Number of replicas that should campaign before. */
  readonly rank: number;
}

export class Replication {
  readonly #ports: ReplicationPorts;
  readonly outbox: Outbox;
  readonly #tails: LogTails;
  /** Answers of storage to the steps of this turn. */
  readonly #answers = new Fifo<{ readonly group: Group; readonly input: Input }>();
  /**
   * Groups that campaign early: newly created ones, those whose leader has stopped, and those without a leader when a
   * voter is back.
   */
  readonly #campaigns = new Map<Group, Campaign>();
  /** Since when nodes of the cluster cannot be reached; undefined for one that can. */
  readonly #awayMs = new Map<NodeId, number | undefined>();

  constructor(ports: ReplicationPorts) {
    this.#ports = ports;
    this.outbox = new Outbox(ports.peers);
    this.#tails = new LogTails(ports.limits.tailBytesMax);
  }

  /** Carries out a `load-entries` effect; the answer is stepped after the current step. */
  loadEntries(group: Group, effect: LoadEntries): void {
    this.#answers.push({ group, input: this.#tails.load(group, effect) });
  }

  /** Steps the answers of storage. */
  answer(): void {
    for (let next = this.#answers.shift(); next !== undefined; next = this.#answers.shift()) {
      this.#ports.step(next.group, next.input);
    }
  }

  opened(group: Group, { base, entries }: AppliedTail): void {
    if (keepsTail(group)) this.#tails.begin(group, base, entries);
  }

  /** Entries were handed out to be applied; members may lack them. */
  applying(group: Group, entries: readonly Entry[]): void {
    if (keepsTail(group)) this.#tails.add(group, entries);
    else this.#tails.end(group);
  }

  /** The log restarts after a snapshot. */
  restarted(group: Group): void {
    this.#tails.end(group);
  }

  closed(group: Group): void {
    this.#tails.end(group);
    this.#campaigns.delete(group);
  }

  /** Delivers a message to its replica. */
  deliver(node: NodeId, { group: id, from, to, message }: Envelope): void {
    // A snapshot arrives in separate messages and is assembled here; this message itself is never sent.
    if (nodeOf(from) !== node || message.kind === 'install-snapshot') return;
    const group = this.#ports.touch(id);
    if (group?.self !== to) return;
    this.#ports.step(group, { kind: 'receive', from, message: this.#withinRoom(id, message) });
    this.#ports.catchUp.heard(group, { from, message });
    if (message.kind === 'vote-request') this.#giveWay(group, from);
  }

  /**
   * An append without an answer counts as lost: the leader retries with each heartbeat, and so finds out when there is
   * room.
   */
  #withinRoom(id: Group['id'], message: Message): Message {
    if (message.kind !== 'append' || message.entries.length === 0 || id === CATALOG_GROUP) return message;
    if (this.#ports.disk() !== 'read-only') return message;
    return { kind: 'commit', term: message.term, commit: message.commit };
  }

  /** After voting, a replica waits for the result as long as if it had campaigned itself. */
  #giveWay(group: Group, candidate: ReplicaId): void {
    const campaign = this.#campaigns.get(group);
    if (campaign === undefined || group.raft.hardState.vote !== candidate) return;
    const atMs = Math.max(campaign.atMs, this.#ports.monotonicMs() + campaign.againMs);
    this.#campaigns.set(group, { ...campaign, atMs });
  }

  /**
   * A node seems to have stopped. Its followers campaign without waiting for the election timeout, one after the other;
   * if the node is alive, replicas that still receive its heartbeats refuse their votes.
   */
  unreachable(node: NodeId, nowMs: number): void {
    // Unknown nodes may claim any number.
    if (this.#ports.isKnown(node)) this.#awayMs.set(node, nowMs);
    else this.#awayMs.delete(node);
    for (const group of this.#ports.timers.groups) {
      for (const replica of everybody(group.timeless.membership)) {
        if (nodeOf(replica) !== node) continue;
        if (group.leader === replica) this.#forget(group, replica, nowMs);
        // Only a leader tracks the progress of others; followers of another node stay at rest (C31).
        if (group.leads) this.#ports.step(group, { kind: 'unreachable', replica });
      }
    }
  }

  /**
   * A node is back. A group without a leader may have lacked its vote, and campaigns without waiting for the election
   * timeout; if there is a leader, replicas that receive its heartbeats refuse their votes.
   */
  reachable(node: NodeId, nowMs: number): void {
    this.#awayMs.set(node, undefined);
    for (const group of this.#ports.timers.groups) {
      if (group.leader !== undefined) continue;
      const voters = members(group.raft.membership.voters);
      const isVoter = (each: NodeId): boolean => voters.some((voter) => nodeOf(voter) === each);
      if (isVoter(node) && voters.includes(group.self)) this.#ask(group, voters, nowMs);
    }
  }

  /** Time since which the node cannot be reached: at the latest this one, for a node that never was. */
  awaySince(node: NodeId, nowMs: number): number | undefined {
    if (!this.#awayMs.has(node)) this.#awayMs.set(node, nowMs);
    return this.#awayMs.get(node);
  }

  /**
   * A replica that has lost its quorum or an election campaigns again before the election timeout: members without an
   * answer may have been suspended, or cut off so briefly that no connection broke.
   */
  note(group: Group, fact: Fact, nowMs: number): void {
    if (fact.kind !== 'quorum-lost' && fact.kind !== 'became-pre-candidate') return;
    if (!this.#campaigns.has(group)) this.#ask(group, members(group.raft.membership.voters), nowMs);
  }

  /** Schedules a campaign of the group, staggered by the rank of the local replica; the ranks differ per group. */
  #ask(group: Group, voters: readonly ReplicaId[], nowMs: number): void {
    this.#askInTurn(group, inTurn(voters, group.id), nowMs, this.#ports.limits.firstCampaignMs);
  }

  #askInTurn(group: Group, ordered: readonly ReplicaId[], nowMs: number, apartMs: number): void {
    const rank = Math.max(0, ordered.indexOf(group.self));
    const atMs = nowMs + this.#ports.limits.firstCampaignMs + rank * apartMs;
    this.#campaigns.set(group, { atMs, againMs: ordered.length * apartMs, rank });
  }

  #forget(group: Group, leader: ReplicaId, nowMs: number): void {
    this.#ports.step(group, { kind: 'forget-leader' });
    const others = members(group.raft.membership.voters).filter((voter) => voter !== leader);
    if (!others.includes(group.self)) return;
    // The rank differs per group, so that the groups of a stopped node do not all move to one node.
    const rank = (others.indexOf(group.self) + group.id) % Math.max(1, others.length);
    const { firstCampaignMs } = this.#ports.limits;
    const atMs = nowMs + rank * firstCampaignMs;
    this.#campaigns.set(group, { atMs, againMs: others.length * firstCampaignMs, rank });
  }

  /**
   * Opens a group with members on other nodes, whose replica has just started. If the group is new too, one of the
   * replicas should lead it, a different one for each group; if that one does not answer, the next. When many groups
   * are created at a time, elections take longer, and further campaigns would slow them down; but no group waits for an
   * unreachable node.
   */
  begin({ group: id, replicas, placement }: Binding): void {
    const group = replicas.length > 1 || placement > 0 ? this.#ports.touch(id) : undefined;
    if (group === undefined || placement > 0 || !replicas.includes(group.self)) return;
    const { isLeaving, limits, monotonicMs } = this.#ports;
    if (isLeaving(nodeOf(group.self))) return;
    const isThere = (node: NodeId): boolean => this.#awayMs.get(node) === undefined && !isLeaving(node);
    const ordered = inTurn(replicas, id).filter((replica) => isThere(nodeOf(replica)));
    this.#askInTurn(group, ordered, monotonicMs(), FOUNDERS_APART * limits.firstCampaignMs);
  }

  /**
   * Starts the campaigns that need not wait for the election timeout. After a failure the interval doubles: not all
   * replicas notice at once that a leader has stopped, and the last to notice may be unable to win an election.
   */
  campaign(nowMs: number): void {
    const { limits, asking, isLeaving } = this.#ports;
    const due: Due[] = [];
    for (const [group, campaign] of this.#campaigns) {
      if (campaign.atMs > nowMs) continue;
      // A draining node leaves it to the others, unless none of them leads at the next election timeout.
      if (group.leader === undefined && !isLeaving(nodeOf(group.self))) due.push({ group, campaign });
      else this.#campaigns.delete(group);
    }
    const { electionWindowMs, firstCampaignMs } = limits;
    for (const { group, campaign } of firstOf(due, asking.room)) {
      asking.take();
      const { againMs, rank } = campaign;
      const atMs = nowMs + againMs + rank * firstCampaignMs;
      if (againMs > electionWindowMs) this.#campaigns.delete(group);
      else this.#campaigns.set(group, { atMs, againMs: 2 * againMs, rank });
      this.#ports.step(group, { kind: 'campaign' });
    }
  }
}

interface Due {
  readonly group: Group;
  readonly campaign: Campaign;
}

/**
 * Campaigns of this tick. If there are too many, those with a rank above 0 are skipped: two late nodes would otherwise
 * campaign for the same group, and neither would win.
 */
function firstOf(due: readonly Due[], max: number): readonly Due[] {
  if (due.length <= max) return due;
  const rank = due.reduce((least, { campaign }) => Math.min(least, campaign.rank), Number.POSITIVE_INFINITY);
  const first = due.filter(({ campaign }) => campaign.rank === rank);
  return first.toSorted((one, other) => one.campaign.atMs - other.campaign.atMs).slice(0, max);
}

/** Every node that joins needs the catalog, which has few entries, so its log is kept even without other members. */
function keepsTail(group: Group): boolean {
  return !group.isAlone || group.id === CATALOG_GROUP;
}

/**
 * What groups with members on other nodes need beside what every group needs: their messages in and out, the ends of
 * their logs for members that lack something, and a first leader.
 *
 *   C10  What a turn has to say to a node leaves in one hand-over, behind what the turn persists. A message reaches
 *        only the replica that it names, on the node that holds it, from the node that its sender's id tells. After
 *        this thread stood still, what has arrived is heard before time counts.
 *   C34  Of a node that the catalog here does not name, and that is no member of its group, only messages about the
 *        catalog are heard.
 *   C37  Below the hard level of its disk a node takes no entries of databases in: of an append it hears only that its
 *        leader leads, and how far that has committed. The catalog goes on, for without it nothing could be deleted.
 */
import { CATALOG_GROUP, Fifo, type NodeId, nodeOf, type ReplicaId } from '#base';
import { type Entry, everybody, type Fact, type Input, type LoadEntries, type Message, members } from '#raft';
import type { DiskLevel } from '#storage';
import type { AppliedTail } from '../core/group-lifecycle.ts';
import { Outbox } from '../core/outbox.ts';
import type { CoreLimits } from '../limits.ts';
import type { Binding } from '../outcome.ts';
import type { Envelope } from '../peer/envelope.ts';
import type { Refrains } from '../peer/refrain.ts';
import type { Peers } from '../peers.ts';
import type { AskingPace } from './asking-pace.ts';
import type { Group } from './group.ts';
import type { GroupTimers } from './group-timers.ts';
import { inTurn } from './leader-balance.ts';
import { LogTails } from './log-tails.ts';

export interface ReplicationPorts {
  readonly peers: Peers;
  readonly limits: CoreLimits;
  readonly timers: GroupTimers;
  readonly asking: AskingPace;
  /** Whether a node is about to end, this one included. */
  readonly isLeaving: (node: NodeId) => boolean;
  readonly touch: (id: Group['id']) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  readonly monotonicMs: () => number;
  /** Whether a node is another one of the cluster. */
  readonly isKnown: (node: NodeId) => boolean;
  readonly disk: () => DiskLevel;
  /** A group has taken a message of another replica. */
  readonly taken: (group: Group, envelope: Pick<Envelope, 'from' | 'message'>) => void;
}

/** Replicas of a new group ask for its lead by so many times `firstCampaignMs` one after the other. */
const FOUNDERS_APART = 4;

/** When a group asks for its lead, and how long after that it asks again. */
interface Campaign {
  readonly atMs: number;
  readonly againMs: number;
  /** How many others should ask before. */
  readonly rank: number;
}

export class Replication {
  readonly #ports: ReplicationPorts;
  readonly #outbox: Outbox;
  readonly #tails: LogTails;
  /** What storage answers to the steps of this turn. */
  readonly #answers = new Fifo<{ readonly group: Group; readonly input: Input }>();
  /** Groups that ask for their lead: just created, their leader has ended, or without one and with a voter back. */
  readonly #campaigns = new Map<Group, Campaign>();
  /** Nodes of the cluster that were lost and not found again. */
  readonly #away = new Set<NodeId>();

  constructor(ports: ReplicationPorts) {
    this.#ports = ports;
    this.#outbox = new Outbox(ports.peers);
    this.#tails = new LogTails(ports.limits.tailBytesMax);
  }

  /** Carries out a `send` effect. */
  post(group: Group, to: ReplicaId, message: Message): void {
    this.#outbox.post(group, to, message);
  }

  /** What is said once more is the very same message. */
  postAgain(envelope: Envelope): void {
    this.#outbox.postAgain(envelope);
  }

  /** It is the time for what is said to the node as long as nothing changes. */
  recite(to: NodeId, refrains: Refrains): void {
    this.#outbox.recite(to, refrains);
  }

  /** Carries out a `load-entries` effect; the answer is stepped when no other step is under way. */
  loadEntries(group: Group, effect: LoadEntries): void {
    this.#answers.push({ group, input: this.#tails.load(group, effect) });
  }

  /** Steps what storage has answered. */
  answer(): void {
    for (let next = this.#answers.shift(); next !== undefined; next = this.#answers.shift()) {
      this.#ports.step(next.group, next.input);
    }
  }

  flush(): void {
    this.#outbox.flush();
  }

  opened(group: Group, { base, entries }: AppliedTail): void {
    if (keepsTail(group)) this.#tails.begin(group, base, entries);
  }

  /** Entries were handed out to be applied: members may lack them. */
  applying(group: Group, entries: readonly Entry[]): void {
    if (keepsTail(group)) this.#tails.add(group, entries);
    else this.#tails.end(group);
  }

  /** The log begins anew behind a snapshot. */
  restarted(group: Group): void {
    this.#tails.end(group);
  }

  closed(group: Group): void {
    this.#tails.end(group);
    this.#campaigns.delete(group);
  }

  /** Hands a message to the replica that it is for. */
  deliver(node: NodeId, { group: id, from, to, message }: Envelope): void {
    // A snapshot is made of what has come in letters; nobody sends the message itself.
    if (nodeOf(from) !== node || message.kind === 'install-snapshot') return;
    const group = this.#ports.touch(id);
    if (group?.self !== to) return;
    this.#ports.step(group, { kind: 'receive', from, message: this.#withinRoom(id, message) });
    this.#ports.taken(group, { from, message });
    if (message.kind === 'vote-request') this.#giveWay(group, from);
  }

  /**
   * An append without an answer is one that was lost: its leader sends the next entries again, a message a beat, and so
   * learns by itself when there is room.
   */
  #withinRoom(id: Group['id'], message: Message): Message {
    if (message.kind !== 'append' || message.entries.length === 0 || id === CATALOG_GROUP) return message;
    if (this.#ports.disk() !== 'read-only') return message;
    return { kind: 'commit', term: message.term, commit: message.commit };
  }

  /** Whoever has given its vote waits for what becomes of it, as long as if it had asked itself. */
  #giveWay(group: Group, candidate: ReplicaId): void {
    const campaign = this.#campaigns.get(group);
    if (campaign === undefined || group.raft.hardState.vote !== candidate) return;
    const atMs = Math.max(campaign.atMs, this.#ports.monotonicMs() + campaign.againMs);
    this.#campaigns.set(group, { ...campaign, atMs });
  }

  /**
   * A node has ended, as it seems. Whoever followed it asks for the lead without waiting for its election deadline, one
   * after the other; if the node is there after all, those who still hear of it keep them from it.
   */
  unreachable(node: NodeId, nowMs: number): void {
    // Strangers may name any node.
    if (this.#ports.isKnown(node)) this.#away.add(node);
    for (const group of this.#ports.timers.groups) {
      for (const replica of everybody(group.timeless.membership)) {
        if (nodeOf(replica) !== node) continue;
        if (group.leader === replica) this.#forget(group, replica, nowMs);
        // Only a leader knows how far others are; whoever follows another node stays at rest (C31).
        if (group.leads) this.#ports.step(group, { kind: 'unreachable', replica });
      }
    }
  }

  /**
   * A node is there again. A group without a leader may have lacked its vote, and asks for the lead without waiting
   * for the next election deadline; where another one leads, those who hear of it keep this one from it.
   */
  reachable(node: NodeId, nowMs: number): void {
    this.#away.delete(node);
    for (const group of this.#ports.timers.groups) {
      if (group.leader !== undefined) continue;
      const voters = members(group.raft.membership.voters);
      const isVoter = (each: NodeId): boolean => voters.some((voter) => nodeOf(voter) === each);
      if (isVoter(node) && voters.includes(group.self)) this.#ask(group, voters, nowMs);
    }
  }

  /**
   * Whoever has lost its quorum, or has asked for the lead, asks again before the next election deadline: those who did
   * not answer may have stood still, or behind a cut that was too short for any connection to break.
   */
  note(group: Group, fact: Fact, nowMs: number): void {
    if (fact.kind !== 'quorum-lost' && fact.kind !== 'became-pre-candidate') return;
    if (!this.#campaigns.has(group)) this.#ask(group, members(group.raft.membership.voters), nowMs);
  }

  /** Has the group ask for the lead, unless one of these does before; another one is the first in every group. */
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
    // Another one is the first in every group, so that the groups of a node that has ended do not all go to one.
    const rank = (others.indexOf(group.self) + group.id) % Math.max(1, others.length);
    const { firstCampaignMs } = this.#ports.limits;
    const atMs = nowMs + rank * firstCampaignMs;
    this.#campaigns.set(group, { atMs, againMs: others.length * firstCampaignMs, rank });
  }

  /**
   * Opens a group that has members on other nodes, with a copy that has just begun. If the group is new, too, one of
   * them is to lead it, another one for every group; if that one does not answer, the next. Where many are created at a
   * time an election takes its time, and those who ask meanwhile only make it longer; but nobody waits for a node that
   * cannot be reached.
   */
  begin({ group: id, replicas, placement }: Binding, nowMs: number): void {
    const group = replicas.length > 1 || placement > 0 ? this.#ports.touch(id) : undefined;
    if (group === undefined || placement > 0) return;
    const { isLeaving } = this.#ports;
    if (isLeaving(nodeOf(group.self))) return;
    const isThere = (node: NodeId): boolean => !this.#away.has(node) && !isLeaving(node);
    const ordered = inTurn(replicas, id).filter((replica) => isThere(nodeOf(replica)));
    this.#askInTurn(group, ordered, nowMs, FOUNDERS_APART * this.#ports.limits.firstCampaignMs);
  }

  /**
   * Has those ask for the lead who need not wait for their election deadline. Whom nobody listened to asks again, each
   * time after twice as long: not everybody hears at once that a leader has ended, and the one who hears of it last may
   * be the one who cannot be elected.
   */
  campaign(nowMs: number): void {
    const { limits, asking, isLeaving } = this.#ports;
    const due: Due[] = [];
    for (const [group, campaign] of this.#campaigns) {
      if (campaign.atMs > nowMs) continue;
      // Whoever is about to end leaves it to the others, unless none of them leads by the next election deadline.
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
 * Those who ask at this look. Where they are too many, none does for whom another one should ask before: two nodes that
 * are late would ask for the same group at a time, and neither would get it.
 */
function firstOf(due: readonly Due[], max: number): readonly Due[] {
  if (due.length <= max) return due;
  const rank = due.reduce((least, { campaign }) => Math.min(least, campaign.rank), Number.POSITIVE_INFINITY);
  const first = due.filter(({ campaign }) => campaign.rank === rank);
  return first.toSorted((one, other) => one.campaign.atMs - other.campaign.atMs).slice(0, max);
}

/** Every node that joins needs the catalog, which has few entries: its log is kept while nobody else is there, too. */
function keepsTail(group: Group): boolean {
  return !group.isAlone || group.id === CATALOG_GROUP;
}

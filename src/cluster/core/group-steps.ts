/**
 * The only way in which the Raft state of a group changes: a step, then its effects, each handled by its part. Handlers
 * only queue work and never step a group, so effects are not nested.
 */
import { nodeOf, unreachable } from '#base';
import type { Effect, Fact, Input } from '#raft';
import type { BatchId, PersistedFacts } from '#storage';
import type { ApplyLoop } from '../apply/apply-loop.ts';
import type { Freshness } from '../catalog/freshness.ts';
import type { Campaigns } from '../group/campaigns.ts';
import { type Divergences, differenceOf } from '../group/divergences.ts';
import type { Group } from '../group/group.ts';
import type { GroupTimers } from '../group/group-timers.ts';
import type { Histories } from '../group/histories.ts';
import type { Leadership } from '../group/leadership.ts';
import type { ReadBarrier } from '../group/read-barrier.ts';
import type { Replication } from '../group/remote-members.ts';
import type { RestingGroups } from '../group/resting-groups.ts';
import type { Reporter } from '../reporter.ts';
import type { Intake } from '../requests/proposals.ts';
import type { Snapshots } from '../snapshots/snapshots.ts';
import type { ClusterWork } from './cluster-work.ts';
import type { CorePorts } from './core-ports.ts';
import type { LogFeed } from './log-feed.ts';
import type { RaftTotals } from './raft-totals.ts';

/** Parts that carry out effects or record steps. */
export interface SteppedParts {
  readonly timers: GroupTimers;
  readonly totals: RaftTotals;
  readonly feed: LogFeed;
  readonly replication: Replication;
  readonly snapshots: Snapshots;
  readonly apply: ApplyLoop;
  readonly intake: Intake;
  readonly reads: ReadBarrier;
  readonly leadership: Leadership;
  readonly campaigns: Campaigns;
  readonly divergences: Divergences;
  readonly histories: Histories;
  readonly reporter: Reporter;
  readonly cluster: ClusterWork;
  readonly rest: RestingGroups;
}

export class GroupSteps {
  readonly #ports: Pick<CorePorts, 'monotonicMs' | 'observer'>;
  readonly #parts: SteppedParts;

  constructor(ports: Pick<CorePorts, 'monotonicMs' | 'observer'>, parts: SteppedParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The state of a closed group does not change any more (C4). */
  step(group: Group, input: Input): void {
    if (!group.isOpen) return;
    const { timers, totals, replication } = this.#parts;
    const nowMs = this.#ports.monotonicMs();
    const { isAtRest } = group;
    // An individual message wakes a group at rest (C31).
    if (isAtRest) group.leaveRest();
    const repeated = group.repeat(input, nowMs);
    if (repeated !== undefined) {
      for (const envelope of repeated) replication.outbox.postAgain(envelope);
      if (isAtRest || group.hasNewDeadline) timers.stepped(group);
      if (input.kind === 'tick' && repeated.length > 0) this.#parts.rest.join(group);
      return;
    }
    const before = group.raft;
    const effects = group.step(input, nowMs);
    timers.stepped(group);
    this.#ports.observer.stepped?.(before, input, { state: group.raft, effects });
    totals.moved(before, group.raft);
    for (const effect of effects) this.#carryOut(group, effect);
  }

  /** The log has synced everything up to this batch. */
  persisted(through: BatchId, facts: PersistedFacts): void {
    this.#ports.observer.synced(facts);
    this.#parts.feed.persisted(through, (group, completion) => {
      if (completion.kind === 'snapshot-installed') this.#parts.replication.restarted(group);
      this.step(group, completion);
    });
  }

  #carryOut(group: Group, effect: Effect): void {
    const { feed, intake, apply, replication, snapshots, cluster } = this.#parts;
    switch (effect.kind) {
      case 'persist':
        return feed.persist(group, effect);
      case 'proposed':
        return intake.onProposed(group, effect);
      case 'apply':
        this.#ports.observer.committed(effect.entries.length);
        replication.applying(group, effect.entries);
        return apply.onApply(group, effect.entries);
      case 'read-ready':
        return this.#asker(effect.id).onReady(group, effect);
      case 'read-refused':
        return this.#asker(effect.id).onRefused(group, effect.id, effect.refusal);
      case 'fact':
        return this.#note(group, effect.fact);
      case 'send':
        return replication.outbox.post(group, effect.to, effect.message);
      case 'load-entries':
        return replication.loadEntries(group, effect);
      case 'send-snapshot':
        return snapshots.send(group, effect.to, effect.term);
      case 'membership-answered':
        // Callers observe the membership itself, not the start of the change.
        return undefined;
      case 'membership-refused':
        return cluster.refused(effect.refusal);
      case 'install-snapshot':
        return snapshots.install(group);
      default:
        return unreachable(effect);
    }
  }

  /** The requester of a read index: clients have positive numbers, the node itself negative ones. */
  #asker(id: number): ReadBarrier | Freshness {
    return id < 0 ? this.#parts.cluster.freshness : this.#parts.reads;
  }

  #note(group: Group, fact: Fact): void {
    const { observer } = this.#ports;
    if (fact.kind === 'became-leader') observer.elected();
    if (fact.kind === 'became-follower' && fact.leader !== undefined) observer.followed();
    if (fact.kind === 'diverged') this.#leave(group, fact);
    if (fact.kind === 'acknowledged-lost') {
      const { index } = fact.acknowledged;
      const node = nodeOf(fact.replica);
      this.#parts.reporter.noteHistory({ kind: fact.kind, group: group.id, node, acknowledged: index });
    }
    this.#parts.histories.note(group, fact);
    this.#parts.campaigns.note(group, fact);
    this.#parts.replication.note(group, fact, this.#ports.monotonicMs());
    this.#parts.leadership.note(group, fact);
    this.#parts.cluster.note(group, fact);
  }

  #leave(group: Group, { leader, index, here, there }: Extract<Fact, { readonly kind: 'diverged' }>): void {
    const [own, other] = [nodeOf(group.self), nodeOf(leader)];
    const what = `the term of log entry ${index}, which is committed,`;
    const reason = differenceOf(what, { node: own, value: here }, { node: other, value: there });
    this.#parts.divergences.found(group, other, reason);
  }
}

/** The only way in which the Raft state of a group changes: a step, then its effects, each handled by its part. */
import { nodeOf } from '#base';
import type { Fact, Input } from '#raft';
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
import type { Replication } from '../group/replication.ts';
import type { RestingGroups } from '../group/resting-groups.ts';
import type { Reporter } from '../reporter.ts';
import type { Intake } from '../requests/proposals.ts';
import type { Snapshots } from '../snapshots/snapshots.ts';
import type { ClusterWork } from './cluster-work.ts';
import type { CorePorts } from './core-ports.ts';
import { carryOut, type EffectHandlers } from './effects.ts';
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
  readonly #handlers: EffectHandlers;

  constructor(ports: Pick<CorePorts, 'monotonicMs' | 'observer'>, parts: SteppedParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#handlers = this.#handleEffects();
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
    carryOut(group, effects, this.#handlers);
  }

  /** The log has synced everything up to this batch. */
  persisted(through: BatchId, facts: PersistedFacts): void {
    this.#ports.observer.synced(facts);
    this.#parts.feed.persisted(through, (group, completion) => {
      if (completion.kind === 'snapshot-installed') this.#parts.replication.restarted(group);
      this.step(group, completion);
    });
  }

  #handleEffects(): EffectHandlers {
    const { feed, intake, apply, replication, snapshots, cluster } = this.#parts;
    return {
      persist: (group, effect) => feed.persist(group, effect),
      proposed: (group, effect) => intake.onProposed(group, effect),
      apply: (group, entries) => {
        this.#ports.observer.committed(entries.length);
        replication.applying(group, entries);
        apply.onApply(group, entries);
      },
      readReady: (group, effect) => this.#asker(effect.id).onReady(group, effect),
      readRefused: (group, id, refusal) => this.#asker(id).onRefused(group, id, refusal),
      send: (group, to, message) => replication.outbox.post(group, to, message),
      loadEntries: (group, effect) => replication.loadEntries(group, effect),
      sendSnapshot: (group, to, term) => snapshots.send(group, to, term),
      installSnapshot: (group) => snapshots.install(group),
      membershipRefused: (_group, refusal) => cluster.refused(refusal),
      fact: (group, fact) => this.#note(group, fact),
    };
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

/**
 * The read barrier: answers `latest` with the revision that a linearizable read must show.
 *
 * A read requests the read index from the group's leader, on whichever node that is, waits until that index is applied
 * and written here, and returns the revision at that moment, if the term is unchanged; otherwise it requests again
 * (C5). Waiting reads are in group-reads.ts. A read of a given revision does not come here: it waits in
 * front/revision-waits.ts.
 */
import type { Effect, Refusal } from '#raft';
import type { CoreLimits } from '../limits.ts';
import type { ReadRequest, Settlement, Token } from '../link.ts';
import { draining, noLeader, readsFull } from '../refusals.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';
import { tokensOf, type WaitingRead } from './group-reads.ts';

export interface ReadBarrierPorts extends Pick<GroupPorts, 'reporter' | 'touch' | 'absence' | 'monotonicMs' | 'step'> {
  readonly limits: Pick<CoreLimits, 'pendingReadsMax' | 'leaderWaitMs'>;
}

type ReadReady = Extract<Effect, { readonly kind: 'read-ready' }>;

export class ReadBarrier {
  readonly #ports: ReadBarrierPorts;
  /** Groups with an answered or lost request and further waiting reads. */
  readonly #answered = new Set<Group>();
  #isOpen = true;

  constructor(ports: ReadBarrierPorts) {
    this.#ports = ports;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** Handles the reads of a turn; those of one group share one read index. */
  take(reads: readonly ReadRequest[]): void {
    const tokens = new Map<Group, Token[]>();
    for (const { token, group: id } of reads) {
      const group = this.#ports.touch(id);
      if (!this.#isOpen) this.#ports.reporter.refuse([token], draining());
      else if (group === undefined) this.#ports.reporter.refuse([token], this.#ports.absence(id));
      else {
        const theirs = tokens.get(group);
        if (theirs === undefined) tokens.set(group, [token]);
        else theirs.push(token);
      }
    }
    for (const [group, theirs] of tokens) this.#begin(group, this.#within(group, theirs));
  }

  /** Continues the reads of a group that has just applied entries. */
  release(group: Group): void {
    for (const { tokens, term } of group.reads.takeApplied(group.written.index)) {
      if (group.raft.hardState.term === term) this.#answer(group, tokens);
      else this.#wait(group, tokens);
    }
    this.askAll(group);
  }

  /** Requests a read index for waiting reads, if there is a leader now. */
  askAll(group: Group): void {
    if (!canAsk(group)) return;
    if (group.reads.isWaiting && !group.reads.hasAskedEnough) this.#ask(group, group.reads.takeWaiting());
  }

  /** Requests a read index for reads that waited for an earlier request. Called between steps. */
  settle(): void {
    if (this.#answered.size === 0) return;
    for (const group of this.#answered) this.askAll(group);
    this.#answered.clear();
  }

  /** Carries out a `read-ready` effect. */
  onReady(group: Group, { id, index, term }: ReadReady): void {
    const tokens = tokensOf(this.#take(group, id));
    if (group.written.index >= index) this.#answer(group, tokens);
    else group.reads.park({ tokens, index, term, sinceMs: this.#ports.monotonicMs() });
  }

  /** Carries out a `read-refused` effect. */
  onRefused(group: Group, id: number, refusal: Refusal): void {
    const { reporter, limits, monotonicMs } = this.#ports;
    const reads = this.#take(group, id);
    // There is another leader, or none known: the read is requested again.
    if (refusal.kind === 'not-leader') return this.#wait(group, tokensOf(reads));
    if (refusal.kind === 'reads-full')
      return reporter.refuse(tokensOf(reads), readsFull(group.title, refusal.countMax));
    // The request or its answer was lost: it is repeated for as long as a request may wait for a leader.
    group.reads.wait(reads);
    reporter.refuse(group.reads.takeLate(monotonicMs() - limits.leaderWaitMs), noLeader(group.title));
    this.#answered.add(group);
  }

  /** Returns the reads that may wait with the others; the rest is refused. */
  #within(group: Group, tokens: readonly Token[]): readonly Token[] {
    const { limits, reporter } = this.#ports;
    const room = Math.max(0, limits.pendingReadsMax - group.reads.count);
    if (tokens.length <= room) return tokens;
    reporter.refuse(tokens.slice(room), readsFull(group.title, limits.pendingReadsMax));
    return tokens.slice(0, room);
  }

  #begin(group: Group, tokens: readonly Token[]): void {
    if (tokens.length === 0) return;
    if (canAsk(group) && !group.reads.hasAskedEnough) this.#ask(group, this.#fromNow(tokens));
    else this.#wait(group, tokens);
  }

  #take(group: Group, id: number): readonly WaitingRead[] {
    if (group.reads.isWaiting) this.#answered.add(group);
    return group.reads.answered(id);
  }

  #wait(group: Group, tokens: readonly Token[]): void {
    group.reads.wait(this.#fromNow(tokens));
  }

  #fromNow(tokens: readonly Token[]): readonly WaitingRead[] {
    return [{ tokens, sinceMs: this.#ports.monotonicMs() }];
  }

  #ask(group: Group, reads: readonly WaitingRead[]): void {
    const id = group.reads.ask(reads);
    this.#ports.step(group, { kind: 'read', id });
  }

  #answer(group: Group, tokens: readonly Token[]): void {
    const { revision } = group.written;
    this.#ports.reporter.settle(tokens.map((token): Settlement => ({ kind: 'read', token, revision })));
  }
}

/** A leader answers after it has applied its own no-op; a follower asks its leader. */
function canAsk(group: Group): boolean {
  return group.isReady || (!group.leads && group.leader !== undefined);
}

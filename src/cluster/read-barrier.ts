/**
 * The read barrier: answers `latest` with the revision that a linearizable read must show.
 *
 * A read asks the group's leader how far it must see (its read index), waits until that is applied and written, and is
 * answered with the revision of that moment, if the same leadership still stands; otherwise it asks again (C5).
 */
import type { Effect, Input, Refusal } from '#raft';
import type { Group } from './group.ts';
import type { ReadRequest, Settlement, Token } from './link.ts';
import { draining, noLeader, noSuchGroup, readsFull } from './refusals.ts';
import type { Reporter } from './reporter.ts';

export interface ReadBarrierPorts {
  readonly reporter: Reporter;
  readonly touch: (id: ReadRequest['group']) => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
}

type ReadReady = Extract<Effect, { readonly kind: 'read-ready' }>;

export class ReadBarrier {
  readonly #ports: ReadBarrierPorts;
  #isOpen = true;

  constructor(ports: ReadBarrierPorts) {
    this.#ports = ports;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** Takes the reads of a turn; those of one group share one read index. */
  take(reads: readonly ReadRequest[]): void {
    const tokens = new Map<Group, Token[]>();
    for (const { token, group: id } of reads) {
      const group = this.#ports.touch(id);
      if (!this.#isOpen) this.#ports.reporter.refuse([token], draining());
      else if (group === undefined) this.#ports.reporter.refuse([token], noSuchGroup(id));
      else tokens.set(group, [...(tokens.get(group) ?? []), token]);
    }
    for (const [group, theirs] of tokens) {
      if (group.isReady) this.#ask(group, theirs);
      else group.reads.wait(theirs);
    }
  }

  /** Goes on with the reads of a group that has just applied something. */
  release(group: Group): void {
    for (const { tokens, term } of group.reads.takeApplied(group.written.index)) {
      if (leads(group, term)) this.#answer(group, tokens);
      else group.reads.wait(tokens);
    }
    if (!group.isReady) return;
    const waiting = group.reads.takeWaiting();
    if (waiting.length > 0) this.#ask(group, waiting);
  }

  /** Carries out a `read-ready` effect. */
  onReady(group: Group, { id, index, term }: ReadReady): void {
    const tokens = group.reads.answered(id);
    if (group.written.index >= index) this.#answer(group, tokens);
    else group.reads.park({ tokens, index, term });
  }

  /** Carries out a `read-refused` effect. */
  onRefused(group: Group, id: number, refusal: Refusal): void {
    const error = refusal.kind === 'reads-full' ? readsFull(refusal.countMax) : noLeader(group.id);
    this.#ports.reporter.refuse(group.reads.answered(id), error);
  }

  #ask(group: Group, tokens: readonly Token[]): void {
    this.#ports.step(group, { kind: 'read', id: group.reads.ask(tokens) });
  }

  #answer(group: Group, tokens: readonly Token[]): void {
    const { revision } = group.written;
    this.#ports.reporter.settle(tokens.map((token): Settlement => ({ kind: 'read', token, revision })));
  }
}

function leads(group: Group, term: number): boolean {
  return group.raft.role.kind === 'leader' && group.raft.hardState.term === term;
}

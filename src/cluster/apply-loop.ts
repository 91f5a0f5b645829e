/**
 * The apply loop: takes committed entries to the state machines, one batch of the store at a time (C3).
 *
 *   ready groups --> apply (synchronous, bounded) --> one batch: rows and applied rows of all groups
 *                        ^                                       |
 *                        |                                       v
 *                        +--- settle: applied, outcomes, reads <-- written
 *
 * While a batch is being written, entries pile up for the next. A machine reads only rows that are written: between
 * its `flushInto` and the end of the write nothing is applied. An entry that must learn something from the store first is
 * applied at the head of a turn of its own, after everything before it is written and its machine has looked.
 */
import { assert, CATALOG_GROUP } from '#base';
import type { KvBatch, KvStore } from '#kv';
import type { Entry, Input } from '#raft';
import { ApplyTurn } from './apply-turn.ts';
import { Fifo } from './fifo.ts';
import type { Group } from './group.ts';
import type { CoreLimits } from './limits.ts';
import type { MachineNeed } from './machine.ts';
import type { CatalogChange } from './node.ts';
import type { Outcome } from './outcome.ts';

export interface ApplyPorts {
  readonly kv: KvStore;
  readonly limits: CoreLimits;
  readonly step: (group: Group, input: Input) => void;
  /** Carries out a change of the catalog: puts what belongs to it into the batch of the entry. */
  readonly change: (change: CatalogChange, batch: KvBatch) => void;
  /** The turn's batch is in the store; writing it took so long. */
  readonly written: (turn: ApplyTurn, elapsedMs: number) => void;
  readonly monotonicMs: () => number;
}

interface Blocked {
  readonly group: Group;
  readonly needs: readonly MachineNeed[];
}

export class ApplyLoop {
  readonly #ports: ApplyPorts;
  readonly #ready = new Fifo<Group>();
  #isRunning = false;

  constructor(ports: ApplyPorts) {
    this.#ports = ports;
  }

  get isIdle(): boolean {
    return !this.#isRunning && this.#ready.length === 0;
  }

  /** Whether there is work that no `run` is doing. */
  get isWaiting(): boolean {
    return !this.#isRunning && this.#ready.length > 0;
  }

  /** Carries out an `apply` effect. */
  onApply(group: Group, entries: readonly Entry[]): void {
    if (group.backlog.length === 0) this.#ready.push(group);
    group.backlog.push(entries);
  }

  /** Applies until nothing is left. One call at a time; `isWaiting` says whether one is needed. */
  async run(): Promise<void> {
    assert(!this.#isRunning, 'The apply loop runs once');
    this.#isRunning = true;
    while (this.#ready.length > 0) {
      const { turn, blocked } = this.#gather();
      if (turn.entryCount > 0) {
        const startedMs = this.#ports.monotonicMs();
        await this.#write(turn);
        this.#settle(turn, this.#ports.monotonicMs() - startedMs);
      }
      if (blocked !== undefined) await this.#unblock(blocked);
    }
    this.#isRunning = false;
  }

  #gather(): { readonly turn: ApplyTurn; readonly blocked: Blocked | undefined } {
    const turn = new ApplyTurn(this.#ports.kv.batch(), this.#ports.limits);
    let blocked: Blocked | undefined;
    while (blocked === undefined && turn.hasRoom) {
      const group = this.#ready.shift();
      if (group === undefined) break;
      if (!group.isOpen) continue;
      blocked = this.#applyGroup(group, turn);
      if (blocked === undefined && group.backlog.length > 0) this.#ready.push(group);
    }
    for (const group of turn.groups) if (group.isOpen) group.machine.flushInto(turn.batch);
    return { turn, blocked };
  }

  /** Applies entries of one group until its share, the turn's room or a missing range ends it. */
  #applyGroup(group: Group, turn: ApplyTurn): Blocked | undefined {
    const { applyGroupEntriesMax } = this.#ports.limits;
    for (let count = 0; count < applyGroupEntriesMax && turn.hasRoom; count += 1) {
      const entry = group.backlog.peek();
      if (entry === undefined) return undefined;
      const needs = group.backlog.answers === undefined ? group.machine.needs(entry.payload) : [];
      if (needs.length > 0) return { group, needs };
      this.#applyEntry(group, turn);
      if (!group.isOpen) return undefined;
    }
    return undefined;
  }

  #applyEntry(group: Group, turn: ApplyTurn): void {
    const answers = group.backlog.answers ?? [];
    const entry = group.backlog.shift();
    const { index, term, payload } = entry;
    const outcome = group.machine.apply({ index, term, payload, answers });
    turn.add(group, entry, outcome);
    if (outcome === undefined || !isChange(outcome)) return;
    turn.changes.push(outcome);
    this.#ports.change(outcome, turn.batch);
  }

  /** A turn of the catalog is synced: its rows are never rebuilt (C7). */
  async #write(turn: ApplyTurn): Promise<void> {
    const sync = [...turn.groups].some((group) => group.id === CATALOG_GROUP);
    await this.#ports.kv.write(turn.batch, { sync });
  }

  #settle(turn: ApplyTurn, elapsedMs: number): void {
    for (const group of turn.groups) {
      if (!group.isOpen) continue;
      group.machine.flushed();
      group.markWritten();
      this.#ports.step(group, { kind: 'applied', index: group.written.index });
    }
    this.#ports.written(turn, elapsedMs);
  }

  /** Everything before the blocked entry is written now: its machine may look into the store. */
  async #unblock({ group, needs }: Blocked): Promise<void> {
    group.backlog.prepare(await group.machine.answer(needs));
    this.#ready.push(group);
  }
}

function isChange(outcome: Outcome): outcome is CatalogChange {
  return outcome.kind === 'created' || outcome.kind === 'deleted';
}

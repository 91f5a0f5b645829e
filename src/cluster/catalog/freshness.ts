/**
 * Whether the catalog as it is applied here holds everything that others had acted on at some moment before.
 *
 * Whoever begins to lead a group may have a catalog that is behind that of the leader before, and would take the group
 * back to where that one had already brought it from; a copy may be given up by then, because the group was without it
 * (D15). So it asks the catalog's leader first, once, how far the catalog must be (R5), and goes on when it is.
 */
import type { LogIndex } from '#base';
import type { Input } from '#raft';
import type { Group } from '../group/group.ts';

export interface FreshnessPorts {
  readonly catalog: () => Group | undefined;
  readonly step: (group: Group, input: Input) => void;
  readonly monotonicMs: () => number;
  /** A question that was not answered for so long is asked again. */
  readonly waitMs: number;
}

interface Question {
  readonly moment: number;
  readonly askedMs: number;
  /** How far the catalog must be. */
  index: LogIndex | undefined;
}

export class Freshness {
  readonly #ports: FreshnessPorts;
  /** Moments are counted, for time may stand still between two of them. */
  #moment = 0;
  #question: Question | undefined;
  #confirmed = 0;

  constructor(ports: FreshnessPorts) {
    this.#ports = ports;
  }

  /** This moment. */
  now(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** Whether the catalog here is as it was anywhere at that moment, or later. Asks, if that is not known yet. */
  isSince(moment: number): boolean {
    const { catalog, step, monotonicMs, waitMs } = this.#ports;
    const group = catalog();
    const question = this.#question;
    if (group === undefined) return false;
    if (question?.index !== undefined && group.written.index >= question.index) {
      this.#confirmed = question.moment;
      this.#question = undefined;
    }
    if (this.#confirmed > moment) return true;
    const askedMs = monotonicMs();
    if (this.#question !== undefined && askedMs < this.#question.askedMs + waitMs) return false;
    this.#question = { moment: this.now(), askedMs, index: undefined };
    // The reads of clients have numbers above 0.
    step(group, { kind: 'read', id: -this.#question.moment });
    return false;
  }

  /** Carries out a `read-ready` effect. */
  onReady(_catalog: Group, { id, index }: { readonly id: number; readonly index: LogIndex }): void {
    if (this.#question?.moment === -id) this.#question.index = index;
  }

  /** Carries out a `read-refused` effect. */
  onRefused(_catalog: Group, id: number): void {
    if (this.#question?.moment === -id) this.#question = undefined;
  }
}

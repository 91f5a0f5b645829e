/**
 * Determines whether the catalog applied here has everything that other nodes had acted on at an earlier moment.
 *
 * A new leader of a group may have a catalog that lags that of its predecessor, and would undo changes that the
 * predecessor has already made; a replica may have been removed because the group was without it (D15). So it first
 * asks the leader of the catalog once for its read index (R5), and continues when the catalog has reached it.
 */
import { CATALOG_GROUP, type LogIndex } from '#base';
import type { Group } from '../group/group.ts';
import type { CatalogRequestsPorts } from './catalog-requests.ts';

type FreshnessPorts = Pick<CatalogRequestsPorts, 'find' | 'step' | 'monotonicMs' | 'limits'>;

interface Question {
  readonly moment: number;
  readonly askedMs: number;
  /** The index that the catalog must reach. */
  index: LogIndex | undefined;
}

export class Freshness {
  readonly #ports: FreshnessPorts;
  /** Moments are counted, because time may not pass between two of them. */
  #moment = 0;
  #question: Question | undefined;
  #confirmed = 0;

  constructor(ports: FreshnessPorts) {
    this.#ports = ports;
  }

  /** Returns the current moment. */
  now(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /**
   * Returns whether the local catalog is as recent as any catalog was at that moment. Sends a request if that is not
   * known.
   */
  isSince(moment: number): boolean {
    const { find, step, monotonicMs, limits } = this.#ports;
    const group = find(CATALOG_GROUP);
    const question = this.#question;
    if (group === undefined) return false;
    if (question?.index !== undefined && group.written.index >= question.index) {
      this.#confirmed = question.moment;
      this.#question = undefined;
    }
    if (this.#confirmed > moment) return true;
    const askedMs = monotonicMs();
    if (this.#question !== undefined && askedMs < this.#question.askedMs + limits.leaderWaitMs) return false;
    this.#question = { moment: this.now(), askedMs, index: undefined };
    // Reads of clients have positive numbers.
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

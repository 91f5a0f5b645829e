/** The front's view of the core, from its reports every second. */
import type { DatabaseError } from '#base';
import type { Logger } from '#observability';
import type { NodeHealth } from '../node.ts';
import { duplicateProcess } from '../refusals.ts';
import type { Telemetry } from '../thread/core-thread-messages.ts';
import { ClockWatch } from './clock-watch.ts';

export class CoreWatch {
  readonly #clock: ClockWatch;
  readonly #monotonicMs: () => number;
  #heardMs: number;
  #hasCaughtUp = false;
  #refusedBy: string | undefined;
  #otherProcess: string | undefined;

  constructor(logger: Logger, monotonicMs: () => number) {
    this.#clock = new ClockWatch(logger);
    this.#monotonicMs = monotonicMs;
    this.#heardMs = monotonicMs();
  }

  get health(): Pick<NodeHealth, 'isClockFar' | 'coreSilentMs' | 'hasCaughtUp' | 'refusedBy'> {
    const coreSilentMs = this.#monotonicMs() - this.#heardMs;
    const [hasCaughtUp, refusedBy] = [this.#hasCaughtUp, this.#refusedBy];
    return { isClockFar: this.#clock.isFar, coreSilentMs, hasCaughtUp, refusedBy };
  }

  /**
   * Refusal of all requests while another process of this node runs (TP12). A database with one replica commits without
   * another node, so the refusal by other nodes is not enough.
   */
  get refusal(): DatabaseError | undefined {
    return this.#otherProcess === undefined ? undefined : duplicateProcess(this.#otherProcess);
  }

  look({ health, signs }: Pick<Telemetry, 'health' | 'signs'>): void {
    this.#clock.look(health);
    this.#refusedBy = signs.refusedBy;
    this.#otherProcess = signs.otherProcess;
    this.#heardMs = this.#monotonicMs();
    // Once caught up, it stays so.
    this.#hasCaughtUp ||= health.lacking === 0;
  }
}

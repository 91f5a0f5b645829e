/** Logs the progress of a drain with `--stay`, and knows whether there is one. */
import type { Logger } from '#observability';
import type { DrainNote } from '../core/drain.ts';

const BY = 'cairn cluster drain --stay';

export class DrainWatch {
  readonly #logger: Logger;
  readonly #monotonicMs: () => number;
  #began: { readonly atMs: number; readonly leads: number } | undefined;

  constructor(logger: Logger, monotonicMs: () => number) {
    this.#logger = logger;
    this.#monotonicMs = monotonicMs;
  }

  get isDraining(): boolean {
    return this.#began !== undefined;
  }

  note({ phase, leads }: DrainNote): void {
    const logger = this.#logger;
    if (phase === 'began') {
      this.#began = { atMs: this.#monotonicMs(), leads };
      logger.info('draining', { by: BY, leads });
    } else if (phase === 'ended') {
      this.#began = undefined;
      logger.info('undrained', { by: 'cairn cluster undrain' });
    } else if (this.#began !== undefined) {
      const elapsedMs = Math.round(this.#monotonicMs() - this.#began.atMs);
      if (leads === 0) logger.info('leads-handed-over', { leads: this.#began.leads, elapsedMs });
      else logger.warn('leads-left', { leads: this.#began.leads, left: leads, elapsedMs });
    }
  }
}

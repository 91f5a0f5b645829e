/** Logs once when the clock of this node is wrong, and when recorded times are ahead of it. */
import type { Logger } from '#observability';
import type { CoreHealth, RecordedAhead } from '../core/health.ts';

export class ClockWatch {
  readonly #logger: Logger;
  #isFar = false;
  #jumpedMs = 0;
  #ahead: RecordedAhead | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** True when this node assigns no times, because its clock differs too much from those of its peers (C41). */
  get isFar(): boolean {
    return this.#isFar;
  }

  look({ clock, recordedAhead }: Pick<CoreHealth, 'clock' | 'recordedAhead'>): void {
    const { aheadMs, isFar, jumpedMs } = clock;
    const logger = this.#logger;
    if (jumpedMs !== this.#jumpedMs) logger.warn('clock-jumped', { byMs: Math.round(jumpedMs - this.#jumpedMs) });
    if (isFar && !this.#isFar) logger.warn('clock-skewed', { aheadMs: Math.round(aheadMs), peers: clock.peers.size });
    if (!isFar && this.#isFar) logger.info('clock-agrees', { aheadMs: Math.round(aheadMs) });
    if (recordedAhead !== undefined && this.#ahead === undefined)
      logger.warn('recorded-time-ahead', { ...recordedAhead });
    if (recordedAhead === undefined && this.#ahead !== undefined) logger.info('recorded-time-reached', {});
    this.#jumpedMs = jumpedMs;
    this.#isFar = isFar;
    this.#ahead = recordedAhead;
  }
}

// Seeded faults of an API server in memory and of the connections to it.
import type { Random } from '../../model/generate/random.ts';

/** A request is refused, gets no response, or its response is lost; it is slow, or its response is; or it fails. */
export type RequestFault = 'none' | 'refused' | 'hangs' | 'lost' | 'slow' | 'late' | 'throttles' | 'fails';

/** The last messages arrive again, half of the message arrives, or it and all later messages are lost silently. */
export type MessageFault = 'none' | 'replayed' | 'cut' | 'black-hole';

/** Percentages of requests and of messages. */
export interface FaultRates {
  readonly requests: Partial<Record<Exclude<RequestFault, 'none'>, number>>;
  readonly messages: Partial<Record<Exclude<MessageFault, 'none'>, number>>;
  /** Percentage of stale lists, among those that may be stale. */
  readonly stale?: number;
}

export const EVERY_FAULT: FaultRates = {
  requests: { refused: 4, hangs: 3, lost: 4, slow: 6, late: 6, throttles: 4, fails: 4 },
  messages: { replayed: 10, cut: 6, 'black-hole': 4 },
  stale: 50,
};

export class Faults {
  #rates: FaultRates;
  readonly #random: Random;

  constructor(random: Random, rates: FaultRates = { requests: {}, messages: {} }) {
    this.#random = random;
    this.#rates = rates;
  }

  /** Without rates everything works, except watches that are black-holed already. */
  set(rates: FaultRates = { requests: {}, messages: {} }): void {
    this.#rates = rates;
  }

  request(): RequestFault {
    return this.#draw(this.#rates.requests) ?? 'none';
  }

  message(): MessageFault {
    return this.#draw(this.#rates.messages) ?? 'none';
  }

  /** Version of a list, in [least, newest]. */
  listed(least: number, newest: number): number {
    return this.#random.chance(this.#rates.stale ?? 0) ? least + this.#random.below(newest - least + 1) : newest;
  }

  slowMs(): number {
    return 50 + this.#random.below(8_000);
  }

  #draw<Fault extends string>(rates: Partial<Record<Fault, number>>): Fault | undefined {
    let rest = this.#random.below(1000) / 10;
    for (const [fault, percent] of Object.entries<number | undefined>(rates)) {
      rest -= percent ?? 0;
      if (rest < 0) return fault as Fault;
    }
    return undefined;
  }
}

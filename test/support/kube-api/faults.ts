// What goes wrong between a client and an API server in memory, and in the server, by chance.
import type { Random } from '../../model/generate/random.ts';

/** Of a request: it never arrives, is never answered, its answer is lost, it takes its time, or its answer does. */
export type RequestFault = 'none' | 'refused' | 'hangs' | 'lost' | 'slow' | 'late' | 'throttled' | 'fails';

/** Of a message of a watch: the last ones come again, half of it comes, or it and everything behind it never come. */
export type MessageFault = 'none' | 'replayed' | 'cut' | 'black-hole';

/** In percent: of requests, and of messages. */
export interface FaultRates {
  readonly requests: Partial<Record<Exclude<RequestFault, 'none'>, number>>;
  readonly messages: Partial<Record<Exclude<MessageFault, 'none'>, number>>;
  /** Of lists that may be older than now: how many are. */
  readonly stale?: number;
}

export const EVERY_FAULT: FaultRates = {
  requests: { refused: 4, hangs: 3, lost: 4, slow: 6, late: 6, throttled: 4, fails: 4 },
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

  /** Without rates everything works, except watches that are black holes already. */
  set(rates: FaultRates = { requests: {}, messages: {} }): void {
    this.#rates = rates;
  }

  request(): RequestFault {
    return this.#draw(this.#rates.requests) ?? 'none';
  }

  message(): MessageFault {
    return this.#draw(this.#rates.messages) ?? 'none';
  }

  /** A version from `least` up to `newest`. */
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

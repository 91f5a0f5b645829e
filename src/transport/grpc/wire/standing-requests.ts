/**
 * Requests that have not come whole, in the order in which something of them has come last, and which of them make way
 * when there is no room for another stream.
 *
 * What they hold is small, and is not in the budget for requests: a stream, and at most 16 KiB of its request. But
 * connections by the hundred, with a few such streams each, have all the room for streams that there is. So who has
 * less gets what stands still of those who have more, after as long as for the room of a large request (senders.ts).
 */
import { type Link, LinkedList } from '#base';
import type { Claim } from '../../allowance.ts';
import type { Sender } from './senders.ts';

/** A stream whose request comes. */
export interface StandingRequest {
  readonly link: Link<StandingRequest>;
  /** Undefined: it needs no room. */
  readonly claim: Claim | undefined;
  /** When something of it has come last. */
  readonly movedMs: number;
  /** Answers, and gives back what it has of its claim. */
  makeWay(): void;
}

/** That are looked at for one that comes. */
const LOOKS_MAX = 64;

export class StandingRequests {
  readonly #nowMs: () => number;
  readonly #requests = new LinkedList<StandingRequest>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Something of it has come; the answer is when. */
  moved({ link }: StandingRequest): number {
    if (this.#requests.has(link)) this.#requests.toEnd(link);
    else this.#requests.append(link);
    return this.#nowMs();
  }

  /** It is whole, or gone. */
  remove({ link }: StandingRequest): void {
    this.#requests.remove(link);
  }

  /** Takes so many more bytes of the claim; false: there is no room, also when others make way. */
  tryAdd(claim: Claim, bytes: number, sender: Sender): boolean {
    if (claim.tryAdd(bytes)) return true;
    const others = this.#thatMakeWay(claim, bytes, sender);
    for (const request of others) {
      if (claim.tryAddFree(bytes)) return true;
      request.makeWay();
    }
    return others.length > 0 && claim.tryAddFree(bytes);
  }

  #thatMakeWay(claim: Claim, bytes: number, { patienceMs }: Sender): readonly StandingRequest[] {
    const sinceMs = this.#nowMs() - patienceMs;
    const found: StandingRequest[] = [];
    let looks = 0;
    for (const request of this.#requests.values()) {
      if (request.movedMs > sinceMs || looks++ >= LOOKS_MAX) break;
      if (request.claim !== undefined && request.claim.bytes > claim.bytes + bytes) found.push(request);
    }
    return found;
  }
}

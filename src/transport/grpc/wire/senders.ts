/**
 * How the large requests of a connection have come, and so how long those who stand still are borne for its next one.
 *
 * ```
 *            ┌── a large request came whole ──> proven: a tenth of the patience
 *   new: a quarter of it
 *            └── one stood still, and made way ──> idler: all of it; after that time new again
 * ```
 *
 * Where half requests use up all room there is, those who send them want it back as soon as it is taken from them, and
 * are many. So they have to wait for longer than whoever sends requests and not halves.
 */
import type { ByteBudget } from '../../byte-budget.ts';

const PROVEN_PER_PATIENCE = 1 / 10;

export class Senders {
  readonly #requests: ByteBudget;
  readonly #byConnection = new WeakMap<object, Sender>();

  constructor(requests: ByteBudget) {
    this.#requests = requests;
  }

  of(connection: object): Sender {
    const known = this.#byConnection.get(connection);
    if (known !== undefined) return known;
    const sender = new Sender(this.#requests);
    this.#byConnection.set(connection, sender);
    return sender;
  }
}

/** What the requests of one connection have shown. */
export class Sender {
  readonly #requests: ByteBudget;
  #isProven = false;
  #idlerUntilMs = Number.NEGATIVE_INFINITY;

  /** For the senders alone. */
  constructor(requests: ByteBudget) {
    this.#requests = requests;
  }

  /** For so long others may stand still before they make way for this one. */
  get patienceMs(): number {
    const { patienceMs, takerPatienceMs } = this.#requests;
    if (this.#requests.nowMs() < this.#idlerUntilMs) return patienceMs;
    return this.#isProven ? patienceMs * PROVEN_PER_PATIENCE : takerPatienceMs;
  }

  /** A large request has come whole. */
  cameWhole(): void {
    if (this.#requests.nowMs() >= this.#idlerUntilMs) this.#isProven = true;
  }

  /** One has stood still until somebody else needed its room. */
  stoodStill(): void {
    this.#isProven = false;
    this.#idlerUntilMs = this.#requests.nowMs() + this.#requests.patienceMs;
  }
}

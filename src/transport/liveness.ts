/**
 * Decides whether another node answers: it has sent something within the last second, or answers a probe.
 *
 * A kernel accepts connections and bytes also for a process that is suspended, and a sender cannot tell whether
 * that process has taken a request. So a request is sent only to a node that answers, and its reply is awaited only as
 * long as the node answers probes.
 */

import type { Http2Session } from 'node:http2';

/** After a sign of life no probe is sent for so long. */
const FRESH_MS = 1_000;
/** A node that does not answer a probe in this time is silent. A busy thread stands still for less. */
const SILENT_MS = 2_000;

/** A thread that stood still misses one step of the wait, however long it stood. */
const STEPS = 10;

/** Resolves with whether the node answers; the signal aborts when it is silent. */
export type Probe = (silent: AbortSignal) => Promise<boolean>;

export class Liveness {
  readonly #probe: Probe;
  #heardMs = Number.NEGATIVE_INFINITY;
  #probing: Promise<boolean> | undefined;

  constructor(probe: Probe) {
    this.#probe = probe;
  }

  /** The node has sent something. */
  heard(): void {
    this.#heardMs = performance.now();
  }

  async isThere(): Promise<boolean> {
    if (performance.now() < this.#heardMs + FRESH_MS) return true;
    this.#probing ??= this.#ask();
    return this.#probing;
  }

  /** Calls `giveUp` when the node is silent, perhaps repeatedly, until the function that is returned is called. */
  watch(giveUp: () => void): () => void {
    const look = async (): Promise<void> => {
      if (!(await this.isThere())) giveUp();
    };
    const timer = setInterval(() => void look(), FRESH_MS);
    return () => clearInterval(timer);
  }

  async #ask(): Promise<boolean> {
    const silence = new AbortController();
    const stop = afterSilence(SILENT_MS, () => silence.abort());
    const isThere = await this.#probe(silence.signal);
    stop();
    this.#probing = undefined;
    if (isThere) this.heard();
    return isThere;
  }
}

/** Calls back when the other side answers, or with an error when the session ends. It must not be destroyed. */
export function ping(session: Http2Session, onAnswer: (error: Error | null) => void): void {
  // After a GOAWAY of either side, node:http2 cancels pings, but sends settings, which the other side acknowledges.
  if (session.closed) session.settings({}, onAnswer);
  else session.ping(onAnswer);
}

/**
 * Calls back after `ms` in which this thread could hear an answer. Returns a function that ends the wait.
 *
 * A process without a processor for a while finds its timers due before it reads what has arrived. One timer would
 * declare every other node silent then: each step gives the event loop a turn to read.
 */
export function afterSilence(ms: number, onSilent: () => void): () => void {
  let left = STEPS;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    onSilent();
  }, ms / STEPS);
  return () => clearInterval(timer);
}

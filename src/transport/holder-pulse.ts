/**
 * Whether the HTTP server of another node answers at all.
 *
 * ```
 *   heard of a moment ago ──────────────────────────> it is asked at once
 *   not heard of lately ──── GET /health ── OK ─────> it is asked
 *                                  └── silence ─────> it is not: nothing was sent, and somebody else may be asked
 *   somebody waits for it ── GET /health, again and again ── silence ──> whoever waits gives it up
 * ```
 *
 * A kernel accepts connections and what is sent on them also when the process behind it does not run. Whether that has
 * taken a request in, its sender cannot tell; so what may be sent once goes to those who answer.
 */
import type { Agent } from 'node:http';
import { afterSilence } from './silence.ts';

const { request: send } = process.getBuiltinModule('node:http');

/** Whoever was heard of so lately is taken to be there. */
const FRESH_MS = 1_000;
/** Whoever does not say for so long that it is there is silent: longer than a busy thread stands still. */
const SILENT_MS = 2_000;

export interface Place {
  readonly agent: Agent;
  readonly host: string;
  readonly port: string;
}

export class HolderPulse {
  readonly #place: Place;
  readonly #waiting = new Set<() => void>();
  #heardMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Whether it answers, by what it has said lately or says now. */
  async isThere(): Promise<boolean> {
    return performance.now() < this.#heardMs + FRESH_MS || this.#ask();
  }

  /** It has said something. */
  heard(): void {
    this.#heardMs = performance.now();
  }

  /** Calls `giveUp` when it is silent, until what is returned is called. */
  watch(giveUp: () => void): () => void {
    this.#waiting.add(giveUp);
    if (this.#waiting.size === 1) this.#later();
    return () => {
      this.#waiting.delete(giveUp);
      if (this.#waiting.size === 0) clearTimeout(this.#timer);
    };
  }

  #later(): void {
    this.#timer = setTimeout(() => void this.#look(), FRESH_MS);
  }

  async #look(): Promise<void> {
    // Who has begun to wait while it was asked is given up with the others: it has not said anything since.
    const isThere = await this.#ask();
    if (!isThere) for (const giveUp of this.#waiting) giveUp();
    else if (this.#waiting.size > 0) this.#later();
  }

  #ask(): Promise<boolean> {
    this.#asking ??= this.#askOnce();
    return this.#asking;
  }

  async #askOnce(): Promise<boolean> {
    const asked = send({ ...this.#place, path: '/health' });
    const stop = afterSilence(SILENT_MS, () => asked.destroy());
    const isThere = await new Promise<boolean>((resolve) => {
      asked.once('response', (answer) => {
        answer.resume();
        resolve(true);
      });
      asked.once('close', () => resolve(false)).on('error', () => resolve(false));
      asked.end();
    });
    stop();
    this.#asking = undefined;
    if (isThere) this.heard();
    return isThere;
  }
}

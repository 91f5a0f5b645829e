/**
 * Environment of lanes: connections that carry bytes in order, and time. The real one is here; the simulation has
 * another (test/simulation/peers), so that both run the same lanes.
 */
import { connect } from 'node:net';
import type { Address } from '#base';

/** The part of a TCP connection that lanes use; a Node socket is one. */
export interface Wire {
  readonly destroyed: boolean;
  /** Written bytes that the system has not accepted. */
  readonly writableLength: number;
  /** Writes bytes in order. `done` is called when the system has accepted them, or never will. */
  write(bytes: Uint8Array, done?: (failure?: Error | null) => void): unknown;
  cork(): void;
  uncork(): void;
  /** Stops reading: input waits in the system, and then at the other end. */
  pause(): unknown;
  resume(): unknown;
  /** Ends the output. */
  end(): unknown;
  /** Ends it at once; `failure` is passed to its listeners. */
  destroy(failure?: Error): unknown;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'error', listener: (failure: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  removeAllListeners(event: 'data'): unknown;
}

export interface LaneWorld {
  /** Dials at once; without an answer the connection closes by itself. */
  connect(target: Address): Wire;
  /** Why the next connection would fail equally; undefined or absent: it may succeed. */
  refusalIn?(failure: Error, target: Address): string | undefined;
  /** A monotonic clock. */
  nowMs(): number;
  /** The result cancels it, like that of `every`. */
  after(delayMs: number, run: () => void): () => void;
  every(intervalMs: number, run: () => void): () => void;
  /** Runs after all bytes that have arrived by now were read. */
  afterArrivals(run: () => void): void;
}

export const NET: LaneWorld = {
  connect: (target) => connect({ ...target, noDelay: true }),
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
  every: (intervalMs, run) => {
    const timer = setInterval(run, intervalMs);
    return () => clearInterval(timer);
  },
  afterArrivals: (run) => {
    setImmediate(run);
  },
};

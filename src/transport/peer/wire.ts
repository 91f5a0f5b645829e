/**
 * What lanes have of the world: connections that carry bytes in order, and time. The real one is here; the simulation
 * has another (test/simulation/peers), so that the lanes themselves are the same in both.
 */
import { connect } from 'node:net';
import type { Address } from '#base';

/** As much of a connection of TCP as lanes use; a socket of Node is one. */
export interface Wire {
  readonly destroyed: boolean;
  /** Bytes that were written, and that the system has not taken. */
  readonly writableLength: number;
  /** The bytes leave in order. `done` is called when the system has taken them, or never will. */
  write(bytes: Uint8Array, done?: (failure?: Error | null) => void): unknown;
  cork(): void;
  uncork(): void;
  /** Stops reading: what arrives waits in the system, and then at the other end. */
  pause(): unknown;
  resume(): unknown;
  /** Says that nothing more follows. */
  end(): unknown;
  /** Ends it at once; `failure` is what its listeners hear. */
  destroy(failure?: Error): unknown;
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown;
  on(event: 'error', listener: (failure: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  removeAllListeners(event: 'data'): unknown;
}

export interface LaneWorld {
  /** Dials at once; the connection closes by itself without an answer. */
  connect(target: Address): Wire;
  /** Why the next connection would fail as one has; undefined, and absent: it may be different in a moment. */
  refusalIn?(failure: Error, target: Address): string | undefined;
  /** A clock that never goes back. */
  nowMs(): number;
  /** What is returned stops it, like that of `every`. */
  after(delayMs: number, run: () => void): () => void;
  every(intervalMs: number, run: () => void): () => void;
  /** When everything that has arrived by now was read. */
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

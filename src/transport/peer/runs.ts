/**
 * Distinguishes the processes of one node (TP12): each draws a number, its run. Two of them at once have copies of one
 * data directory, and would vote as one replica.
 */
import { type Address, formatAddress } from '#base';
import type { FrameFault, NodePlace } from '#cluster';
import type { PeerLimits } from './limits.ts';
import type { LaneWorld } from './wire.ts';

/** One process of a node. */
export interface Run {
  readonly run: number;
  /** Address at which it listens for other nodes; undefined when it does not announce one. */
  readonly address: Address | undefined;
}

/** One open connection of a process. */
export interface HeardRun extends Run {
  readonly place: NodePlace;
  /** Time of the last received bytes. */
  heardMs(): number;
  destroy(): void;
}

/** Silence after which the process of an open connection is considered ended. */
export function silenceMs({ pingEveryMs, pingTimeoutMs }: PeerLimits): number {
  return pingEveryMs + pingTimeoutMs;
}

/**
 * Fault of a process while another one of its node has open connections. Silent connections are ended, but only after
 * all arrived bytes were read: the caller dials again.
 */
export function duplicateOf(
  { run, address }: Run,
  heard: readonly HeardRun[],
  { world, limits }: { readonly world: LaneWorld; readonly limits: PeerLimits },
): FrameFault | undefined {
  const others = heard.filter((each) => each.run !== run);
  const [first] = others;
  if (first === undefined) return undefined;
  world.afterArrivals(() => {
    const sinceMs = world.nowMs() - silenceMs(limits);
    for (const other of others) if (other.heardMs() <= sinceMs) other.destroy();
  });
  const { node, store } = first.place;
  const words = `another process of node ${node}, store ${store}, is heard ${at(first.address)}; the one that is refused listens ${at(address)}`;
  return { kind: 'duplicate', words };
}

function at(address: Address | undefined): string {
  return address === undefined ? 'at an address that it does not name' : `at ${formatAddress(address)}`;
}

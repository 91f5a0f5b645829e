/**
 * Tells the processes of one node apart (TP12): each draws a number, its run. Two of them at once have the same data
 * directory, of which one is a copy, and would vote as one replica.
 */
import { type Address, formatAddress } from '#base';
import type { FrameFault, NodePlace } from '#cluster';
import type { PeerLimits } from './limits.ts';
import type { LaneWorld } from './wire.ts';

/** One process of a node. */
export interface Run {
  readonly run: number;
  /** Where it listens for other nodes; undefined when it does not say. */
  readonly address: Address | undefined;
}

/** One open connection of a process. */
export interface HeardRun extends Run {
  readonly place: NodePlace;
  /** When something arrived last. */
  heardMs(): number;
  destroy(): void;
}

/** An open connection on which nothing has arrived for so long is of a process that has ended. */
export function silenceMs({ pingEveryMs, pingTimeoutMs }: PeerLimits): number {
  return pingEveryMs + pingTimeoutMs;
}

/**
 * Fault of a process while another one of its node has open connections. Those that are silent are ended, but not
 * before everything that has arrived was read: the caller dials again.
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

/**
 * Distinguishes the processes of one node (TP12): each draws a number, its run. Two of them at once have copies of one
 * data directory, and would vote as one replica.
 */
import { type Address, formatAddress } from '#base';
import type { FrameFault, PeerIdentity } from '#cluster';
import type { PeerLimits } from './limits.ts';
import type { LaneWorld } from './wire.ts';

/** One process of a node. */
export interface Run {
  readonly run: number;
  /** Address at which it listens for other nodes; undefined when it does not announce one. */
  readonly address: Address | undefined;
  /** True if it answers at that address; otherwise it only announces it. */
  readonly isDialled?: boolean;
}

/** One open connection of a process. */
export interface HeardRun extends Run {
  readonly place: PeerIdentity;
  /** Time at which the connection was accepted. */
  readonly sinceMs: number;
  /** Time of the last received bytes. */
  heardMs(): number;
  destroy(): void;
}

/** Silence after which the process of an open connection is considered ended. */
export function silenceMs({ pingEveryMs, pingTimeoutMs }: PeerLimits): number {
  return pingEveryMs + pingTimeoutMs;
}

export interface RunJudge {
  readonly world: LaneWorld;
  readonly limits: PeerLimits;
  /** Address of the node in the catalog. */
  readonly known: Address | undefined;
}

/**
 * Fault of a process while another one of its node has open connections. Silent connections are ended, but only after
 * all arrived bytes were read: the caller dials again.
 *
 * A process that was accepted within one silence timeout is replaced by one with a better claim to the address in the
 * catalog. Otherwise two nodes that start could accept one process each, which then both end.
 */
export function duplicateOf(
  process: Run,
  heard: readonly HeardRun[],
  { world, limits, known }: RunJudge,
): FrameFault | undefined {
  const others = heard.filter(({ run }) => run !== process.run);
  const [first] = others;
  if (first === undefined) return undefined;
  const newMs = world.nowMs() - silenceMs(limits);
  if (others.every((other) => other.sinceMs > newMs && claimOf(other, known) < claimOf(process, known))) {
    for (const other of others) other.destroy();
    return undefined;
  }
  world.afterArrivals(() => {
    const sinceMs = world.nowMs() - silenceMs(limits);
    for (const other of others) if (other.heardMs() <= sinceMs) other.destroy();
  });
  const { node, store } = first.place;
  const other = `another process of node ${node}, store ${store}, is already connected and listens ${at(first.address)}`;
  return { kind: 'duplicate', words: `${other}; the refused process listens ${at(process.address)}` };
}

/** The greater, the better the claim of a process to the address of its node. */
function claimOf({ address, isDialled = false }: Run, known: Address | undefined): number {
  if (address === undefined || address.host !== known?.host || address.port !== known.port) return 0;
  return isDialled ? 2 : 1;
}

function at(address: Address | undefined): string {
  return address === undefined ? 'at an unknown address' : `at ${formatAddress(address)}`;
}

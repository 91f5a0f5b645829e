/**
 * Where the nodes of a run are, and how they reach each other: in namespaces, with links and file systems of the
 * kernel; or on loopback, where those are not allowed, with links that are proxies of ours and disks that are plain
 * directories. Faults are drawn alike in both, and what cannot be done in one of them is named.
 */
import { BridgedNetwork } from './bridged-network.ts';
import { Disk } from './disk.ts';
import type { Network } from './network.ts';
import { ProxiedNetwork } from './proxied-network.ts';

export const WORLDS = ['namespaces', 'loopback'] as const;

export type WorldKind = (typeof WORLDS)[number];

export interface World {
  readonly kind: WorldKind;
  readonly network: Network;
  /** The disk of the node with this name. */
  disk(name: string, bytes: number): Promise<Disk>;
}

/** The world of a run whose files go to `dir`; namespaces must have been entered before. */
export async function makeWorld(kind: WorldKind, dir: string): Promise<World> {
  if (kind === 'namespaces') {
    return { kind, network: await BridgedNetwork.make(), disk: (name, bytes) => Disk.mount(name, bytes) };
  }
  const disk = async (name: string): Promise<Disk> => Disk.share(dir, `${name}.disk`);
  return { kind, network: new ProxiedNetwork(), disk };
}

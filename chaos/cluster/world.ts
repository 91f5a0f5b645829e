/**
 * The environment of the nodes of a run. `namespaces` uses links and file systems of the kernel. `loopback`, for
 * machines without namespaces, uses proxies as links and plain directories as disks. Both get the same faults; a fault
 * that an environment does not support is skipped and reported.
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
  /** Returns the disk of the node with this name. */
  disk(name: string, bytes: number): Promise<Disk>;
}

/**
 * Creates the environment of a run whose files go to `dir`. For namespaces, the process must be inside them already.
 */
export async function makeWorld(kind: WorldKind, dir: string): Promise<World> {
  if (kind === 'namespaces') {
    return { kind, network: await BridgedNetwork.make(), disk: (name, bytes) => Disk.mount(name, bytes) };
  }
  const disk = async (name: string): Promise<Disk> => Disk.share(dir, `${name}.disk`);
  return { kind, network: new ProxiedNetwork(), disk };
}

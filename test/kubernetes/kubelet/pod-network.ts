/**
 * The network namespace of a pod, with one address and a routed link: no bridge, and every packet between two pods goes
 * through the forward chains of the world, where network policies and faults are.
 *
 *   pod: eth0 10.244.1.7/32, default by 169.254.1.1   <->   world: v1a2b3c4d, route to 10.244.1.7/32
 */
import { attempt, feed, run } from '../run.ts';

/** The next hop of every pod. Its hardware address is that of the outer end of each link. */
const GATEWAY = '169.254.1.1';
const GATEWAY_MAC = 'ee:ee:ee:ee:ee:ee';

let addressCount = 0;

/** Returns an address that no pod of this cluster has had. */
export function nextAddress(): string {
  addressCount += 1;
  return `10.244.${1 + Math.floor(addressCount / 250)}.${1 + (addressCount % 250)}`;
}

/** Creates the network namespace named `id`. */
export async function attachNetwork(id: string, address: string): Promise<void> {
  // A failed start may have left a namespace of this name.
  await detachNetwork(id);
  await run('ip', 'netns', 'add', id);
  const outside = `
    link add ${linkOf(id)} address ${GATEWAY_MAC} type veth peer name eth0 netns ${id}
    link set ${linkOf(id)} up
    route add ${address}/32 dev ${linkOf(id)}`;
  await feed(outside, 'ip', '-batch', '-');
  const inside = `
    link set lo up
    addr add ${address}/32 dev eth0
    link set eth0 up
    route add ${GATEWAY} dev eth0
    route add default via ${GATEWAY}
    neigh add ${GATEWAY} lladdr ${GATEWAY_MAC} dev eth0 nud permanent`;
  await feed(inside, 'ip', '-n', id, '-batch', '-');
}

export async function detachNetwork(id: string): Promise<void> {
  await Promise.all([attempt('ip', 'netns', 'delete', id), attempt('ip', 'link', 'delete', linkOf(id))]);
}

/** Derives the name of the link from the uid of the pod, the last part of its id. */
function linkOf(id: string): string {
  return `v${id.slice(-8)}`;
}

/**
 * Which address of the leader a client receives: the one of the address plane by which the client connected (ADR 0178).
 *
 * A client that was given an address of the other plane could not reach it, or would leave the network that its traffic
 * is meant for. The name that a client has dialled is the authority of its calls; a relayed call has that of the node
 * that was asked for it, so the node that the client has reached says the address, and not the one that answers.
 */
import type { Fields } from './wire/status.ts';

/** How clients from outside reach nodes. */
export interface OutsideAddresses {
  /** Whether somebody from outside dials this host, which is in lowercase. */
  readonly isOutside: (host: string) => boolean;
  /** host:port of a node, by its name; undefined: it has none. */
  readonly addressOf: (name: string) => string | undefined;
}

/** Trailers for a client with this authority. */
export type TrailersFor = <T extends Fields>(authority: string | undefined, trailers: T) => T;

export function leaderPlane({ isOutside, addressOf }: OutsideAddresses): TrailersFor {
  return (authority, trailers) => {
    const node = trailers['x-leader-node'];
    if (typeof node !== 'string' || authority === undefined || !isOutside(hostOf(authority))) return trailers;
    const address = addressOf(node);
    return address === undefined ? trailers : { ...trailers, 'x-leader-address': address };
  };
}

/** Without port, brackets, and the dot at the end of a full name. */
function hostOf(authority: string): string {
  return authority
    .replace(/:\d*$/, '')
    .replaceAll(/^\[|\]$|\.$/g, '')
    .toLowerCase();
}

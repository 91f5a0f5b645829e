/**
 * Returns the leader's address in the address plane by which the client connected (ADR 0178).
 *
 * A client could not reach an address of the other plane, or would leave its network. The authority of a call is the
 * name that the client has dialled. A relayed call has the authority of the relaying node, so the node that the client
 * has reached adds the address, not the answering node.
 */
import type { Fields } from './wire/status.ts';

export interface OutsideAddresses {
  /** Tells whether clients from outside dial this host, which is in lowercase. */
  readonly isOutside: (host: string) => boolean;
  /** host:port of a node, by its name; undefined: none. */
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

/** Host without port, brackets, and the dot at the end of a full name. */
function hostOf(authority: string): string {
  return authority
    .replace(/:\d*$/, '')
    .replaceAll(/^\[|\]$|\.$/g, '')
    .toLowerCase();
}

/** The port at which other nodes reach this one: bound first, and opened for links once the node has an identity. */
import type { Administer, Asker } from '../admin/administered.ts';
import type { Newcomer } from '../peer/belonging.ts';
import type { JoinReply, JoinRequest } from '../peer/join.ts';
import type { PeerLinks } from '../peer/links.ts';
import type { PeerObserver } from '../peer/observer.ts';
import type { PeerIdentity } from '../peer/peer-identity.ts';

/** Parameters of links. */
export interface PeerLinksOptions {
  readonly clusterId: string;
  readonly self: PeerIdentity;
  /** A number that each process of the node draws; other nodes accept one process at a time. */
  readonly run: number;
  /** Called when another node has accepted another process of this node for so long that this one must end. */
  readonly onDuplicate?: (words: string) => void;
  /** Where this node listens for the others; port 0 picks a free one. */
  readonly host: string;
  readonly port: number;
  /** The host that others dial; by default `host`, unless that means every address of this machine. */
  readonly advertisedHost?: string | undefined;
  readonly observer: PeerObserver;
  /** Maximum number of connections to this node; further ones are closed. Absent: unlimited. */
  readonly connectionsMax?: number | undefined;
}

/** Address that the peer port binds, and its connection limit. */
export type PeerPortOptions = Pick<PeerLinksOptions, 'host' | 'port' | 'connectionsMax'>;

/**
 * The peer port, bound before the identity of the node is known: until then it answers that the node is starting, or
 * which cluster it looks for.
 */
export interface PeerPort {
  /** The port that was bound. */
  readonly port: number;
  /** Sets what the node reports of itself until `openLinks`. */
  introduce(newcomer: Newcomer): void;
  /** Opens the links of the node at this port; called once. */
  openLinks(options: PeerLinksOptions): OpenPeerLinks;
}

export interface OpenPeerLinks extends PeerLinks {
  /** The port that was bound. */
  readonly port: number;
  /** Sets the only listener for join requests, and for address updates of nodes. */
  onJoin(listener: (request: JoinRequest, asker?: Asker) => Promise<JoinReply>): void;
  /** Sets the only listener for admin requests. Absent where none are served. */
  onAdmin?(listener: Administer): void;
}

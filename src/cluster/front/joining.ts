/**
 * What a start has to do with other nodes, as the front sees it: a new store asks to join before anything is opened;
 * one that belongs to a cluster makes sure that the others mean the same one; and what this node says of itself.
 */
import { type Address, DatabaseError, formatAddress, LEVELS } from '#base';
import type { Logger } from '#observability';
import type { NodeRegistration } from '../outcome.ts';
import type { Joined } from '../peer/join.ts';
import type { CoreThread } from '../thread/core-thread.ts';
import type { LinksOrder } from '../thread/core-thread-messages.ts';
import type { FrontPorts } from './front-node.ts';

export interface JoiningOptions {
  readonly dataDirectory: string;
  readonly name: string;
  readonly zone?: string;
  readonly links?: LinksOrder;
  readonly join?: { readonly seeds: readonly Address[]; readonly waitMs: number };
  readonly logger: Logger;
}

/** Whoever does not answer by then has nothing to say against this node. */
const CHECK_TIMEOUT_MS = 1_000;

export class Joining {
  readonly #options: JoiningOptions;
  readonly #core: CoreThread;
  #joined: Joined | undefined;

  constructor(options: JoiningOptions, core: CoreThread) {
    this.#options = options;
    this.#core = core;
  }

  /** The order for links, with whoever was named by the cluster. */
  get links(): LinksOrder | undefined {
    const { links, join } = this.#options;
    if (links === undefined) return undefined;
    return { ...links, peers: this.#joined?.nodes ?? links.peers, seeds: join?.seeds ?? [] };
  }

  /** @throws DatabaseError when no cluster takes the store in. */
  async join(storeId: string): Promise<Joined> {
    const { join, links, logger } = this.#options;
    const seeds = join?.seeds ?? [];
    logger.info('joining', { seeds: seeds.map(formatAddress), store: storeId });
    const registration = this.#registration(storeId, links?.port ?? 0);
    const request = { clusterId: undefined, registration, release: links?.release ?? '' };
    this.#joined = await this.#core.join({ kind: 'join', seeds, request, waitMs: join?.waitMs ?? 0 });
    logger.info('joined', { cluster: this.#joined.clusterId, nodeId: this.#joined.node });
    return this.#joined;
  }

  /** @throws DatabaseError `invalid_argument` when a seed belongs to another cluster. */
  async check(clusterId: string): Promise<void> {
    const { join, dataDirectory } = this.#options;
    if (join === undefined || this.#joined !== undefined) return;
    const clusters = await this.#core.check({ kind: 'check', seeds: join.seeds, timeoutMs: CHECK_TIMEOUT_MS });
    const other = clusters.find((each) => each !== clusterId);
    if (other === undefined) return;
    const message = `The data directory ${dataDirectory} belongs to the cluster ${clusterId}, and --join names a node of ${other}; name a node of the same cluster, or use an empty directory, also if the one was recovered as the other without this node`;
    throw new DatabaseError('invalid_argument', message, { details: { reason: 'OtherCluster' } });
  }

  /** What the front needs to tell others where this node is. */
  reachable(storeId: string, port: number): Pick<FrontPorts, 'announce' | 'peerAddress'> {
    const registration = this.#registration(storeId, port);
    return {
      peerAddress: formatAddress(registration.peer),
      announce: (clients) => this.#core.announce({ ...registration, ...clients }),
    };
  }

  #registration(storeId: string, port: number): NodeRegistration {
    const { name, zone = '', links } = this.#options;
    const host = links?.advertisedHost ?? links?.host ?? '';
    return { storeId, name, zone, peer: { host, port }, grpc: '', http: '', levels: LEVELS };
  }
}

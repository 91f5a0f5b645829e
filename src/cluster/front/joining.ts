/**
 * The part of a start that involves other nodes, in the front: the peer port is bound first, a new store joins or
 * founds a cluster before anything is opened, and this node announces its addresses.
 */
import { type Address, formatAddress, LEVELS } from '#base';
import type { Logger } from '#observability';
import type { NodeRegistration } from '../outcome.ts';
import type { Founder, Joined } from '../peer/join.ts';
import type { Origin } from '../store/own-identity.ts';
import type { CoreThread } from '../thread/core-thread.ts';
import type { LinksOrder } from '../thread/core-thread-messages.ts';
import type { FrontPorts } from './front-node.ts';

export interface JoiningOptions {
  readonly dataDirectory: string;
  readonly name: string;
  readonly zone?: string;
  readonly links?: LinksOrder;
  readonly join?: JoinOptions;
  readonly mayFound: boolean;
  readonly isLearner?: boolean;
  /** Receives the reason why a new node waits, repeatedly; undefined when it no longer waits. */
  readonly onWaiting?: (why: string | undefined) => void;
  readonly logger: Logger;
}

/** Where to find the cluster. */
export interface JoinOptions {
  readonly seeds: readonly Address[];
  /** Time for which a new node tries to join; undefined: forever. */
  readonly waitMs: number | undefined;
}

/** Interval at which an unchanged reason is logged again. */
const LOG_EVERY_MS = 60_000;

export class Joining {
  readonly #options: JoiningOptions;
  readonly #core: CoreThread;
  #port = 0;
  #joined: Joined | undefined;

  constructor(options: JoiningOptions, core: CoreThread) {
    this.#options = options;
    this.#core = core;
  }

  /** The order for peer links, with the nodes that the cluster has named. */
  get links(): LinksOrder | undefined {
    const { links, join } = this.#options;
    if (links === undefined) return undefined;
    return { ...links, peers: this.#joined?.nodes ?? links.peers, seeds: join?.seeds ?? [] };
  }

  /** Way in which a new store becomes a node. The list of first nodes may name this one alone. */
  get origin(): Origin {
    const { join, mayFound } = this.#options;
    const [first, ...others] = join?.seeds ?? [];
    if (join === undefined || first === undefined) return { kind: mayFound ? 'alone' : 'unknown' };
    // Decided by the address and not by the answers: a name may resolve to other nodes that are not up yet.
    if (mayFound && others.length === 0 && this.#isOwn(first)) return { kind: 'alone' };
    return { kind: 'asks', ask: (storeId) => this.#join(storeId, join) };
  }

  #isOwn(seed: Address): boolean {
    const { links } = this.#options;
    return links !== undefined && formatAddress(seed) === formatAddress(addressOf(links, links.port));
  }

  /** Binds the peer port, if there is one. @throws DatabaseError when the address cannot be bound. */
  async bind(): Promise<void> {
    const { links } = this.#options;
    if (links === undefined) return;
    const { host, port, connectionsMax } = links;
    this.#port = await this.#core.bind({ host, port, connectionsMax });
  }

  /** Front ports for announcing the addresses of this node. */
  reachable(storeId: string, port: number): Pick<FrontPorts, 'administer' | 'announce' | 'peerAddress'> {
    const registration = this.#registration(storeId, port);
    return {
      peerAddress: formatAddress(registration.peer),
      administer: (order) => this.#core.administer(order),
      announce: (clients) => this.#core.announce({ ...registration, ...clients }),
    };
  }

  /** @throws DatabaseError when no cluster admits the store. */
  async #join(storeId: string, { seeds, waitMs = Number.POSITIVE_INFINITY }: JoinOptions): Promise<Joined | Founder> {
    const { links, logger, mayFound, onWaiting } = this.#options;
    logger.info('joining', { seeds: seeds.map(formatAddress), store: storeId, mayFound });
    const request = {
      clusterId: undefined,
      registration: this.#registration(storeId, this.#port),
      release: links?.release ?? '',
      run: 0,
    };
    const answer = await this.#core.join({ seeds, request, waitMs, mayFound }, this.#waiting());
    onWaiting?.(undefined);
    if (answer.kind === 'founder') logger.info('founding', { store: storeId });
    else {
      this.#joined = answer;
      logger.info('joined', { cluster: answer.clusterId, nodeId: answer.node });
    }
    return answer;
  }

  #waiting(): (why: string) => void {
    const { logger, onWaiting } = this.#options;
    let [last, sinceMs] = ['', 0];
    return (why) => {
      onWaiting?.(why);
      const nowMs = performance.now();
      if (why === last && nowMs < sinceMs + LOG_EVERY_MS) return;
      [last, sinceMs] = [why, nowMs];
      logger.warn('waiting-for-cluster', { message: why });
    };
  }

  #registration(storeId: string, port: number): NodeRegistration {
    const { name, zone = '', links, isLearner = false } = this.#options;
    return { storeId, name, zone, peer: addressOf(links, port), grpc: '', http: '', levels: LEVELS, isLearner };
  }
}

/** Address that other nodes connect to. */
function addressOf(links: LinksOrder | undefined, port: number): Address {
  return { host: links?.advertisedHost ?? links?.host ?? '', port };
}

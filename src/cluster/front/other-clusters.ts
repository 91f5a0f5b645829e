/** Handles a conflict between this node and another cluster. */
import { DatabaseError, type NodeId } from '#base';
import type { Logger } from '#observability';
import type { Telemetry } from '../thread/core-thread-messages.ts';

const ADVICE =
  'to let this node join the other cluster, move its data directory away and start it with --join; to keep this cluster, start it at another address and with other seeds';

/** The parts of the catalog that the decision needs. */
interface KnownCatalog {
  list(): readonly unknown[];
  nodes(): readonly { readonly node: NodeId }[];
}

export class OtherClusters {
  readonly #logger: Logger;
  #sign: string | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  look({ signs: { otherCluster: sign } }: { readonly signs: Pick<Telemetry['signs'], 'otherCluster'> }): void {
    const isNew = sign !== undefined && this.#sign === undefined;
    this.#sign = sign;
    if (isNew) this.#logger.warn('other-cluster', { message: sign, advice: ADVICE });
  }

  /**
   * Reason why this node serves nothing: it has founded its cluster alone, has no database, and probably belonged to
   * the other cluster before it lost its disk (K1). A node with a database serves it, whatever node connects.
   */
  refusal(self: NodeId, catalog: KnownCatalog): DatabaseError | undefined {
    if (this.#sign === undefined || catalog.list().length > 0) return undefined;
    const [only, ...others] = catalog.nodes();
    if (only?.node !== self || others.length > 0) return undefined;
    const message = `${this.#sign}. This node is alone in its cluster, has no database, and refuses all requests meanwhile: ${ADVICE}`;
    return new DatabaseError('unavailable', message, { details: { reason: 'OtherCluster' } });
  }
}

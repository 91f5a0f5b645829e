/** What a node does when it and another cluster contradict each other. */
import { DatabaseError, type NodeId } from '#base';
import type { Logger } from '#observability';
import type { OtherClusterSign } from '../core/standing.ts';

const ADVICE =
  'to have this node join the other cluster, move its data directory away and start it with --join; to keep this cluster, start it at another address and with other seeds';

/** As much of the catalog as decides. */
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

  look({ otherCluster: sign }: OtherClusterSign): void {
    const isNew = sign !== undefined && this.#sign === undefined;
    this.#sign = sign;
    if (isNew) this.#logger.warn('other-cluster', { message: sign, advice: ADVICE });
  }

  /**
   * Why this node answers nothing: it founded its cluster alone, holds no database, and is probably the member of the
   * other cluster that lost its disk (K1). A node that holds a database serves it, whatever node dials.
   */
  refusal(self: NodeId, catalog: KnownCatalog): DatabaseError | undefined {
    if (this.#sign === undefined || catalog.list().length > 0) return undefined;
    const [only, ...others] = catalog.nodes();
    if (only?.node !== self || others.length > 0) return undefined;
    const message = `${this.#sign}. This node is alone in its cluster, holds no database, and answers nothing meanwhile: ${ADVICE}`;
    return new DatabaseError('unavailable', message, { details: { reason: 'OtherCluster' } });
  }
}

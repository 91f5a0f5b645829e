/**
 * Finds out that the nodes which this one should be among belong to another cluster: by its seeds, and by nodes that
 * dial its address as one of theirs. A member of several nodes says so, and goes on. A node that has founded its
 * cluster and was never joined by another is in the wrong one as far as anybody can tell: it is not ready, and answers
 * nothing.
 */
import { type Address, formatAddress, type NodeId } from '#base';
import type { AskBelonging } from './belonging.ts';

/** What was seen of another cluster. */
export interface OtherCluster {
  /** A sentence. */
  readonly why: string;
  /** This node answers nothing any more. */
  readonly isCutOff: boolean;
}

export interface OtherClusterPorts {
  readonly clusterId: string;
  readonly seeds: readonly Address[];
  /** Nodes that the catalog has ever named, this one among them; 0 while that is unknown, soon after a start. */
  readonly nodeCount: () => number;
  readonly ask: AskBelonging;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onSeen: (other: OtherCluster) => void;
}

const LOOK_MS = 5_000;
const ASK_TIMEOUT_MS = 2_000;

export class OtherClusterWatch {
  readonly #ports: OtherClusterPorts;
  readonly #seen = new Set<string>();
  #isClosed = false;

  constructor(ports: OtherClusterPorts) {
    this.#ports = ports;
  }

  /** A node of another cluster has dialled this one, as node so and so of that. */
  dialledBy(node: NodeId | undefined): void {
    this.#saw(`node ${node ?? ''} of another cluster dials the address of this one as a node of its own`);
  }

  /** Asks the seeds until each has said which cluster it belongs to, and as long as this node is alone. */
  async watch(): Promise<void> {
    const { seeds, clusterId, ask, nodeCount, sleep } = this.#ports;
    const answered = new Set<string>();
    while (!this.#isClosed && (answered.size < seeds.length || (seeds.length > 0 && nodeCount() <= 1))) {
      for (const seed of nodeCount() === 0 ? [] : seeds) {
        const answer = await ask(seed, ASK_TIMEOUT_MS);
        if (this.#isClosed || answer.kind !== 'member') continue;
        answered.add(formatAddress(seed));
        if (answer.clusterId !== clusterId)
          this.#saw(`${formatAddress(seed)}, which --join names, belongs to the cluster ${answer.clusterId}`);
      }
      await sleep(LOOK_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Each once. */
  #saw(what: string): void {
    const { clusterId, nodeCount, onSeen } = this.#ports;
    if (nodeCount() === 0 || this.#seen.has(what)) return;
    this.#seen.add(what);
    const isCutOff = nodeCount() === 1;
    const advice = isCutOff
      ? '. This node is alone in its cluster, and answers nothing. To have it join the other cluster, move its data directory away and start it with --join; to keep this cluster, start it again with another address and other seeds'
      : '';
    onSeen({ why: `This node belongs to the cluster ${clusterId}; ${what}${advice}`, isCutOff });
  }
}

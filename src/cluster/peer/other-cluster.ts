/**
 * Signs that this node and another cluster contradict each other: nodes of that cluster dial this one, or `--join`
 * names one of its nodes. The watch decides nothing: front/other-clusters.ts logs a sign and acts on it, and
 * administration.ts shows it to operators.
 */
import { type Address, formatAddress, type NodeId } from '#base';
import type { AskBelonging } from './belonging.ts';

export interface OtherClusterPorts {
  readonly clusterId: string;
  readonly seeds: readonly Address[];
  readonly ask: AskBelonging;
  readonly sleep: (ms: number) => Promise<void>;
  readonly monotonicMs: () => number;
}

const LOOK_MS = 5_000;
const ASK_TIMEOUT_MS = 2_000;
/** Nodes dial again every 3 s. */
const DIALLED_MS = 30_000;

export class OtherClusterWatch {
  readonly #ports: OtherClusterPorts;
  #seed: string | undefined;
  #dialled: { readonly why: string; readonly untilMs: number } | undefined;
  #isClosed = false;

  constructor(ports: OtherClusterPorts) {
    this.#ports = ports;
  }

  /** A sentence with both cluster ids; undefined when no node of another cluster dialled this one lately. */
  get sign(): string | undefined {
    if (this.#seed !== undefined) return this.#seed;
    const { why, untilMs } = this.#dialled ?? { why: undefined, untilMs: 0 };
    return this.#ports.monotonicMs() < untilMs ? why : undefined;
  }

  /** A node of another cluster dialled this one; `words` name both clusters. */
  dialledBy(node: NodeId | undefined, words: string): void {
    const why = `Node ${node ?? 'unknown'} of another cluster dials the address of this node: ${words}`;
    this.#dialled = { why, untilMs: this.#ports.monotonicMs() + DIALLED_MS };
  }

  /** Asks the seeds until each has said which cluster it belongs to. */
  async watchSeeds(): Promise<void> {
    const { clusterId, seeds, ask, sleep } = this.#ports;
    const unknown = new Set(seeds);
    while (unknown.size > 0 && !this.#isClosed) {
      for (const seed of unknown) {
        const answer = await ask(seed, ASK_TIMEOUT_MS);
        if (answer.kind !== 'member') continue;
        unknown.delete(seed);
        if (answer.clusterId === clusterId) continue;
        const named = `${formatAddress(seed)}, which --join names, belongs to the cluster ${answer.clusterId}`;
        this.#seed = `${named}; this node belongs to the cluster ${clusterId}`;
      }
      if (unknown.size > 0) await sleep(LOOK_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
  }
}

/**
 * State behind the probes of a kubelet (docs/operations/probes.md). No probe depends on a quorum, another node, a
 * database or a component: a failure that restarts a node or removes it from a Service must not spread to other nodes.
 *
 * ```
 *   opens its store ──> recovers its log ──> listens ──> drains
 *          └── waits for a cluster ──┘
 * ```
 */
import type { Node, NodeHealth } from '#cluster';
import type { ProbeCheck, Probes } from '#observability';

/** The core thread reports every second. After this time without a report it counts as hanging. */
const CORE_SILENT_MS = 60_000;

/** Port with a certificate. */
interface Certified {
  /** Reason why clients that verify the certificate cannot connect now. */
  readonly certificateFault: string | undefined;
}

export class NodeProbes {
  /** Reason why a new node waits; undefined when it no longer waits. */
  waitsFor: string | undefined;
  /** True when the store is open and the node belongs to a cluster. */
  hasOpened = false;
  /** Set when the log is recovered. */
  node: Pick<Node, 'health'> | undefined;
  listens = false;
  drains = false;
  readonly #certified: readonly (Certified | undefined)[];

  /** `certified`: the ports with TLS. */
  constructor(certified: readonly (Certified | undefined)[]) {
    this.#certified = certified;
  }

  readonly checks: Probes = {
    '/startupz': [
      check('store', () => this.#unlessWaiting(this.hasOpened, 'it opens its data directory')),
      check('log', () => this.#unlessWaiting(this.node !== undefined, 'it recovers its log')),
      check('listeners', () => this.#unlessWaiting(this.listens, 'its servers do not listen yet')),
    ],
    '/livez': [check('ping', () => undefined), check('core', () => this.#coreFault())],
    '/readyz': [
      check('started', () => unless(this.listens, 'it is starting')),
      check('cluster', () => this.waitsFor ?? this.#health?.otherCluster ?? this.#health?.refusedBy),
      check('caught-up', () =>
        unless(this.#health?.hasCaughtUp !== false, 'it lacks what others wrote while it was away'),
      ),
      check('draining', () => unless(!this.drains && this.#health?.isDraining !== true, 'it takes no new clients')),
      check('certificates', () =>
        this.#certified.map((each) => each?.certificateFault).find((fault) => fault !== undefined),
      ),
    ],
  };

  get #health(): NodeHealth | undefined {
    return this.node?.health();
  }

  /** A new node that waits for other nodes has completed its own part of the start. */
  #unlessWaiting(isDone: boolean, fault: string): string | undefined {
    return unless(isDone || this.waitsFor !== undefined, fault);
  }

  #coreFault(): string | undefined {
    const { coreSilentMs = 0 } = this.#health ?? {};
    return unless(coreSilentMs < CORE_SILENT_MS, `its thread has said nothing for ${Math.round(coreSilentMs)} ms`);
  }
}

function check(name: string, fault: ProbeCheck['fault']): ProbeCheck {
  return { name, fault };
}

function unless(isRight: boolean, fault: string): string | undefined {
  return isRight ? undefined : fault;
}

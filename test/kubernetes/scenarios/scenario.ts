/** The type of a scenario, and helpers that several scenarios share. Each theme has a file of its own. */
import manifest from '../../../package.json' with { type: 'json' };
import { type Cluster, eventually } from '../cluster.ts';
import type { Certificates } from './certificates.ts';
import type { Clients } from './clients.ts';
import { PODS } from './install.ts';
import type { SpecPart } from './operator.ts';

export interface Scenario {
  /** Number of pods at the start; 3 by default. */
  readonly replicas?: number;
  /** Number of pods at the end, when it differs. */
  readonly replicasLeft?: number;
  /** Number of learners at the end, which then have the same data. */
  readonly learnersLeft?: number;
  /** Fields of a CairnCluster; with them the operator installs the cluster, instead of the chart. */
  readonly spec?: SpecPart;
  /** Values of the chart of the operator in the form of `--set`. */
  readonly operatorValues?: readonly string[];
  /** Runs before the installation. */
  readonly prepare?: (cluster: Cluster) => Promise<void>;
  /** Values of the chart in the form of `--set`. */
  readonly values?: readonly string[];
  /** True when clients and nodes use TLS with certificates of the scenario. */
  readonly hasCertificates?: boolean;
  /**
   * Runs between two series of a hundred transactions, while clients write and read. @throws Error when a check fails.
   */
  readonly act: (run: ScenarioRun) => Promise<void>;
}

/** Scenarios by their names. */
export type Scenarios<Name extends string> = Readonly<Record<Name, Scenario>>;

export interface ScenarioRun {
  readonly cluster: Cluster;
  readonly clients: Clients;
  readonly certificates: Certificates;
  /** Words of the command line after the name of the scenario. */
  readonly args: readonly string[];
  /** Installs or upgrades the chart with the values of the scenario and further ones. */
  readonly install: (...changed: readonly string[]) => Promise<void>;
  /** Runs an action and records its duration. */
  readonly step: (name: string, action: () => Promise<unknown>) => Promise<void>;
}

const [MAJOR, MINOR] = manifest.version.split('.');
/**
 * Tag and version of the image of a later release, which knows one feature level more. It is the next minor release:
 * the API server refuses to skip one.
 */
export const LATER: string = `${MAJOR}.${Number(MINOR) + 1}.0`;
/** Number of transactions before and after the action of a scenario. */
export const SOME = 100;
/** Selects the pods of Cairn. */
export const ALL = '--selector=app.kubernetes.io/name=cairn';

export function leaderOf({ leader }: Clients): string {
  if (leader === undefined) throw new Error('no answer named the leader');
  return leader;
}

/** Name of the Kubernetes node of a pod; empty until the scheduler has chosen one. */
export async function nodeOf(cluster: Cluster, pod: string): Promise<string> {
  return (await cluster.pod(pod)).spec.nodeName ?? '';
}

/** Runs an action. @throws Error when a pod was replaced or a container restarted meanwhile. */
export async function withoutRestart(cluster: Cluster, action: () => Promise<void>): Promise<void> {
  const before = await startsOf(cluster);
  await action();
  // Kubernetes replaces pods some time after the template has changed.
  await untilObserved(cluster);
  const after = await startsOf(cluster);
  if (after !== before) throw new Error(`pods have restarted: they were\n${before}\nand are\n${after}`);
}

async function startsOf(cluster: Cluster): Promise<string> {
  const pods = await Promise.all(PODS.map((name) => cluster.pod(name)));
  const starts = pods.map(({ metadata: { name, uid, deletionTimestamp = '' }, status: { containerStatuses = [] } }) => {
    return `${name} ${uid} ${deletionTimestamp} ${containerStatuses.map(({ restartCount }) => restartCount).join()}`;
  });
  return starts.join('\n');
}

interface StatefulSet {
  readonly metadata: { readonly generation: number };
  readonly status: { readonly observedGeneration?: number };
}

async function untilObserved(cluster: Cluster): Promise<void> {
  await eventually('the StatefulSet to be looked at by its controller', async () => {
    const { metadata, status } = await cluster.api.get<StatefulSet>(
      '/apis/apps/v1/namespaces/default/statefulsets/cairn',
    );
    return status.observedGeneration === metadata.generation;
  });
}

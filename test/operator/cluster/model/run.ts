// A run of the controller against the models. One seed decides the edits of the spec, the faults, the lag of caches,
// and when the operator is killed.
import type { CairnCluster } from '../../../../operator/src/api/index.ts';
import {
  type ClusterPorts,
  clusterController,
  type ObjectsOf,
  type World,
} from '../../../../operator/src/cluster/index.ts';
import { Api, type Wanted } from '../../../../operator/src/kube/index.ts';
import { type DueFacts, OWNED_KINDS, type RecoveryRun } from '../../../../operator/src/objects/index.ts';
import { ManualRuntime } from '../../../support/manual-runtime.ts';
import { CairnModel } from './cairn.ts';
import type { Item } from './items.ts';
import { KubeModel, LEARNERS, NAME, NAMESPACE, RECOVERY } from './kube.ts';
import { Safety } from './safety.ts';

const KUBE_NODES = 7;
const LAG_MS_MAX = 20_000;
const OBSERVED = ['cairnclusters', 'nodes', 'pods', 'persistentvolumeclaims'] as const;
const KEY = `${NAMESPACE}/${NAME}`;
const KINDS = [OWNED_KINDS.ConfigMap, OWNED_KINDS.Service, OWNED_KINDS.StatefulSet];

/** Edited part of a spec. */
export type Edit = Readonly<Record<string, unknown>>;

const SPEC = {
  replicas: 3,
  learners: 0,
  version: '0.1.0',
  image: { pullPolicy: 'IfNotPresent' },
  storage: { size: '20Gi' },
  tls: { disabled: true },
  auth: { enabled: false },
  network: { mcp: false, clusterDomain: 'cluster.local' },
  update: {
    strategy: 'Rolling',
    paused: false,
    drainTimeoutSeconds: 80,
    stableSeconds: 30,
    finalize: 'Automatic',
    finalizeAfterSeconds: 60,
  },
  repair: { policy: 'Automatic', afterSeconds: 60 },
  reclaimPolicy: 'Retain',
};

type AnyController = ReturnType<typeof clusterController>;
type Plan = ReturnType<AnyController['plan']>;

export interface RunOptions {
  /**
   * Percentage of reads of a collection after which its cache lags, and of actions after which the operator is killed.
   */
  readonly stalePercent?: number;
  readonly killPercent?: number;
  /** Steps of Kubernetes between the reads of objects and the next action, while the nodes are asked. */
  readonly stepsBetween?: number;
  /** Called after an irreversible action. */
  readonly onAction?: (run: Run) => void;
}

export class Run {
  readonly runtime: ManualRuntime;
  readonly cairn: CairnModel;
  readonly kube: KubeModel;
  readonly safety: Safety;
  /** Actions of the operator and disturbances, for a failed test. */
  readonly log: string[] = [];
  readonly events: string[] = [];
  /** True when edits change the number of learners, too. */
  readonly hasLearners: boolean;
  /** True after the faults have ended. */
  isCalm = false;
  /** Number of actions after which the operator is killed. */
  killIn: number = Number.POSITIVE_INFINITY;
  readonly #options: RunOptions;
  readonly #ports: ClusterPorts;
  #controller: AnyController;
  readonly #caches = new Map<string, { readonly items: readonly Item[]; readonly untilMs: number }>();
  #backoffMs = 0;
  #nextMs = 0;

  constructor(seed: number, edit: Edit = {}, options: RunOptions = {}) {
    this.#options = options;
    this.hasLearners = 'learners' in edit;
    this.runtime = new ManualRuntime(seed);
    this.cairn = new CairnModel(this.runtime.chance);
    this.kube = new KubeModel(this.runtime, this.cairn);
    this.cairn.usageOf = (pod) => this.kube.usageOf(pod);
    this.safety = new Safety(this.kube, this.cairn, () => this.runtime.wallMs());
    for (let node = 0; node < KUBE_NODES; node += 1) this.kube.setNode(`node-${node}`, true);
    const metadata = { name: NAME, namespace: NAMESPACE, labels: {}, annotations: {} };
    this.kube.put('cairnclusters', { kind: 'CairnCluster', metadata, spec: structuredClone(SPEC) });
    this.edit(edit);
    this.#ports = this.#makePorts();
    this.#controller = this.#make();
  }

  get cluster(): Item | undefined {
    return this.kube.get('cairnclusters', NAME);
  }

  get isStable(): boolean {
    return this.condition('Stable')?.status === 'True';
  }

  condition(type: string): { readonly status: string; readonly reason: string; readonly message: string } | undefined {
    return this.cluster?.status?.conditions?.find((each) => each.type === type);
  }

  /** Names of the objects that the spec requires, and of those that exist. */
  get objects(): { readonly wanted: readonly string[]; readonly found: readonly string[] } {
    const { cluster } = this;
    const nameOf = ({ kind, metadata, spec }: Item): string =>
      `${kind}/${metadata.name} ${kind === 'Service' ? JSON.stringify(spec) : ''}`;
    const wanted: readonly Item[] =
      cluster === undefined
        ? []
        : render(cluster as unknown as CairnCluster, { ...dueOf(cluster.spec), storageSize: '' });
    const found = KINDS.flatMap(({ plural }) => this.kube.list(plural));
    return { wanted: wanted.map(nameOf).toSorted(), found: found.map(nameOf).toSorted() };
  }

  /** As `kubectl replace` does: annotations that the manifest does not have are gone. */
  edit(edit: Edit): string {
    const { cluster } = this;
    if (cluster === undefined) return '';
    const spec = Object.entries(edit).reduce<object>(
      (whole, [path, value]) => withField(whole, path.split('.'), value),
      structuredClone(cluster.spec),
    );
    // `put` compares with the present state.
    this.kube.remove('cairnclusters', NAME);
    const metadata = { ...cluster.metadata, annotations: {} };
    const made = this.kube.put('cairnclusters', { ...cluster, metadata, spec });
    made.metadata.uid = 'uid-cluster';
    made.metadata.generation = cluster.metadata.generation + 1;
    return JSON.stringify(edit);
  }

  /** Advances the clock, makes steps of Kubernetes and of the cluster, and sometimes runs the operator. */
  async step(): Promise<void> {
    const { chance } = this.runtime;
    await this.runtime.advance(500 + chance.below(1_500));
    for (let count = chance.below(4); count > 0; count -= 1) this.kube.step();
    this.cairn.step();
    this.safety.observe();
    if (this.runtime.nowMs() >= this.#nextMs) await this.pass();
  }

  /** Runs the controller once; it may be killed after any action. */
  async pass(): Promise<Plan | undefined> {
    const { killPercent = 0 } = this.#options;
    const { chance } = this.runtime;
    const { signal } = new AbortController();
    let done = 0;
    let failure: Error | undefined;
    const observed = await this.#controller.observe(KEY, signal);
    if (observed === undefined) return undefined;
    const plan = this.#controller.plan(observed);
    for (const due of plan) {
      try {
        await this.#controller.act(due, signal);
        this.log.push(textOf(due.action));
      } catch (error) {
        failure = error as Error;
        this.log.push(`failed ${textOf(due.action)}: ${failure.message}`);
        break;
      }
      done += 1;
      if (this.#controller.isIrreversible(due)) this.#options.onAction?.(this);
      if (due.action.kind !== 'wait') this.killIn -= 1;
      if (chance.chance(killPercent) || this.killIn === 0) {
        this.killIn = Number.POSITIVE_INFINITY;
        this.restart();
        return plan;
      }
      if (this.#controller.isIrreversible(due)) break;
    }
    const outcome = { plan, done, ...(failure !== undefined && { failure }) };
    await this.#controller.report(observed, outcome, () => undefined);
    this.#backoffMs = failure === undefined ? 0 : Math.min(60_000, Math.max(500, 2 * this.#backoffMs));
    this.#nextMs = this.runtime.nowMs() + (failure !== undefined ? this.#backoffMs : plan.length === 0 ? 5_000 : 1_000);
    return plan;
  }

  /** Returns the world that the controller observes now. */
  async world(): Promise<World> {
    const observed = await this.#controller.observe(KEY, new AbortController().signal);
    if (observed === undefined) throw new Error('the cluster is gone');
    return observed.world;
  }

  /** Replaces the operator by another one with fresh caches. */
  restart(): void {
    this.log.push('the operator is killed');
    this.#controller = this.#make();
    this.#caches.clear();
    this.#nextMs = this.runtime.nowMs() + this.runtime.chance.below(20_000);
  }

  /** Ends early after a violation, so that the last lines of the log show its cause. */
  async until(isDone: () => boolean, stepsMax: number): Promise<boolean> {
    for (let steps = 0; steps < stepsMax && this.safety.violations.length === 0; steps += 1) {
      if (isDone()) return true;
      await this.step();
    }
    return isDone();
  }

  #make(): AnyController {
    return clusterController(this.#ports);
  }

  #makePorts(): ClusterPorts {
    return {
      api: new Api(this.kube, this.runtime),
      objects: this.#objects(),
      adminOf: async () => {
        const { stepsBetween = 0 } = this.#options;
        for (let count = 0; count < stepsBetween; count += 1) this.kube.step();
        return this.cairn;
      },
      render,
      renderRecovery,
      secretsOf: () => ({ tls: ['True', 'Disabled', ''] }),
      events: { record: (_object, { reason, note }) => void this.events.push(`${reason}: ${note}`) },
    };
  }

  /** Caches that lag independently, and never go back in time. */
  #objects(): ObjectsOf {
    const listed = (collection: string): readonly Item[] => this.#caches.get(collection)?.items ?? [];
    const setNamed = (name: string): Item | undefined =>
      listed('statefulsets').find(({ metadata }) => metadata.name === name);
    return {
      cluster: () => {
        for (const collection of [...OBSERVED, ...KINDS.map(({ plural }) => plural)]) this.#look(collection);
        return listed('cairnclusters')[0] as unknown as CairnCluster | undefined;
      },
      of: () => ({
        pods: listed('pods'),
        claims: listed('persistentvolumeclaims'),
        sets: { voters: setNamed(NAME), learners: setNamed(LEARNERS) },
        owned: KINDS.flatMap((of) => listed(of.plural).map((item) => ({ ...item, of }))),
        kubeNodes: new Map(listed('nodes').map((node) => [node.metadata.name, node])),
      }),
    };
  }

  #look(collection: string): void {
    const nowMs = this.runtime.nowMs();
    const { untilMs = 0 } = this.#caches.get(collection) ?? {};
    if (nowMs < untilMs) return;
    const { chance } = this.runtime;
    const lagMs = chance.chance(this.#options.stalePercent ?? 0) ? chance.below(LAG_MS_MAX) : 0;
    this.#caches.set(collection, { items: structuredClone(this.kube.list(collection)), untilMs: nowMs + lagMs });
  }
}

function withField(object: object, [field = '', ...rest]: readonly string[], value: unknown): object {
  const members: Readonly<Record<string, unknown>> = { ...object };
  const inner = members[field];
  const isObject = typeof inner === 'object' && inner !== null;
  return { ...members, [field]: rest.length === 0 ? value : withField(isObject ? inner : {}, rest, value) };
}

function dueOf({ replicas, learners }: CairnCluster['spec'] | Item['spec']): Omit<DueFacts, 'storageSize'> {
  return { replicas, ...(learners > 0 && { learners }) };
}

function render(cluster: CairnCluster, { replicas, learners, storageSize }: DueFacts): never {
  const { name, namespace } = cluster.metadata;
  const { version, config, restartKey } = cluster.spec;
  const join = Array.from({ length: replicas }, (_, ordinal) => `${name}-${ordinal}`).join();
  const metadata = { name, namespace, labels: { 'app.kubernetes.io/instance': name } };
  const template = {
    metadata: { annotations: { ...(restartKey !== undefined && { 'cairn.dev/restart-key': restartKey }) } },
    spec: { release: version, isBad: config?.['isBad'] === 'yes' },
  };
  const claim = { metadata: { name: 'data' }, spec: { resources: { requests: { storage: storageSize } } } };
  const set = { apiVersion: 'apps/v1', kind: 'StatefulSet' };
  const learner = { ...template, spec: { ...template.spec, isLearner: true } };
  const ofLearners = { replicas: learners, template: learner, volumeClaimTemplates: [claim] };
  const mcp = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, name: `${name}-mcp` },
    spec: { ports: [3001] },
  };
  return [
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, name: `${name}-founding` }, data: { join } },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [50_051] } },
    ...(cluster.spec.network.mcp ? [mcp] : []),
    { ...set, metadata, spec: { replicas, template, volumeClaimTemplates: [claim] } },
    ...(learners === undefined ? [] : [{ ...set, metadata: { ...metadata, name: LEARNERS }, spec: ofLearners }]),
  ] as never;
}

function renderRecovery({ metadata: { uid } }: CairnCluster, { id, survivor, acceptLoss }: RecoveryRun): Wanted {
  const annotations = {
    'cairn.dev/recovery-id': id,
    'cairn.dev/recovery-survivor': survivor,
    ...(acceptLoss !== undefined && { 'cairn.dev/recovery-accept-loss': acceptLoss }),
  };
  const metadata = { name: RECOVERY, namespace: NAMESPACE, labels: {}, annotations, ownerReferences: [{ uid }] };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { survivor, acceptLoss } };
}

/** An action as a line of the log. */
export function textOf(action: Plan[number]['action']): string {
  const { kind } = action;
  if (kind === 'wait') return `wait ${action.message}`;
  if (kind === 'apply') return `apply ${action.object.kind} ${JSON.stringify(action.object['spec'] ?? {})}`;
  if (kind === 'patch') return `patch ${action.object.metadata.name} ${JSON.stringify(action.body)}`;
  if (kind === 'record') return `record ${JSON.stringify(action.status)}`;
  if (kind === 'delete') return `delete ${action.of.kind} ${action.object.metadata.name}: ${action.why}`;
  if (kind === 'refound') return `refound ${JSON.stringify(action.object['spec'])}`;
  return kind === 'finalize' ? kind : `${kind} ${action.node} (${action.name})`;
}

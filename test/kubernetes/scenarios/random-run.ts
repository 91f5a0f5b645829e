/**
 * Runs a cluster of the operator under random edits of its resources, deleted pods, lost volumes, Kubernetes nodes
 * without power, and killed operators. Afterwards the cluster must converge. A seed repeats the actions, not their
 * effects.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CAIRN_CLUSTER, EVENT_ACCESS, EVENT_DATABASE } from '../../../operator/src/api/index.ts';
import { pathOf, type Secret } from '../../../operator/src/kube/index.ts';
import { Rng } from '../../simulation/engine/random.ts';
import { type Cluster, eventually, isReady } from '../cluster.ts';
import type { Pod } from '../objects.ts';
import { PODS } from './install.ts';
import { apply, describeCluster, NAME, OPERATOR_NAMESPACE, until } from './operator.ts';
import { ALL, LATER, type ScenarioRun } from './scenario.ts';

const OPTIONS = {
  minutes: { type: 'string', default: '30' },
  seed: { type: 'string', default: '1' },
} as const;
const PAUSE_MS = 8000;
const POWER_OFF_MS = 90_000;
const CONVERGED_WITHIN_MS = 600_000;
const CLUSTER_PATH = pathOf(CAIRN_CLUSTER, { namespace: 'default', name: NAME });
const DATABASES = ['first', 'second', 'third'];

/** A Secret with the same certificate and the same authority as the one of the operator. */
const OWN_TLS = 'own-tls';
/** Not 1: a lost volume would then lose a database. */
const COPIES = [undefined, 3, 5] as const;

/**
 * Fields that can change in any order, each with values that a cluster can run with. `tls.disabled` is not among them:
 * the API server does not let a cluster that has TLS be without it. The version never goes back: once an upgrade is
 * final, pods that are deleted do not start with the earlier release.
 */
const EDITS: readonly (readonly [path: string, values: readonly unknown[]])[] = [
  ['replicas', [3, 5]],
  ['learners', [0, 1, 2]],
  ['version', [LATER]],
  ['restartKey', ['one', 'two', 'three']],
  ['storage.size', ['1Gi', '2Gi', '3Gi']],
  ['storage.autoGrow', [null, { maxSize: '4Gi', thresholdPercent: 90 }]],
  ['resources.requests.cpu', ['100m', '200m']],
  ['image.pullPolicy', ['IfNotPresent', 'Always']],
  ['config.logLevel', [null, 'debug']],
  ['podTemplate', [null, { metadata: { annotations: { note: 'random' } } }]],
  ['update.paused', [true, false]],
  ['update.strategy', ['Rolling', 'OnDelete']],
  ['update.stableSeconds', [0, 1, 5]],
  ['update.drainTimeoutSeconds', [10, 80]],
  ['update.finalize', ['Automatic', 'Manual']],
  ['repair.policy', ['Automatic', 'Manual']],
  ['placement.spread.node', ['DoNotSchedule', 'ScheduleAnyway']],
  ['placement.spread.zone', ['DoNotSchedule', 'ScheduleAnyway']],
  ['placement.tolerations', [null, [{ key: 'dedicated', operator: 'Exists' }]]],
  ['placement.nodeSelector', [null, { 'kubernetes.io/os': 'linux' }]],
  ['network.service.type', ['ClusterIP', 'NodePort']],
  ['network.service.annotations', [null, { team: 'random' }]],
  ['network.external', [null, { domain: 'events.example.com', type: 'ClusterIP' }]],
  ['network.ingress', [null, { hostnames: ['events.example.com'] }]],
  ['network.policy.enabled', [true, false]],
  ['network.mcp', [true, false]],
  ['tls.secretName', [null, OWN_TLS]],
  ['tls.dnsNames', [null, ['events.example.com']]],
  ['tls.renewBefore', ['720h', '360h']],
  ['auth.enabled', [true, false]],
  ['auth.roles', [null, [{ name: 'auditors', grants: [{ role: 'reader' }] }]]],
  ['monitoring.dashboards', [true, false]],
  ['monitoring.interval', ['15s', '30s']],
  ['monitoring.mode', ['Auto', 'Never']],
  ['reclaimPolicy', ['Retain', 'Delete']],
];

/** Values with which a cluster converges without a further step. */
const FINAL = {
  replicas: 3,
  learners: 0,
  auth: { enabled: true },
  update: { paused: false, strategy: 'Rolling', stableSeconds: 1, finalize: 'Automatic' },
  repair: { policy: 'Automatic' },
  // Volumes stay on their nodes, so a pod might fit nowhere else after a change of the spread.
  placement: { spread: { node: 'ScheduleAnyway', zone: 'ScheduleAnyway' } },
  reclaimPolicy: 'Retain',
};

export async function runRandomly({ cluster, clients, args, step }: ScenarioRun): Promise<void> {
  const { minutes, seed } = parseArgs({ args: [...args], options: OPTIONS }).values;
  const random = new Rng(Number(seed), 'operator');
  await copyCertificate(cluster);
  const deeds = deedsOf(cluster, random);
  const names = Object.entries(deeds).flatMap(([name, { weight }]) => Array.from({ length: weight }, () => name));
  const untilMs = performance.now() + Number(minutes) * 60_000;
  while (performance.now() < untilMs) {
    const name = random.pickFrom(names) ?? '';
    const outcome = await deeds[name]?.act().catch((error: unknown) => `failed: ${String(error).slice(0, 200)}`);
    process.stdout.write(`${new Date().toISOString()} ${name}: ${outcome}, ${clients.recorded} recorded\n`);
    await delay(random.exponential(PAUSE_MS));
  }
  await cluster.kubectl('label', 'nodes', '--all', 'power-');
  await cluster.api.patch(CLUSTER_PATH, { spec: FINAL }, 'merge');
  await step('until the cluster is stable', () => until(cluster, 'Stable', { withinMs: CONVERGED_WITHIN_MS }));
  await cluster.untilReady(PODS);
  for (const name of DATABASES) await apply(EVENT_DATABASE, name, databaseSpec());
  for (const name of DATABASES) await until(cluster, 'Ready', { kind: EVENT_DATABASE, name });
  await eventually('three nodes, with a replica of each database', async () => {
    const { nodes, databases } = await describeCluster(cluster);
    const present = nodes.filter(({ state }) => state !== 'removed');
    return present.length === PODS.length && databases.every((database) => database.nodes.length === PODS.length);
  });
}

async function copyCertificate({ api }: Cluster): Promise<void> {
  const path = '/api/v1/namespaces/default/secrets';
  const { data } = await api.get<Secret>(`${path}/${NAME}-tls`);
  await api.create(path, { metadata: { name: OWN_TLS }, type: 'kubernetes.io/tls', data });
}

interface Deed {
  /** Relative frequency of this action. */
  readonly weight: number;
  /** Does the action and resolves to its description. */
  readonly act: () => Promise<string>;
}

function deedsOf(cluster: Cluster, random: Rng): Readonly<Record<string, Deed>> {
  const anyPod = async (): Promise<string> => random.pickFrom(await namesOf(cluster, 'default', ALL)) ?? 'cairn-0';
  const remove = async (name: string, ...options: readonly string[]): Promise<string> => {
    await cluster.kubectl('delete', 'pod', name, '--wait=false', ...options);
    return [name, ...options].join(' ');
  };
  const now = ['--force', '--grace-period=0'];
  return {
    edit: { weight: 6, act: () => edit(cluster, random) },
    resources: { weight: 2, act: () => changeResource(random) },
    'delete a pod': { weight: 2, act: async () => remove(await anyPod()) },
    'delete a pod by force': { weight: 1, act: async () => remove(await anyPod(), ...now) },
    'kill an operator': {
      weight: 2,
      act: async () => {
        const names = await namesOf(cluster, OPERATOR_NAMESPACE, '--selector=app.kubernetes.io/name=cairn-operator');
        return remove(random.pickFrom(names) ?? '', `--namespace=${OPERATOR_NAMESPACE}`, ...now);
      },
    },
    'lose a volume': {
      weight: 1,
      act: whenStable(cluster, async () => {
        const pod = await anyPod();
        await cluster.kubectl('delete', 'pvc', `data-${pod}`, '--wait=false');
        return remove(pod);
      }),
    },
    'power off': {
      weight: 1,
      act: whenStable(cluster, async () => {
        const { spec } = await cluster.pod(await anyPod());
        const node = spec.nodeName ?? '';
        await cluster.kubectl('label', 'node', node, 'power=off', '--overwrite');
        await delay(random.between(1000, POWER_OFF_MS));
        await cluster.kubectl('label', 'node', node, 'power-');
        return node;
      }),
    },
  };
}

/** Skips the action while a node or a replica is missing: a second loss would lose acknowledged writes. */
function whenStable(cluster: Cluster, act: () => Promise<string>): () => Promise<string> {
  return async () => {
    const pods = await podsOf(cluster, 'default', ALL);
    const { nodes, databases, isConfirmed } = await describeCluster(cluster);
    const present = nodes.filter(({ state }) => state !== 'removed');
    const learners = new Set(nodes.filter(({ isLearner }) => isLearner).map(({ id }) => id));
    const isWhole =
      isConfirmed &&
      pods.every(isReady) &&
      present.every(({ state, answers, isDraining }) => state === 'active' && answers && !isDraining) &&
      databases.every(
        ({ members }) =>
          members.filter(({ node }) => !learners.has(node)).length >= PODS.length &&
          members.every(({ isCaughtUp }) => isCaughtUp),
      );
    return isWhole ? act() : 'not now';
  };
}

async function edit({ api }: Cluster, random: Rng): Promise<string> {
  const [path, values] = random.pickFrom(EDITS) ?? ['restartKey', ['none']];
  const value = random.pickFrom(values);
  const spec = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  await api.patch(CLUSTER_PATH, { spec }, 'merge');
  return `${path} = ${JSON.stringify(value)}`;
}

async function changeResource(random: Rng): Promise<string> {
  const name = random.pickFrom(DATABASES) ?? '';
  if (random.chance(0.5)) {
    const copies = random.pick(COPIES);
    await apply(EVENT_DATABASE, name, { ...databaseSpec(), copies });
    return `database ${name}, copies ${copies}`;
  }
  const grants = [{ role: random.pick(['reader', 'writer']), databases: { names: [name] } }];
  const spec = { clusterRef: { name: NAME }, grants, secret: { name: `${name}-key` } };
  await apply(EVENT_ACCESS, name, { ...spec, rotation: { rotateKey: String(random.between(1, 3)) } });
  return `key for ${name}`;
}

function databaseSpec(): object {
  return { clusterRef: { name: NAME }, adoptionPolicy: 'Either' };
}

async function namesOf(...of: Parameters<typeof podsOf>): Promise<readonly string[]> {
  return (await podsOf(...of)).map(({ metadata }) => metadata.name);
}

async function podsOf({ api }: Cluster, namespace: string, selector: string): Promise<readonly Pod[]> {
  const query = new URLSearchParams({ labelSelector: selector.replace('--selector=', '') });
  const { items } = await api.get<{ readonly items: readonly Pod[] }>(
    `/api/v1/namespaces/${namespace}/pods?${query.toString()}`,
  );
  return items;
}

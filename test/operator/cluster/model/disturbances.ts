// Random edits of a CairnCluster and random faults. Lasting faults leave a quorum of the catalog; short ones may not.
import type { Random } from '../../../model/generate/random.ts';
import type { Reach } from './cairn.ts';
import { gibOf, type Item, setOf } from './items.ts';
import { LEARNERS, LEVELS, NAME, SELECTED_NODE } from './kube.ts';
import type { Edit, Run } from './run.ts';

const VERSIONS = Object.keys(LEVELS);
const FOREIGN_FINALIZER = 'example.com/audit';

type Fault = (run: Run, chance: Random) => string | undefined;

const FAULTS: Readonly<Record<string, Fault>> = {
  edit: (run, chance) => run.edit(drawEdit(chance, run)),
  'edit again': (run, chance) => run.edit(drawEdit(chance, run)),
  'two edits': (run, chance) => run.edit({ ...drawEdit(chance, run), ...drawEdit(chance, run) }),
  crash: ({ kube }, chance) => onPod(kube.list('pods'), chance, (pod) => kube.crash(pod)),
  'deleted by hand': ({ kube }, chance) => onPod(kube.list('pods'), chance, (pod) => kube.terminate(pod)),
  lagging: ({ kube, cairn }, chance) =>
    onPod(kube.list('pods'), chance, (pod) => {
      const process = cairn.processes.get(pod);
      if (process !== undefined) process.isLagging = true;
    }),
  'not ready': (run, chance) => awhile(run, chance, (node) => run.kube.setNode(node, false)),
  silent: (run, chance) => awhile(run, chance, (node) => run.kube.silence(node)),
  lost: (run, chance) => (isWhole(run) ? loseNodes(run, chance, 1) : undefined),
  'lost before a restart of all': (run, chance) => {
    if (!isWhole(run)) return undefined;
    return `${loseNodes(run, chance, 1)}, ${run.edit({ restartKey: chance.pick(['one', 'two']) })}`;
  },
  'two lost': (run, chance) => (isWhole(run) && run.cairn.voters.size >= 5 ? loseNodes(run, chance, 2) : undefined),
  'removed by hand': (run) => {
    const [id = 0] = [...run.cairn.voters].slice(-1);
    if (isWhole(run)) void run.cairn.removeByHand(id).catch(() => undefined);
    return String(id);
  },
  recovered: (run) => recover(run),
  'admin requests': ({ cairn, runtime }, chance) => {
    cairn.reach = chance.pick<Reach>(['Outdated', 'None']);
    runtime.after(chance.below(60_000), () => void (cairn.reach = 'All'));
    return cairn.reach;
  },
  full: ({ kube }, chance) => {
    const claims = kube.list('persistentvolumeclaims').filter(({ metadata }) => kube.volumes.has(metadata.uid));
    if (claims.length === 0) return undefined;
    const { metadata, status } = chance.pick(claims);
    const volume = kube.volumes.get(metadata.uid);
    if (volume !== undefined) volume.usedGi = gibOf(status.capacity?.storage);
    return metadata.name;
  },
  'changed by others': ({ kube }, chance) => {
    const [service] = kube.list('services');
    if (service !== undefined) kube.put('services', { ...service, spec: { ports: [chance.below(9)] } });
    return service?.metadata.name;
  },
  'set deleted by others': ({ kube }) => {
    kube.remove('statefulsets', NAME);
    return NAME;
  },
  'finalizer of others': ({ cluster, kube }) => {
    if (cluster === undefined) return undefined;
    const { finalizers = [] } = cluster.metadata;
    const others = finalizers.filter((each) => each !== FOREIGN_FINALIZER);
    const changed = others.length < finalizers.length ? others : [...finalizers, FOREIGN_FINALIZER];
    kube.put('cairnclusters', { ...cluster, metadata: { ...cluster.metadata, finalizers: changed } });
    return changed.join();
  },
};

/** Faults of clusters with learners. Apart, because a seed that found a fault must draw what it drew then. */
const FAULTS_WITH_LEARNERS: Readonly<Record<string, Fault>> = {
  ...FAULTS,
  'learners to 0 and back': (run, chance) => {
    run.runtime.after(chance.below(60_000), () => run.isCalm || run.edit({ learners: 2 }));
    return run.edit({ learners: 0 });
  },
  'set of learners deleted by others': ({ kube }) => {
    kube.remove('statefulsets', LEARNERS);
    return LEARNERS;
  },
  'volume of a learner deleted by hand': ({ kube }, chance) =>
    onPod(learnersOf(kube), chance, (pod) => kube.discard(pod)),
  'learner whose Kubernetes node is away for long': ({ kube, runtime }, chance) => {
    const used = new Set(kube.list('pods').flatMap(({ spec }) => (spec.isLearner === true ? [] : [spec.nodeName])));
    const pods = learnersOf(kube).filter(({ spec }) => spec.nodeName !== undefined && !used.has(spec.nodeName));
    return onPod(pods, chance, (pod) => {
      const node = kube.get('pods', pod)?.spec.nodeName ?? '';
      kube.setNode(node, false);
      runtime.after(chance.below(600_000), () => kube.get('nodes', node) && kube.setNode(node, true));
    });
  },
  'learner removed by hand': ({ cairn }) => {
    const learner = cairn.nodes.find(({ isLearner, state }) => isLearner && state === 'active');
    if (learner !== undefined) void cairn.removeByHand(learner.id).catch(() => undefined);
    return learner?.name;
  },
  copies: ({ cairn }, chance) => {
    const database = cairn.databases[chance.below(cairn.databases.length)];
    if (database !== undefined) database.copies = chance.pick([3, 5, 7]);
    return `${database?.name} ${database?.copies}`;
  },
};

/** One edit or fault. */
export function disturb(run: Run): void {
  cause(run, run.runtime.chance.pick(Object.keys(run.hasLearners ? FAULTS_WITH_LEARNERS : FAULTS)));
}

/** A fault of a pod or a Kubernetes node. */
export function disturbPods(run: Run): void {
  cause(run, run.runtime.chance.pick(['crash', 'deleted by hand', 'lagging', 'not ready', 'silent']));
}

function cause(run: Run, name: string): void {
  run.log.push(`${name}: ${FAULTS_WITH_LEARNERS[name]?.(run, run.runtime.chance) ?? ''}`);
}

/** Ends the faults and makes the spec reachable. */
export function calm(run: Run): void {
  const { kube, cairn, cluster } = run;
  for (const { metadata } of kube.list('nodes')) kube.setNode(metadata.name, true);
  cairn.reach = 'All';
  run.isCalm = true;
  const { version = '' } = cluster?.spec ?? {};
  const isBelow = (LEVELS[version] ?? 0) < cairn.level;
  run.edit({
    'update.paused': false,
    'update.strategy': 'Rolling',
    'update.finalize': 'Automatic',
    'repair.policy': 'Automatic',
    config: {},
    ...(isBelow && { version: VERSIONS.find((each) => LEVELS[each] === cairn.level) }),
  });
}

/** A majority of the voters is lost with their volumes. */
export function loseCatalog(run: Run): boolean {
  const { size } = run.cairn.voters;
  if (!isWhole(run) || size !== run.cluster?.spec.replicas) return false;
  const pods = run.kube.list('pods').filter(({ metadata }) => setOf(metadata.name) === NAME);
  run.log.push(`the catalog is lost: ${loseNodes(run, run.runtime.chance, (size + 1) / 2, pods)}`);
  return true;
}

/** True when a majority of the voters is lost with their volumes. */
function isCatalogLost({ kube, cairn }: Run): boolean {
  const claims = kube.list('persistentvolumeclaims').filter(({ metadata: { annotations } }) => {
    return kube.get('nodes', annotations[SELECTED_NODE] ?? '') !== undefined;
  });
  const kept = new Set(claims.map(({ metadata }) => kube.volumes.get(metadata.uid)?.node));
  return !cairn.hasMajority(cairn.voters, (id) => kept.has(id));
}

/**
 * The user follows the messages of a recovery of the catalog: accepts the loss that was shown, or removes spec.recovery
 * when the nodes were stopped without a lasting loss.
 */
function continueRecovery(run: Run): string {
  if (!isCatalogLost(run)) return run.edit({ recovery: undefined });
  const { reason, message = '' } = run.condition('Progressing') ?? {};
  const [, acceptLoss] = /acceptLoss to "(\w+)"/.exec(message) ?? [];
  return reason === 'LossNotAccepted' ? run.edit({ 'recovery.acceptLoss': acceptLoss }) : `${reason}: ${message}`;
}

/** The user accepts the loss of what only lost nodes have, when a database has lost its quorum for good. */
export function recover(run: Run): string | undefined {
  const { cairn, cluster } = run;
  if (cluster?.status?.recoveryStage !== undefined) return continueRecovery(run);
  const lost = cairn.databases.find(({ replicas }) => !cairn.hasMajority(replicas));
  const survivor = [...(isCatalogLost(run) ? cairn.voters : (lost?.replicas ?? []))]
    .map((id) => cairn.processOf(id))
    .find((process) => process !== undefined);
  if (cluster === undefined) return undefined;
  const givenUp = giveUpVolume(run);
  if (givenUp !== undefined || survivor === undefined) return givenUp;
  return run.edit({
    recovery: { id: `after ${run.runtime.nowMs()}`, survivor: survivor.pod, acknowledgeDataLoss: true },
  });
}

/**
 * A pod waits for the Kubernetes node of its volume, which another pod has taken. The user deletes the pod and the
 * volume that is of no member; of two members those of the pod that waits, unless the catalog needs them for a quorum.
 */
function giveUpVolume({ kube, cairn }: Run): string | undefined {
  const pods = kube.list('pods').map(({ metadata: { name }, spec: { nodeName } }) => {
    const { uid = '', annotations } = kube.get('persistentvolumeclaims', `data-${name}`)?.metadata ?? {};
    const isMember = cairn.isMember(kube.volumes.get(uid)?.node);
    return { name, nodeName, isMember, volumeNode: annotations?.[SELECTED_NODE], set: setOf(name) };
  });
  for (const waiting of pods.filter(({ nodeName }) => nodeName === undefined)) {
    const rivals = pods.filter(({ set }) => set === waiting.set);
    const taker = rivals.find(({ nodeName }) => nodeName !== undefined && nodeName === waiting.volumeNode);
    const free = [waiting, taker].find((pod) => pod?.isMember === false) ?? (cairn.hasQuorum ? waiting : undefined);
    if (taker === undefined || free === undefined) continue;
    kube.discard(free.name);
    return free.name;
  }
  return undefined;
}

/** True when all nodes are in service, so that one may be lost. */
function isWhole({ kube, cairn, cluster }: Run): boolean {
  const pods = kube.list('pods');
  const isInService = pods.every(
    ({ metadata: { name, deletionTimestamp } }) =>
      cairn.isReady(name) &&
      deletionTimestamp === undefined &&
      cairn.hasCaughtUp(cairn.processes.get(name)?.volume.node),
  );
  const groups = [cairn.voters, ...cairn.databases.map(({ replicas }) => replicas)];
  const isSpread = groups.every((group) => group.size >= 3 && [...group].every((id) => cairn.isUp(id)));
  const { replicas = 0, learners = 0 } = cluster?.spec ?? {};
  return isInService && isSpread && pods.length >= 3 && pods.length === replicas + learners;
}

function learnersOf(kube: Run['kube']): readonly Item[] {
  return kube.list('pods').filter(({ metadata }) => setOf(metadata.name) === LEARNERS);
}

function onPod(
  pods: readonly { readonly metadata: { readonly name: string } }[],
  chance: Random,
  act: (pod: string) => void,
): string | undefined {
  if (pods.length === 0) return undefined;
  const { name } = chance.pick(pods).metadata;
  act(name);
  return name;
}

function awhile({ kube, runtime }: Run, chance: Random, begin: (node: string) => void): string {
  const { name } = chance.pick(kube.list('nodes')).metadata;
  begin(name);
  runtime.after(chance.below(150_000), () => kube.get('nodes', name) && kube.setNode(name, true));
  return name;
}

function loseNodes(
  { kube, runtime }: Run,
  chance: Random,
  count: number,
  pods: readonly Item[] = kube.list('pods'),
): string {
  const from = chance.below(pods.length);
  const lost = [...pods, ...pods].slice(from, from + count);
  for (const [at, { spec }] of lost.entries()) {
    kube.loseNode(spec.nodeName ?? '');
    kube.setNode(`node-${runtime.nowMs()}-${at}`, true);
  }
  return lost.map(({ spec }) => spec.nodeName).join();
}

function drawEdit(chance: Random, { cluster, kube, hasLearners }: Run): Edit {
  const { version = '', storage } = cluster?.spec ?? {};
  const at = VERSIONS.indexOf(version) + chance.pick([-1, 1, 1]);
  const claims = kube.list('persistentvolumeclaims').map(({ spec }) => gibOf(spec.resources.requests.storage));
  const size = Math.max(gibOf(storage?.size), ...claims);
  return chance.pick<Edit>([
    { replicas: chance.pick([1, 3, 5]) },
    { replicas: chance.pick([3, 5]) },
    { version: VERSIONS[Math.max(0, Math.min(VERSIONS.length - 1, at))] },
    { version: VERSIONS[Math.max(0, Math.min(VERSIONS.length - 1, at))] },
    { restartKey: chance.pick(['one', 'two']) },
    { config: { isBad: chance.pick(['yes', 'no']) } },
    { 'network.mcp': chance.chance(50) },
    { 'update.paused': chance.chance(50) },
    { 'update.strategy': chance.pick(['Rolling', 'OnDelete']) },
    { 'update.finalize': chance.pick(['Automatic', 'Manual']) },
    { 'update.finalizeAfterSeconds': chance.pick([0, 30, 60]) },
    { 'update.stableSeconds': chance.pick([0, 30]) },
    { 'repair.policy': chance.pick(['Automatic', 'Manual']) },
    { 'storage.size': `${gibOf(storage?.size) + chance.below(3) * 10}Gi` },
    { 'storage.autoGrow': { maxSize: `${size + chance.below(3) * 8}Gi`, thresholdPercent: 80 } },
    { reclaimPolicy: chance.pick(['Retain', 'Delete']) },
    // At the end, and not always, because a seed that found a fault must draw what it drew then.
    ...(hasLearners ? [0, 1, 2, 2].map((learners) => ({ learners })) : []),
  ]);
}

// Random edits of a CairnCluster and faults of its surroundings. Faults that last leave a quorum; others may not.
import type { Random } from '../../../model/generate/random.ts';
import type { Edit, Run } from './run.ts';

const VERSIONS = ['0.1.0', '0.2.0', '0.3.0'];

export function disturb(run: Run): void {
  const { runtime, kube, cairn } = run;
  const { chance } = runtime;
  const pods = kube.list('pods').map(({ metadata }) => metadata.name);
  const kubeNodes = kube.list('nodes').map(({ metadata }) => metadata.name);
  const kind = chance.below(10);
  if (kind < 5) run.edit(drawEdit(chance, run));
  else if (kind === 5 && pods.length > 0) note(run, `crash of ${chance.pick(pods)}`, (pod) => kube.crash(pod));
  else if (kind === 6) {
    const name = chance.pick(kubeNodes);
    note(run, `not ready: ${name}`, (node) => kube.setNode(node, false));
    runtime.after(chance.below(150_000), () => kube.get('nodes', name) && kube.setNode(name, true));
  } else if (kind === 7 && isWhole(run)) {
    const { nodeName = '' } = kube.get('pods', chance.pick(pods))?.spec ?? {};
    note(run, `lost: ${nodeName}`, (node) => kube.loseNode(node));
    kube.setNode(`node-${kubeNodes.length + runtime.nowMs()}`, true);
  } else if (kind === 8 && pods.length > 0) {
    note(run, `deleted by hand: ${chance.pick(pods)}`, (pod) => kube.terminate(pod));
  } else if (kind === 9 && isWhole(run)) {
    const [id] = [...cairn.voters].slice(-1);
    note(run, `removed by hand: ${id}`, () => void cairn.decommission(id ?? 0).catch(() => undefined));
  }
}

/** The faults end, and the spec can be reached. */
export function calm(run: Run): void {
  for (const { metadata } of run.kube.list('nodes')) run.kube.setNode(metadata.name, true);
  const { spec } = run.cluster ?? {};
  const edit = { 'update.paused': false, 'update.strategy': 'Rolling', 'update.finalize': 'Automatic', config: {} };
  const version = spec?.version === '0.1.0' && run.cairn.level > 1 ? { version: '0.2.0' } : {};
  run.edit({ ...edit, ...version });
}

/** All nodes are in service, so one of them can be lost. */
function isWhole({ kube, cairn, cluster }: Run): boolean {
  const pods = kube.list('pods');
  const isReady = pods.every(
    ({ metadata }) => cairn.isReady(metadata.name) && metadata.deletionTimestamp === undefined,
  );
  const groups = [cairn.voters, ...cairn.databases.map(({ replicas }) => replicas)];
  const isSpread = groups.every((group) => group.size >= 3 && [...group].every((id) => cairn.isUp(id)));
  return isReady && isSpread && pods.length >= 3 && pods.length === cluster?.spec.replicas;
}

function drawEdit(chance: Random, run: Run): Edit {
  const { version = '', storage } = run.cluster?.spec ?? {};
  const at = VERSIONS.indexOf(version);
  const size = Number.parseInt(storage?.size ?? '', 10);
  return chance.pick([
    { replicas: chance.pick([1, 3, 5]) },
    { replicas: chance.pick([3, 5]) },
    { version: VERSIONS[Math.max(0, Math.min(2, at + chance.pick([-1, 1])))] },
    { restartKey: String(chance.below(100)) },
    { config: { isBad: chance.pick(['yes', 'no']) } },
    { 'update.paused': chance.chance(50) },
    { 'update.strategy': chance.pick(['Rolling', 'OnDelete']) },
    { 'update.finalize': chance.pick(['Automatic', 'Manual']) },
    { 'update.stableSeconds': chance.pick([0, 30]) },
    { 'storage.size': `${size + chance.below(3) * 10}Gi` },
    { reclaimPolicy: chance.pick(['Retain', 'Delete']) },
  ]);
}

function note(run: Run, what: string, act: (name: string) => void): void {
  run.log.push(what);
  act(what.slice(what.lastIndexOf(' ') + 1));
}

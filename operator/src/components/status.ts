/** The status of a component resource, from the observed world. Pure. */
import type { StateViewStatus } from '../api/index.ts';
import { commonStatus, type Finding } from '../reconcile/index.ts';
import { isActive, isStuck, type Stage, stageOf, type Target, type Wanted, type World } from './plan.ts';

/** All kinds have the same status. */
type ComponentStatus = StateViewStatus;
type DatabaseStatus = NonNullable<ComponentStatus['databases']>[number];

const SHORT = 12;

export function statusOf(world: World, failure?: string): ComponentStatus {
  const { resource, source, targets, wallMs } = world;
  const wanted = 'problem' in source ? undefined : source;
  const before = resource.status;
  const isChanged = wanted !== undefined && before?.digest !== undefined && before.digest !== wanted.digest;
  const previousDigest = isChanged ? before.digest : before?.previousDigest;
  const databases = targets.map((target) => databaseStatus(world, target));
  const ready = targets.filter((target) => wanted && isServing(stageOf(resource, wanted, target))).length;
  return {
    ...commonStatus(resource, findingsOf(world, wanted, failure), wallMs),
    ...(wanted && { digest: wanted.digest, shortDigest: wanted.digest.replace('sha256:', '').slice(0, SHORT) }),
    ...(previousDigest !== undefined && { previousDigest }),
    databasesTotal: targets.length,
    databasesReady: ready,
    databases,
  };
}

function databaseStatus({ resource, source }: World, { name, published, state }: Target): DatabaseStatus {
  const record = published && { publishedVersion: published.version, publication: published.publication };
  if ('problem' in state) return { name, ...record, message: state.problem };
  const active = state.versions.findLast(({ isActive: is }) => is);
  const counted = 'problem' in source ? active?.digest : source.digest;
  const nodesReady = state.holders.filter(({ compiled }) => compiled.has(counted ?? '')).length;
  const refusal = state.holders.flatMap(({ refused }) => refused.get(counted ?? '') ?? [])[0];
  const off = isActive(resource) ? {} : { message: 'switched off' };
  return {
    name,
    ...(active && { version: active.version, digest: active.digest }),
    ...record,
    nodesReady,
    nodesTotal: state.holders.length,
    ...(refusal === undefined ? off : { message: refusal }),
  };
}

function findingsOf(world: World, wanted: Wanted | undefined, failure?: string): Readonly<Record<string, Finding>> {
  const { resource, source, targets, missing } = world;
  const healthy: Finding = ['True', 'NoAnalysis', 'the rollout has no analysis'];
  if (wanted === undefined || 'problem' in source) {
    const problem: Finding = ['False', ...('problem' in source ? source.problem : (['Unknown', ''] as const))];
    const unknown: Finding = ['Unknown', problem[1], problem[2]];
    return {
      SourceReady: problem,
      Ready: problem,
      Published: unknown,
      Distributed: unknown,
      Progressing: unknown,
      Healthy: healthy,
    };
  }
  const stages = targets.map((target) => stageOf(resource, wanted, target));
  const count = (...names: readonly Stage[]): number => stages.filter((stage) => names.includes(stage)).length;
  const isDone = stages.every((stage) => stage === 'done');
  const lack = lackOf(world, count, failure);
  const unpublished = count('unknown', 'unpublished');
  const undistributed = count('unknown', 'unpublished', 'refused', 'distributing');
  return {
    SourceReady: ['True', 'Resolved', `the component is ${wanted.digest}`],
    Published:
      unpublished === 0 ? ['True', 'Published', ''] : ['False', 'Publishing', `${unpublished} databases lack it`],
    Distributed:
      undistributed === 0
        ? ['True', 'Compiled', '']
        : ['False', count('refused') > 0 ? 'Refused' : 'Compiling', `${undistributed} databases wait for nodes`],
    Progressing: progressOf(world, isDone),
    Healthy: healthy,
    Ready: isDone && missing.length === 0 && failure === undefined ? ['True', 'Active', ''] : lack,
  };
}

function progressOf(world: World, isDone: boolean): Finding {
  if (isDone) return ['False', 'RolloutComplete', ''];
  if (isStuck(world)) return ['False', 'RolloutStuck', 'nodes have not compiled the component in time'];
  return ['True', 'RollingOut', ''];
}

function lackOf({ missing, targets }: World, count: (...names: readonly Stage[]) => number, failure?: string): Finding {
  if (failure !== undefined) return ['False', 'Failed', failure];
  if (missing.length > 0) return ['False', 'DatabaseNotFound', `there is no EventDatabase ${missing.join(', ')}`];
  if (count('refused') > 0) return ['False', 'Refused', 'a node cannot run the component: see status.databases'];
  if (count('unknown') > 0) return ['False', 'DatabaseNotReady', `${count('unknown')} databases are not ready`];
  return ['False', 'RollingOut', `${targets.length - count('done')} of ${targets.length} databases are to be updated`];
}

function isServing(stage: Stage): boolean {
  return stage === 'done' || stage === 'surplus';
}

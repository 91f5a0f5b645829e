/** The status of a component resource, from the observed world. Pure. */
import type { StateViewStatus } from '../api/index.ts';
import { defined, type Finding } from '../kube/index.ts';
import { commonStatus, conditionOf } from '../reconcile/index.ts';
import { isStuck, type Progress, progressOf } from './rollout.ts';
import { isActive, isServing, type Stage, stageOf } from './stage.ts';
import type { Target, Wanted, World } from './world.ts';

/** All kinds have the same status. */
type ComponentStatus = StateViewStatus;
type DatabaseStatus = NonNullable<ComponentStatus['databases']>[number];

const SHORT = 12;
const MESSAGE_LENGTH_MAX = 1024;

/** `failed` is the error of an action that concerns no database. */
export function statusOf(world: World, failed?: string): ComponentStatus {
  const { resource, source, targets, failures, wallMs } = world;
  const failure = failed ?? [...failures.values()][0]?.message;
  const wanted = 'problem' in source ? undefined : source;
  const before = resource.status;
  const isChanged = wanted !== undefined && before?.digest !== undefined && before.digest !== wanted.digest;
  const previousDigest = isChanged ? before.digest : before?.previousDigest;
  const { step, stepSince, observedSince }: Partial<Progress> = wanted ? progressOf(world, wanted) : {};
  const databases = targets.map((target) => databaseStatus(world, target));
  const ready = targets.filter((target) => wanted && isServing(stageOf(resource, wanted, target))).length;
  return {
    ...commonStatus(resource, findingsOf(world, wanted, failure), wallMs),
    ...(wanted && { digest: wanted.digest, shortDigest: wanted.digest.replace('sha256:', '').slice(0, SHORT) }),
    ...defined({ previousDigest, step, stepSince, observedSince }),
    databasesTotal: targets.length,
    databasesReady: ready,
    databases,
  };
}

function databaseStatus({ resource, source, failures }: World, { name, published, state }: Target): DatabaseStatus {
  const record = published && { publishedVersion: published.version, publication: published.publication };
  if ('problem' in state) return { name, ...record, message: state.problem.slice(0, MESSAGE_LENGTH_MAX) };
  const active = state.versions.findLast(({ isActive: is }) => is);
  const counted = 'problem' in source ? active?.digest : source.digest;
  const nodesReady = state.holders.filter(({ compiled }) => compiled.has(counted ?? '')).length;
  const refusal = state.holders.flatMap(({ refused }) => refused.get(counted ?? '') ?? [])[0];
  const message = failures.get(name)?.message ?? refusal ?? (isActive(resource) ? undefined : 'switched off');
  return {
    name,
    ...(active && { version: active.version, digest: active.digest }),
    ...record,
    nodesReady,
    nodesTotal: state.holders.length,
    ...defined({ message: message?.slice(0, MESSAGE_LENGTH_MAX) }),
  };
}

function findingsOf(world: World, wanted: Wanted | undefined, failure?: string): Readonly<Record<string, Finding>> {
  const { resource, source, targets, missing } = world;
  if (wanted === undefined || 'problem' in source) {
    const problem: Finding = ['False', ...('problem' in source ? source.problem : (['Unknown', ''] as const))];
    const unknown: Finding = ['Unknown', problem[1], problem[2]];
    const others = { Published: unknown, Distributed: unknown, Progressing: unknown, Healthy: unknown };
    return { SourceReady: problem, Ready: problem, ...others };
  }
  const progress = progressOf(world, wanted);
  const counted = (chosen: readonly Target[]) => {
    const stages = chosen.map((target) => stageOf(resource, wanted, target));
    return (...names: readonly Stage[]): number => stages.filter((stage) => names.includes(stage)).length;
  };
  const count = counted(targets);
  const inStep = counted(targets.filter(({ name }) => progress.admitted.has(name)));
  const isDone = count('done') === targets.length;
  const unpublished = inStep('unknown', 'unpublished');
  const undistributed = unpublished + inStep('refused', 'distributing');
  return {
    SourceReady: ['True', 'Resolved', `the component is ${wanted.digest}`],
    Published:
      unpublished === 0 ? ['True', 'Published', ''] : ['False', 'Publishing', `databases that lack it: ${unpublished}`],
    Distributed:
      undistributed === 0
        ? ['True', 'Compiled', '']
        : [
            'False',
            inStep('refused') > 0 ? 'Refused' : 'Compiling',
            `databases whose nodes have not compiled it: ${undistributed}`,
          ],
    Progressing: progressing(world, progress, isDone),
    Healthy: healthOf(world, progress),
    Ready:
      progress.hasFailed === true
        ? endOf(world)
        : isDone && missing.length === 0 && failure === undefined
          ? ['True', 'Active', '']
          : lackOf(world, count, failure),
  };
}

function endOf({ resource }: World): Finding {
  const isPaused = resource.spec.rollout.analysis?.onFailure === 'Pause';
  return ['False', isPaused ? 'RolloutPaused' : 'RolledBack', conditionOf(resource, 'Healthy')?.message ?? ''];
}

function progressing(world: World, progress: Progress, isDone: boolean): Finding {
  if (progress.hasFailed === true) return endOf(world);
  if (isDone) return ['False', 'RolloutComplete', ''];
  if (isStuck(world, progress)) return ['False', 'RolloutStuck', 'nodes have not compiled the component in time'];
  const isObserved = progress.observedSince !== undefined;
  return ['True', isObserved ? 'Observing' : 'RollingOut', ''];
}

function healthOf({ resource }: World, { verdict, hasFailed }: Progress): Finding {
  if (resource.spec.rollout.analysis === undefined) return ['True', 'NoAnalysis', 'the rollout has no analysis'];
  if (hasFailed === true) return ['False', 'LimitExceeded', conditionOf(resource, 'Healthy')?.message ?? ''];
  if (verdict === undefined) return ['True', 'RolloutComplete', ''];
  if (verdict.kind === 'missed') return ['False', 'LimitExceeded', verdict.message];
  return verdict.kind === 'met' ? ['True', 'WithinLimits', ''] : ['Unknown', 'NotMeasured', verdict.message];
}

function lackOf({ missing, targets }: World, count: (...names: readonly Stage[]) => number, failure?: string): Finding {
  if (failure !== undefined) return ['False', 'Failed', failure];
  if (missing.length > 0) return ['False', 'DatabaseNotFound', `there is no EventDatabase ${missing.join(', ')}`];
  if (count('refused') > 0) return ['False', 'Refused', 'a node cannot run the component: see status.databases'];
  if (count('unknown') > 0) return ['False', 'DatabaseNotReady', `databases that are not ready: ${count('unknown')}`];
  return ['False', 'RollingOut', `databases that have it: ${count('done')} of ${targets.length}`];
}

/** The order in which databases get a new version: the databases of each step, and when the next step begins. Pure. */
import { timestamp } from '../kube/index.ts';
import { conditionOf, matches } from '../reconcile/index.ts';
import { type Verdict, verdictOf } from './analysis.ts';
import { isServing, stageOf } from './stage.ts';
import type { ComponentResource, Target, Wanted, World } from './world.ts';

/** A node compiles a component within seconds. */
const POLL_MS = 2_000;
/** Time between two measurements of a canary. */
const MEASURE_MS = 10_000;

type Step = NonNullable<ComponentResource['spec']['rollout']['steps']>[number];

export interface Progress {
  /** From 1 on; absent without steps. */
  readonly step?: number;
  /** Start of the step; absent when all databases have the component. */
  readonly stepSince?: string;
  readonly observedSince?: string;
  readonly admitted: ReadonlySet<string>;
  readonly restMs?: number;
  /** Result of the measurement; absent without an analysis. */
  readonly verdict?: Verdict;
  /** The status says that a limit was exceeded: the rollout has ended. */
  readonly hasFailed?: boolean;
}

/** Continues the progress in the status while it is of the same spec and component. */
export function progressOf(world: World, wanted: Wanted): Progress {
  const { resource, targets, wallMs } = world;
  const { strategy, steps: given = [], analysis } = resource.spec.rollout;
  const steps = strategy === 'All' ? [] : given;
  const all = new Set(targets.map(({ name }) => name));
  const now = timestamp(wallMs);
  const { status, metadata } = resource;
  const isSame = status?.observedGeneration === metadata.generation && status.digest === wanted.digest;
  const { step = 1, stepSince = now, observedSince } = isSame ? status : {};
  const current = steps[step - 1];
  const admitted = current === undefined ? all : namesOf(targets, steps.slice(0, step));
  if (isSame && analysis !== undefined && conditionOf(resource, 'Healthy')?.status === 'False')
    return { step, stepSince, ...(observedSince && { observedSince }), admitted, hasFailed: true };
  if (isServingIn(world, wanted, all)) return { admitted: all };
  const verdict = analysis && verdictOf(analysis, world.calls);
  const judged = { stepSince, admitted, ...(verdict && { verdict }) };
  if (current === undefined) return { ...(steps.length > 0 && { step }), ...judged };
  if (!isServingIn(world, wanted, admitted)) return { step, ...judged };
  const sinceMs = Date.parse(observedSince ?? now);
  const restMs = sinceMs + current.observeSeconds * 1000 - wallMs;
  const isUnmet = verdict !== undefined && verdict.kind !== 'met';
  if (restMs > 0 || observedSince === undefined || isUnmet)
    return { step, ...judged, observedSince: observedSince ?? now, restMs: Math.max(restMs, 0) };
  const next = steps[step] === undefined ? all : namesOf(targets, steps.slice(0, step + 1));
  return { step: step + 1, stepSince: now, admitted: next, ...(verdict && { verdict }) };
}

/** Nodes had more time for a step than the rollout allows. */
export function isStuck({ resource, wallMs }: World, { stepSince, observedSince }: Progress): boolean {
  if (stepSince === undefined || observedSince !== undefined) return false;
  return wallMs - Date.parse(stepSince) > resource.spec.rollout.timeoutSeconds * 1000;
}

/** Time after which the world is to be observed again: for nodes that compile, or for the next step. */
export function waitOf(world: World): number | undefined {
  const { resource, source, targets } = world;
  if ('problem' in source || resource.metadata.deletionTimestamp !== undefined) return undefined;
  const progress = progressOf(world, source);
  const { restMs, verdict } = progress;
  if (verdict !== undefined)
    return restMs === undefined ? POLL_MS : Math.max(1, Math.min(restMs || MEASURE_MS, MEASURE_MS));
  if (restMs !== undefined && restMs > 0) return restMs;
  const isDistributing = targets.some(
    (target) => progress.admitted.has(target.name) && stageOf(resource, source, target) === 'distributing',
  );
  return isDistributing && !isStuck(world, progress) ? POLL_MS : undefined;
}

function namesOf(targets: readonly Target[], steps: readonly Step[]): ReadonlySet<string> {
  return new Set(steps.flatMap((step) => ofStep(targets, step)).map(({ name }) => name));
}

function ofStep(targets: readonly Target[], { selector, percent = 0 }: Step): readonly Target[] {
  if (selector !== undefined) return targets.filter(({ labels }) => matches(selector, labels));
  return targets.slice(0, Math.ceil((targets.length * percent) / 100));
}

function isServingIn({ resource, targets }: World, wanted: Wanted, names: ReadonlySet<string>): boolean {
  return targets.every((target) => !names.has(target.name) || isServing(stageOf(resource, wanted, target)));
}

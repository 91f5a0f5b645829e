// Goal: after any edits, faults, lagging caches and kills of the operator, a cluster converges to its spec and the plan
// is empty; no safety rule is violated. Method: random runs of the simulation by seeds. Seeds that found a fault stay
// in the list.
import { expect, it } from 'vitest';
import { runs } from '../../support/runs.ts';
import { calm, disturb, disturbPods, loseCatalog, recover } from './model/disturbances.ts';
import { gibOf, isOwnedBy, sizeOf } from './model/items.ts';
import { type Edit, Run } from './model/run.ts';

const DISTURBANCES = 24;
const STEPS_BETWEEN = 40;
const STEPS_OF_A_PAUSE = 400;
const STEPS_TO_CONVERGE = 1_500;
const STEPS_TO_RECOVER = 200;
const STEPS_TO_SETTLE = 60;
const STEPS_OF_SILENCE = 20;
/** Seeds that found faults: without and with the loss of the catalog, and with learners. */
const FOUND: readonly number[] = [9, 31, 38, 41, 46, 51, 129, 137, 208, 211, 220, 547];
const FOUND_WITH_LOSS: readonly number[] = [26];
const FOUND_WITH_LEARNERS: readonly number[] = [];

/** True when the cluster meets its spec. */
function hasConverged(run: Run): boolean {
  const { cluster, cairn, kube, objects } = run;
  if (!run.isStable || cluster?.status.observedGeneration !== cluster?.metadata.generation) return false;
  const { replicas = 0, learners = 0, version, storage } = cluster?.spec ?? {};
  const nodes = cairn.nodes.filter(({ state }) => state !== 'removed');
  const isFull = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }): boolean =>
    storage?.autoGrow !== undefined && kube.usageOf(name) >= storage.autoGrow.thresholdPercent;
  const sets = kube.list('statefulsets');
  return (
    nodes.length === replicas + learners &&
    nodes.filter(({ isLearner }) => isLearner).length === learners &&
    cairn.databases.every((database) => database.learners.size === learners) &&
    kube.list('pods').every((pod) => sets.some((set) => isOwnedBy(pod, set))) &&
    sets.every(({ spec }) =>
      spec.volumeClaimTemplates.every((claim) => sizeOf(claim) === cluster?.status.storageSize),
    ) &&
    nodes.every(({ id }) => cairn.processOf(id)?.release === version) &&
    [...cairn.processes.values()].every(({ isDraining }) => !isDraining) &&
    objects.found.join() === objects.wanted.join() &&
    (!kube.list('pods').some(isFull) || gibOf(cluster?.status.storageSize) >= gibOf(storage?.autoGrow?.maxSize))
  );
}

/** True when its volumes are deleted with the cluster, or kept, by its policy. */
async function hasEnded(run: Run): Promise<boolean> {
  const { reclaimPolicy } = run.cluster?.spec ?? {};
  const before = run.kube.list('persistentvolumeclaims').length;
  run.kube.endCluster();
  const isReleased = (): boolean =>
    run.cluster?.metadata.finalizers?.some((each) => each.startsWith('cairn.dev/')) !== true;
  await run.until(isReleased, STEPS_TO_RECOVER);
  const { length } = run.kube.list('persistentvolumeclaims');
  return isReleased() && length === (reclaimPolicy === 'Delete' ? 0 : before);
}

/** Returns undefined when the run converges and ends, and otherwise a description of the failure. */
async function randomRun(run: Run, isCatalogLost: boolean): Promise<unknown> {
  const { chance } = run.runtime;
  let lossAt = isCatalogLost ? chance.below(DISTURBANCES / 2) : Infinity;
  for (let count = 0; count < DISTURBANCES; count += 1) {
    // A roll with its finalization takes some minutes.
    await run.until(() => false, chance.below(chance.chance(15) ? STEPS_OF_A_PAUSE : STEPS_BETWEEN));
    if (count >= lossAt && loseCatalog(run)) lossAt = Infinity;
    else disturb(run);
  }
  calm(run);
  let isDone = false;
  for (let steps = 0; steps < STEPS_TO_CONVERGE && !isDone; steps += STEPS_TO_RECOVER) {
    isDone = await run.until(() => hasConverged(run), STEPS_TO_RECOVER);
    if (!isDone) recover(run);
  }
  if (!isDone) return { conditions: run.cluster?.status?.conditions, objects: run.objects };
  // The operator may still have a cache that lags.
  await run.until(() => false, STEPS_TO_SETTLE);
  const { writes } = run.kube;
  await run.until(() => false, STEPS_OF_SILENCE);
  if (run.kube.writes !== writes) return `${run.kube.writes - writes} writes after it has converged`;
  return (await hasEnded(run)) ? undefined : 'the cluster or its volumes have not ended';
}

const GOOD = { violations: [], fault: undefined };

/** The last lines of the log show the cause of a fault. */
async function outcomeOf(seed: number, isCatalogLost: boolean, edit: Edit = {}): Promise<object> {
  const onAction = (disturbed: Run): void => {
    if (!disturbed.isCalm && disturbed.runtime.chance.chance(10)) disturbPods(disturbed);
  };
  const run = new Run(
    seed,
    { replicas: seed % 2 === 0 ? 3 : 5, 'update.finalize': seed % 3 === 0 ? 'Manual' : 'Automatic', ...edit },
    { stalePercent: 20, killPercent: 5, onAction },
  );
  const fault = await randomRun(run, isCatalogLost);
  return { log: run.log.slice(-40), violations: run.safety.violations, fault };
}

const seedsOf = (found: readonly number[], count: number): readonly number[] => [
  ...new Set([...found, ...Array.from({ length: runs(count) }, (_, seed) => seed + 1)]),
];

it.each(seedsOf(FOUND, 75))(
  'converges and keeps the safety rules in the random run %i (KC1, KC2, KC3, KC4, KC5, KC6, KC7, KC8, KC9, KC10, KC11)',
  async (seed) => {
    const found = await outcomeOf(seed, false);
    expect(found).toEqual({ ...found, ...GOOD });
  },
);

it.each(seedsOf(FOUND_WITH_LOSS, 25))(
  'converges and keeps the safety rules in the random run %i in which the catalog is lost (KC10, KC12)',
  async (seed) => {
    const found = await outcomeOf(seed, true);
    expect(found).toEqual({ ...found, ...GOOD });
  },
);

it.each(seedsOf(FOUND_WITH_LEARNERS, 60))(
  'converges and keeps the safety rules in the random run %i of a cluster with learners (KC1, KC3, KC4, KC7, KC10, KC12, KC13, KC14)',
  async (seed) => {
    const found = await outcomeOf(seed, seed % 3 === 0, { learners: seed % 4 });
    expect(found).toEqual({ ...found, ...GOOD });
  },
);

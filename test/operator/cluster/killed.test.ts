// Goal: the operator can be killed after any of its actions: another one continues, and no pod is restarted that would
// not be without the kill. Method: each plan once without a kill, and then once for each of its actions.
import { expect, it } from 'vitest';
import { Run } from './model/run.ts';

const STEPS = 1_500;

type Begin = (run: Run) => void;

const RECOVERY = { id: 'one', survivor: 'shop-2', acknowledgeDataLoss: true };

function loseNodesOf(run: Run, ...pods: readonly string[]): void {
  for (const pod of pods) run.kube.loseNode(run.kube.get('pods', pod)?.spec.nodeName ?? '');
  for (const node of ['node-8', 'node-9']) run.kube.setNode(node, true);
}

const PLANS: Readonly<Record<string, readonly [replicas: number, begin: Begin, learners?: number]>> = {
  'more nodes': [3, (run) => run.edit({ replicas: 5 })],
  'fewer nodes': [5, (run) => run.edit({ replicas: 1 })],
  'more learners, and a restart': [3, (run) => run.edit({ learners: 2, restartKey: 'again' })],
  'fewer learners': [1, (run) => run.edit({ learners: 0 }), 2],
  'the repair of a learner': [3, (run) => loseNodesOf(run, 'shop-learners-1'), 2],
  'a restart': [3, (run) => run.edit({ restartKey: 'again' }), 1],
  'an upgrade': [3, (run) => run.edit({ version: '0.2.0' })],
  'larger volumes': [3, (run) => run.edit({ 'storage.size': '30Gi' }), 1],
  'the repair of a node': [3, (run) => loseNodesOf(run, 'shop-1')],
  'the recovery of a database': [
    5,
    (run) => {
      loseNodesOf(run, 'shop-0', 'shop-1');
      run.edit({ recovery: RECOVERY });
    },
  ],
  'the recovery of the catalog': [
    3,
    (run) => {
      loseNodesOf(run, 'shop-0', 'shop-1');
      run.edit({ recovery: { ...RECOVERY, acceptLoss: run.cairn.codeOf(3) } });
    },
  ],
};

/** Carries a plan out, and returns its actions, without applies of the same, and the pods that it has deleted. */
async function carriedOut(name: string, killIn: number): Promise<{ actions: number; deleted: readonly string[] }> {
  const [replicas, begin, learners = 0] = PLANS[name] ?? [3, () => undefined];
  const run = new Run(1, { replicas, learners });
  expect(await run.until(() => run.isStable, STEPS)).toBe(true);
  const before = run.log.length;
  begin(run);
  run.killIn = killIn;
  const generation = run.cluster?.metadata.generation;
  // The condition is that of before for some steps.
  await run.until(() => false, 10);
  const isDone = await run.until(() => run.isStable && run.cluster?.status.observedGeneration === generation, STEPS);
  const log = run.log.slice(before).filter((line) => !line.startsWith('wait'));
  expect([run.safety.violations, isDone ? 'stable' : log.slice(-30)]).toEqual([[], 'stable']);
  return { actions: log.length, deleted: log.filter((line) => line.startsWith('delete Pod')).toSorted() };
}

it.each(Object.keys(PLANS))('%s ends in the same way when the operator is killed after any action', async (name) => {
  const { actions, deleted } = await carriedOut(name, Number.POSITIVE_INFINITY);
  expect(actions).toBeGreaterThan(1);
  for (let killIn = 1; killIn <= actions; killIn += 1)
    expect([killIn, (await carriedOut(name, killIn)).deleted]).toEqual([killIn, deleted]);
});

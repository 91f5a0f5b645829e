// Goal: the plan is empty for every converged world, and is the right one for worlds that differ from it in one thing.
// Method: worlds that the simulation reaches; each example changes one field.
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { World } from '../../../operator/src/cluster/index.ts';
import { plan } from '../../../operator/src/cluster/plan.ts';
import { runs } from '../../support/runs.ts';
import { Run, textOf } from './model/run.ts';

const STEPS = 400;

async function convergedWorld(seed: number, edit: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const run = new Run(seed, edit);
  await run.until(() => run.isStable, STEPS);
  return run.world();
}

describe('the plan of a converged world', () => {
  const spec = fc.record({
    replicas: fc.constantFrom(1, 3, 5),
    version: fc.constantFrom('0.1.0', '0.2.0'),
    'update.strategy': fc.constantFrom('Rolling', 'OnDelete'),
    'update.paused': fc.boolean(),
    'update.finalize': fc.constantFrom('Automatic', 'Manual'),
    'storage.size': fc.constantFrom('1Gi', '1024Mi', '30Gi'),
    'repair.policy': fc.constantFrom('Automatic', 'Manual'),
    reclaimPolicy: fc.constantFrom('Retain', 'Delete'),
  });

  it('is empty for every spec (KC7)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), spec, async (seed, edit) => {
        const world = await convergedWorld(seed, edit);
        expect(world.description?.nodes).toHaveLength(edit.replicas);
        expect(plan(world).map(textOf)).toEqual([]);
      }),
      { numRuns: runs(30) },
    );
  });
});

describe('the plan of a world that differs in one thing', () => {
  let world: World;
  beforeAll(async () => {
    world = await convergedWorld(1, { 'update.stableSeconds': 0 });
  });

  const outdated = (found: World): World => ({
    ...found,
    pods: found.pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, annotations: {} } })),
  });
  const describing = (found: World, change: Partial<NonNullable<World['description']>>): World => ({
    ...found,
    description: found.description && { ...found.description, ...change },
  });
  const withSpec = (found: World, change: Partial<World['cluster']['spec']>): World => ({
    ...found,
    cluster: { ...found.cluster, spec: { ...found.cluster.spec, ...change } },
  });
  const withNode = (found: World, id: number, change: object): World =>
    describing(found, {
      nodes: found.description?.nodes.map((node) => (node.id === id ? { ...node, leads: 9, ...change } : node)) ?? [],
    });
  const updateOf = (found: World, change: object): World =>
    withSpec(found, { update: { ...found.cluster.spec.update, ...change } });

  const EXAMPLES: readonly (readonly [string, (found: World) => World, RegExp])[] = [
    ['nothing', (found) => found, /^$/],
    ['outdated pods', outdated, /^patch shop-\d .*draining-since.*, drain \d \(shop-\d\)$/],
    ['outdated pods, paused', (found) => updateOf(outdated(found), { paused: true }), /^$/],
    ['outdated pods, OnDelete', (found) => updateOf(outdated(found), { strategy: 'OnDelete' }), /^$/],
    [
      'outdated pods, no answer',
      (found) => ({ ...outdated(found), description: undefined }),
      /^wait .*does not answer/,
    ],
    [
      'outdated pods, no leader of the catalog',
      (found) => describing(outdated(found), { isConfirmed: false }),
      /^wait .*no leader of its catalog/,
    ],
    ['outdated pods, a silent node', (found) => withNode(outdated(found), 2, { answers: false }), /^wait .*not answer/],
    ['outdated pods, a lagging node', (found) => withNode(outdated(found), 2, { lag: 5_000 }), /^wait .*caught up/],
    ['outdated pods, a drained node', (found) => withNode(outdated(found), 2, { isDraining: true }), /^wait .*drained/],
    ['outdated pods, a leaving node', (found) => withNode(outdated(found), 2, { state: 'leaving' }), /^wait .*leaving/],
    ['less replicas', (found) => withSpec(found, { replicas: 1 }), /^patch data-shop-2 .*retiring.*, decommission 3/],
    [
      'less replicas, a silent node',
      (found) => withNode(withSpec(found, { replicas: 1 }), 1, { answers: false }),
      /^wait/,
    ],
    ['less replicas, no answer', (found) => ({ ...withSpec(found, { replicas: 1 }), description: undefined }), /^wait/],
    ['no StatefulSet', (found) => ({ ...found, set: undefined, isApplied: () => false }), /^apply .*"replicas":3/],
    [
      'no StatefulSet, less replicas',
      (found) => ({ ...withSpec(found, { replicas: 1 }), set: undefined, isApplied: () => false }),
      /^apply .*"replicas":3/,
    ],
    ['a policy that deletes volumes', (found) => withSpec(found, { reclaimPolicy: 'Delete' }), /^patch shop .*volumes/],
  ];

  it.each(EXAMPLES)('%s', (_name, change, expected) => {
    expect(plan(change(world)).map(textOf).join(', ')).toMatch(expected);
  });
});

// Goal: from any reachable state the controller brings a cluster to its spec without a violation of a safety rule.
// Method: the real controller against naive models of Kubernetes and of a cluster. The rules KC1 to KC6, KC8 and KC12
// are checked against the models at each write (model/safety.ts). Each rule of the plan has its rows in plan.test.ts.
import { describe, expect, it } from 'vitest';
import { refusal } from './model/cairn.ts';
import { type Edit, Run } from './model/run.ts';

const STEPS = 600;

async function converged(run: Run, edit: Edit = {}): Promise<Run> {
  run.edit(edit);
  const generation = run.cluster?.metadata.generation;
  const isDone = await run.until(() => run.isStable && run.cluster?.status.observedGeneration === generation, STEPS);
  expect(run.safety.violations).toEqual([]);
  const seen = { conditions: run.cluster?.status?.conditions, log: run.log.slice(-30) };
  expect(isDone ? 'stable' : seen).toBe('stable');
  return run;
}

async function installed(edit: Edit = {}, seed = 1): Promise<Run> {
  return converged(new Run(seed, edit));
}

function podsOf(run: Run): readonly string[] {
  return run.kube.list('pods').map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
}

function membersOf(run: Run): readonly string[] {
  return run.cairn.nodes.flatMap(({ id, name, state }) => (state === 'removed' ? [] : [`${id} ${name} ${state}`]));
}

function nodeOf(run: Run, pod: string): string {
  return run.kube.get('pods', pod)?.spec.nodeName ?? '';
}

describe('installation', () => {
  it('founds a cluster of three nodes, and has nothing to do afterwards (KC7)', async () => {
    const run = await installed();
    expect(membersOf(run)).toEqual(['1 shop-0 active', '2 shop-1 active', '3 shop-2 active']);
    const { writes } = run.kube;
    expect(await run.pass()).toEqual([]);
    await run.until(() => false, 20);
    expect(run.kube.writes).toBe(writes);
    expect(run.cluster?.status).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      version: '0.1.0',
      clusterID: 'cluster',
      storageSize: '20Gi',
    });
  });

  it('applies all objects again and restarts no pod when the operator restarts', async () => {
    const run = await installed();
    const [pods, { writes }] = [podsOf(run), run.kube];
    run.restart();
    await run.until(() => false, 40);
    expect([podsOf(run), run.kube.writes]).toEqual([pods, writes]);
  });

  it('starts again with fewer nodes when a cluster could not be founded', async () => {
    const run = new Run(1, { replicas: 5 });
    for (const node of [2, 3, 4, 5, 6]) run.kube.setNode(`node-${node}`, false);
    await run.until(() => false, 100);
    expect(run.condition('Ready')).toMatchObject({ status: 'False', reason: 'Installing' });
    run.kube.setNode('node-2', true);
    await converged(run, { replicas: 3 });
    expect(membersOf(run)).toHaveLength(3);
  });

  it('replaces pods that never started when their configuration is fixed', async () => {
    const run = new Run(1, { config: { isBad: 'yes' } });
    await run.until(() => false, 60);
    expect(run.cairn.nodes).toEqual([]);
    await converged(run, { config: {} });
  });
});

describe('number of nodes', () => {
  it('goes from 1 to 3, 5, 3 and 1 by membership, and keeps the volumes of removed nodes (KC3)', async () => {
    const run = await installed({ replicas: 1 });
    for (const replicas of [3, 5, 3, 1]) {
      await converged(run, { replicas });
      expect(membersOf(run)).toHaveLength(replicas);
      expect(await run.until(() => podsOf(run).length === replicas, STEPS)).toBe(true);
    }
    const claims = run.kube.list('persistentvolumeclaims').map(({ metadata }) => metadata.labels['cairn.dev/released']);
    expect(claims.map((id) => id !== undefined)).toEqual([false, true, true, true, true]);
    await converged(run, { replicas: 3 });
    expect(run.cairn.nodes.flatMap(({ id, state }) => (state === 'removed' ? [] : [id]))).toEqual([1, 6, 7]);
  });

  it('decreases while a pod is being replaced', async () => {
    const run = await installed({ replicas: 5 });
    run.edit({ restartKey: 'again' });
    await run.until(() => [...run.cairn.processes.values()].some(({ isDraining }) => isDraining), STEPS);
    await converged(run, { replicas: 3 });
    expect(membersOf(run)).toHaveLength(3);
  });

  it('reports the reason when the cluster refuses to remove a node', async () => {
    const run = await installed();
    run.cairn.decommission = () => Promise.reject(refusal('FAILED_PRECONDITION', 'no quorum without node 3'));
    run.edit({ replicas: 1 });
    await run.until(() => false, 40);
    expect(run.condition('Progressing')).toMatchObject({
      status: 'False',
      reason: 'Refused',
      message: expect.stringMatching(/no quorum without node 3/),
    });
    expect(run.condition('Quiesced')?.status).toBe('False');
    expect(podsOf(run)).toHaveLength(3);
  });
});

describe('replacement of pods', () => {
  it('upgrades pod by pod and finalizes afterwards (KC1, KC2, KC5, KC8)', async () => {
    const run = await installed();
    await converged(run, { version: '0.2.0' });
    expect(run.cairn.level).toBe(2);
    expect(run.log.filter((line) => line.startsWith('delete Pod'))).toHaveLength(3);
    expect(run.log.filter((line) => line.startsWith('drain'))).toHaveLength(3);
  });

  it('rolls an upgrade back before it is final, and refuses to roll back afterwards', async () => {
    const run = await installed({ 'update.finalizeAfterSeconds': 3600 });
    run.edit({ version: '0.2.0' });
    await run.until(
      () =>
        run.condition('ConfigurationApplied')?.status === 'True' &&
        run.condition('VersionUniform')?.reason === 'NotFinal',
      STEPS,
    );
    await converged(run, { version: '0.1.0' });
    await converged(run, { version: '0.2.0', 'update.finalizeAfterSeconds': 10 });
    run.edit({ version: '0.1.0' });
    const pods = podsOf(run);
    await run.until(() => false, 40);
    expect(run.condition('ConfigurationApplied')?.reason).toBe('RollbackImpossible');
    expect(podsOf(run)).toEqual(pods);
  });

  it('restarts a single node without a drain', async () => {
    const run = await installed({ replicas: 1 });
    await converged(run, { restartKey: 'again' });
    expect(run.log.filter((line) => line.startsWith('drain'))).toEqual([]);
    expect(run.log.filter((line) => line.startsWith('delete Pod'))).toHaveLength(1);
  });

  it('stops at the first pod that does not become ready, and replaces that pod when the spec is fixed', async () => {
    const run = await installed();
    run.edit({ config: { isBad: 'yes' } });
    await run.until(() => false, 150);
    expect(run.log.filter((line) => line.startsWith('delete Pod'))).toHaveLength(1);
    expect(run.condition('Progressing')?.reason).toBe('RollWaits');
    await converged(run, { config: {} });
    expect(run.log.filter((line) => line.startsWith('delete Pod'))).toHaveLength(2);
  });
});

describe('repair', () => {
  it('replaces a node whose Kubernetes node is gone, and removes the lost one (KC4)', async () => {
    const run = await installed();
    run.kube.loseNode(nodeOf(run, 'shop-1'));
    await converged(run);
    await run.until(() => membersOf(run).length === 3 && run.isStable, STEPS);
    expect(membersOf(run)).toEqual(['1 shop-0 active', '3 shop-2 active', '4 shop-1 active']);
  });
});

describe('recovery', () => {
  it('continues with the data of the survivor, and then replaces the lost nodes (KC9)', async () => {
    const run = await installed({ replicas: 5 });
    for (const pod of ['shop-0', 'shop-1']) run.kube.loseNode(nodeOf(run, pod));
    for (const node of ['node-8', 'node-9']) run.kube.setNode(node, true);
    await run.until(() => false, 200);
    expect(run.condition('QuorumHealthy')?.reason).toBe('DatabasesWithoutLeader');
    expect(run.log.filter((line) => line.startsWith('delete'))).toEqual([]);
    // A recovery needs no object that the operator installs.
    run.kube.remove('statefulsets', 'shop');
    await converged(run, { recovery: { id: 'one', survivor: 'shop-2', acknowledgeDataLoss: true } });
    expect(run.cluster?.status.recoveryID).toBe('one');
    expect(run.log.filter((line) => line.startsWith('recover'))).toHaveLength(3);
    expect(membersOf(run)).toHaveLength(5);
  });

  it('says that an id counts as carried out when nothing is lost, and that it does not help afterwards', async () => {
    const run = await installed({ replicas: 5 });
    await converged(run, { recovery: { id: 'one', survivor: 'shop-2', acknowledgeDataLoss: true } });
    expect(run.cluster?.status.recoveryID).toBe('one');
    const note = 'the id one of spec.recovery counts as carried out: no database of shop-2 lacks a leader';
    expect(run.events.filter((event) => event.startsWith('RecoveryDone'))).toEqual([`RecoveryDone: ${note}`]);
    for (const pod of ['shop-0', 'shop-1']) run.kube.loseNode(nodeOf(run, pod));
    await run.until(() => run.condition('QuorumHealthy')?.status === 'False', STEPS);
    expect(run.condition('QuorumHealthy')?.message).toMatch(/; spec.recovery.id is one, which was carried out: /);
  });
});

describe('recovery of the catalog', () => {
  const RECOVERY = { id: 'one', survivor: 'shop-2', acknowledgeDataLoss: true };

  /** Two of three nodes are lost with their volumes. */
  async function withoutCatalog(seed = 1): Promise<Run> {
    const run = await installed({}, seed);
    for (const pod of ['shop-0', 'shop-1']) run.kube.loseNode(nodeOf(run, pod));
    for (const node of ['node-8', 'node-9']) run.kube.setNode(node, true);
    await run.until(() => false, 150);
    expect(run.condition('QuorumHealthy')?.reason).toBe('NoCatalogLeader');
    expect(run.kube.get('statefulsets', 'shop')?.spec.replicas).toBe(3);
    return run;
  }

  it('leaves volumes of one cluster when it is deleted at any moment (KC12)', async () => {
    for (let steps = 10; steps < 70; steps += 4) {
      const run = await withoutCatalog(steps);
      run.edit({ recovery: RECOVERY });
      run.edit({ 'recovery.acceptLoss': run.cairn.codeOf(3) });
      await run.until(() => false, steps);
      run.kube.endCluster();
      await run.until(() => run.cluster === undefined && run.kube.list('pods').length === 0, STEPS);
      expect([steps, run.cluster, podsOf(run), run.safety.violations]).toEqual([steps, undefined, [], []]);
      const nodes = run.kube
        .list('persistentvolumeclaims')
        .map(({ metadata }) => run.kube.volumes.get(metadata.uid)?.node);
      expect(nodes.filter((id) => id !== undefined && !run.cairn.isMember(id))).toEqual([]);
    }
  });

  async function shown(run: Run): Promise<void> {
    run.edit({ recovery: RECOVERY });
    const isShown = await run.until(() => run.condition('Progressing')?.reason === 'LossNotAccepted', STEPS);
    expect([isShown, run.condition('Ready')?.reason]).toEqual([true, 'Recovering']);
    expect(run.condition('Progressing')?.message).toContain(`acceptLoss to "${run.cairn.codeOf(3)}"`);
  }

  it.each([1, 2, 3])(
    'stops all nodes, shows the loss, and continues with one node, in the run %i (KC12)',
    async (seed) => {
      const run = await withoutCatalog(seed);
      const kept = run.kube.get('persistentvolumeclaims', 'data-shop-2')?.metadata.uid;
      await shown(run);
      await converged(run, { 'recovery.acceptLoss': run.cairn.codeOf(3) });
      expect(membersOf(run)).toEqual(expect.arrayContaining(['3 shop-2 active']));
      expect(membersOf(run)).toHaveLength(3);
      expect(run.kube.get('persistentvolumeclaims', 'data-shop-2')?.metadata.uid).toBe(kept);
      expect(run.cluster?.status).toMatchObject({ recoveryID: 'one', clusterID: 'cluster-1' });
      expect(run.kube.get('pods', 'shop-recovery')).toBeUndefined();
      const note = 'the id one of spec.recovery counts as carried out: the cluster is founded again';
      expect(run.events.filter((event) => event.startsWith('RecoveryDone'))).toEqual([`RecoveryDone: ${note}`]);
    },
  );

  it('starts the nodes as they were when spec.recovery is removed (KC12)', async () => {
    const run = await withoutCatalog();
    await shown(run);
    run.edit({ recovery: undefined });
    expect(await run.until(() => run.cairn.isUp(3), STEPS)).toBe(true);
    expect(run.kube.list('persistentvolumeclaims').map(({ metadata }) => metadata.name)).toHaveLength(3);
    expect(run.cluster?.status.recoveryID).toBeUndefined();
    expect(run.safety.violations).toEqual([]);
  });

  it('never acts twice on one id (KC12)', async () => {
    const run = await withoutCatalog();
    await shown(run);
    await converged(run, { 'recovery.acceptLoss': run.cairn.codeOf(3) });
    for (const pod of ['shop-0', 'shop-1']) run.kube.loseNode(nodeOf(run, pod));
    await run.until(() => false, 200);
    expect(run.condition('QuorumHealthy')?.reason).toBe('NoCatalogLeader');
    expect(run.kube.get('statefulsets', 'shop')?.spec.replicas).toBe(3);
  });
});

describe('volumes', () => {
  it('grows claims and re-creates the StatefulSet without a restart of its pods', async () => {
    const run = await installed();
    const pods = podsOf(run);
    const set = run.kube.get('statefulsets', 'shop')?.metadata.uid;
    await converged(run, { 'storage.size': '30Gi' });
    await run.until(() => false, 20);
    const after = run.kube.get('statefulsets', 'shop');
    expect(after?.spec.volumeClaimTemplates[0]?.spec.resources.requests.storage).toBe('30Gi');
    expect([after?.metadata.uid === set, podsOf(run)]).toEqual([false, pods]);
    expect(run.kube.list('persistentvolumeclaims').map(({ status }) => status.capacity?.storage)).toEqual(
      Array(3).fill('30Gi'),
    );
  });

  it.each([1, 4])(
    're-creates the StatefulSet once when it is gone before the next action, in the run %i (KC10, KC13)',
    async (seed) => {
      const run = await converged(new Run(seed, {}, { stepsBetween: 8 }));
      const uids = new Set<string | undefined>();
      run.edit({ 'storage.size': '30Gi' });
      await run.until(() => {
        uids.add(run.kube.get('statefulsets', 'shop')?.metadata.uid);
        return false;
      }, 200);
      await converged(run);
      uids.delete(undefined);
      expect(uids.size).toBe(2);
    },
  );
});

describe('a full volume', () => {
  it('grows once when its node cannot start, and its pod stays (KC11)', async () => {
    const run = await installed({ 'storage.autoGrow': { maxSize: '80Gi', thresholdPercent: 90 } });
    const pods = podsOf(run);
    const volume = run.cairn.processes.get('shop-0')?.volume;
    if (volume === undefined) throw new Error('shop-0 does not run');
    volume.usedGi = 20;
    run.kube.needsRoom = true;
    run.kube.crash('shop-0');
    await run.until(() => run.cluster?.status.storageSize === '25Gi' && run.isStable, STEPS);
    await run.until(() => false, 40);
    expect([run.cluster?.status.storageSize, run.isStable, podsOf(run)]).toEqual(['25Gi', true, pods]);
  });
});

describe('deletion', () => {
  it.each([
    ['Delete', 0],
    ['Retain', 3],
  ])('with reclaimPolicy %s leaves %i volumes', async (reclaimPolicy, count) => {
    const run = await installed({ reclaimPolicy });
    const { cluster } = run;
    if (cluster === undefined) throw new Error('the cluster is gone');
    expect(cluster.metadata.finalizers ?? []).toEqual(reclaimPolicy === 'Delete' ? ['cairn.dev/volumes'] : []);
    cluster.metadata.deletionTimestamp = new Date(run.runtime.wallMs()).toISOString();
    if (reclaimPolicy === 'Retain') run.kube.remove('cairnclusters', 'shop');
    await run.until(() => run.cluster === undefined, STEPS);
    expect(run.cluster).toBeUndefined();
    expect(run.kube.list('persistentvolumeclaims')).toHaveLength(count);
  });

  it('ends all pods, and keeps the volumes, at any moment of the growth of its volumes (KC13)', async () => {
    for (let steps = 0; steps < 20; steps += 1) {
      const run = await installed({}, steps);
      run.edit({ 'storage.size': '30Gi' });
      await run.until(() => false, steps);
      run.kube.endCluster();
      await run.until(() => run.cluster === undefined && podsOf(run).length === 0, STEPS);
      expect([steps, run.cluster, podsOf(run), run.safety.violations]).toEqual([steps, undefined, [], []]);
      expect(run.kube.list('persistentvolumeclaims')).toHaveLength(3);
    }
  });
});

// Goal: the plan for a component has the actions that its spec and its databases require. Method: a table of worlds,
// and random converged worlds.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StateView } from '../../../operator/src/api/index.ts';
import type { ComponentVersion, Holder } from '../../../operator/src/client/index.ts';
import { plan, statusOf, type Target, type World } from '../../../operator/src/components/index.ts';
import { reasonsOf } from '../../support/operator/database-world.ts';
import { runs } from '../../support/runs.ts';

const NOW = Date.UTC(2026, 10, 29, 12);
const WANTED = { digest: 'sha256:a', publication: 'sha256:p' };
const READY: Holder = { compiled: new Set([WANTED.digest]), refused: new Map() };
const SLOW: Holder = { compiled: new Set(), refused: new Map() };
const UNFIT: Holder = { compiled: new Set(), refused: new Map([[WANTED.digest, 'too large']]) };
const ID = { database: 'shop', kind: 'StateView', name: 'view' } as const;

interface Sketch {
  readonly spec?: Partial<StateView['spec']>;
  readonly versions?: readonly ComponentVersion[];
  readonly holders?: readonly Holder[];
  /** Published version of the wanted component. */
  readonly version?: number;
  readonly publication?: string;
  readonly isHeld?: boolean;
  readonly isDeleted?: boolean;
  readonly state?: Target['state'];
  readonly source?: World['source'];
  readonly status?: Partial<StateView['status']>;
}

function version(number: number, change: Partial<ComponentVersion> = {}): ComponentVersion {
  return { version: number, digest: WANTED.digest, isActive: true, maintenance: 'Lazy', ...change };
}

function worldOf(sketch: Sketch): World {
  const { spec, versions = [], holders = [READY, READY], version: own, publication = WANTED.publication } = sketch;
  const { isHeld = false, isDeleted = false, state = { versions, holders }, source = WANTED, status } = sketch;
  return {
    resource: {
      metadata: {
        name: 'view',
        generation: 1,
        ...(isHeld && { finalizers: ['cairn.dev/component'] }),
        ...(isDeleted && { deletionTimestamp: new Date(NOW).toISOString() }),
      },
      spec: {
        databases: { selector: {} },
        reclaimPolicy: 'Retain',
        active: true,
        maintenance: 'Lazy',
        rollout: { strategy: 'All', timeoutSeconds: 60 },
        ...spec,
      },
      status,
    } as unknown as StateView,
    source,
    targets: [
      {
        name: 'shop',
        labels: {},
        id: ID,
        published: own === undefined ? undefined : { version: own, publication },
        state,
      },
    ],
    missing: [],
    failures: new Map(),
    calls: undefined,
    wallMs: NOW,
  };
}

const INACTIVE = { isActive: false };
const DELETED = { spec: { reclaimPolicy: 'Delete' }, isHeld: true, isDeleted: true } as const;

const OLD = { digest: 'sha256:b' };
const MISSED = { type: 'Healthy', status: 'False', reason: 'LimitExceeded', message: '5 of 9 calls trapped' } as const;

function canary(onFailure: 'RollBack' | 'Pause'): Partial<StateView['spec']> {
  const steps = [{ percent: 100, observeSeconds: 60 }];
  return { rollout: { strategy: 'Canary', timeoutSeconds: 60, steps, analysis: { maxTraps: 0, onFailure } } };
}

/** A version that has exceeded a limit, by its status. */
const FAILED: Sketch = {
  spec: canary('RollBack'),
  status: {
    observedGeneration: 1,
    digest: WANTED.digest,
    previousDigest: OLD.digest,
    step: 1,
    conditions: [{ ...MISSED, observedGeneration: 1, lastTransitionTime: '2026-11-29T12:00:00Z' }],
  },
};

const CASES: readonly (readonly [name: string, sketch: Sketch, plan: readonly string[], reason?: string])[] = [
  ['publishes in a database that lacks it', {}, ['publish'], 'RollingOut'],
  ['publishes again what was deleted', { version: 1 }, ['publish']],
  ['publishes other metadata', { version: 1, versions: [version(1)], publication: 'sha256:q' }, ['publish']],
  ['publishes another component', { version: 1, versions: [version(1, { digest: 'sha256:b' })] }, ['publish']],
  ['activates what all nodes have compiled', { version: 1, versions: [version(1, INACTIVE)] }, ['activate 1']],
  ['waits for a node', { version: 1, versions: [version(1, INACTIVE)], holders: [READY, SLOW] }, []],
  ['waits for nodes that hold the database', { version: 1, versions: [version(1, INACTIVE)], holders: [] }, []],
  [
    'activates nothing that a node refuses',
    { version: 1, versions: [version(1, INACTIVE)], holders: [READY, UNFIT] },
    [],
    'Refused',
  ],
  ['does nothing for an active version', { version: 1, versions: [version(1)] }, [], 'Active'],
  ['does nothing while a node restarts', { version: 1, versions: [version(1)], holders: [SLOW] }, [], 'Active'],
  ['sets the maintenance mode', { version: 1, versions: [version(1)], spec: { maintenance: 'Eager' } }, ['activate 1']],
  ['goes back by ending newer versions', { version: 1, versions: [version(1), version(2)] }, ['deactivate 2']],
  ['keeps older versions by default', { version: 2, versions: [version(1), version(2)] }, [], 'Active'],
  [
    'deletes versions beyond those that are kept',
    { version: 3, versions: [version(1), version(2, INACTIVE), version(3)], spec: { retainVersions: 1 } },
    ['deactivate 1', 'delete 1'],
  ],
  [
    'ends all versions of what is switched off',
    { version: 1, versions: [version(1)], spec: { active: false } },
    ['deactivate 1'],
  ],
  [
    'ends a version that has failed, and not the one before it',
    { ...FAILED, version: 2, versions: [version(1, OLD), version(2)] },
    ['deactivate 2'],
    'RolledBack',
  ],
  [
    'activates the version before one that has failed first',
    { ...FAILED, version: 1, versions: [version(1), version(2, { ...OLD, ...INACTIVE })] },
    ['activate 2'],
    'RolledBack',
  ],
  [
    'ends a failed version of the same component with other metadata, and activates no older component',
    { ...FAILED, version: 3, versions: [version(1, { ...OLD, ...INACTIVE }), version(2), version(3)] },
    ['deactivate 3'],
    'RolledBack',
  ],
  [
    'does nothing after a rollback',
    { ...FAILED, version: 2, versions: [version(1, OLD), version(2, INACTIVE)] },
    [],
    'RolledBack',
  ],
  [
    'leaves a failed version with onFailure Pause',
    { ...FAILED, spec: canary('Pause'), version: 2, versions: [version(1, OLD), version(2)] },
    [],
    'RolloutPaused',
  ],
  ['leaves an unknown database', { state: { problem: '', isGone: false } }, [], 'DatabaseNotReady'],
  ['does nothing without a source', { source: { problem: ['SourceNotFound', ''] } }, [], 'SourceNotFound'],
  ['holds what it is to delete', { spec: { reclaimPolicy: 'Delete' } }, ['hold']],
  ['deletes by policy', { ...DELETED, versions: [version(1)] }, ['delete all']],
  ['releases what is deleted', DELETED, ['release']],
  ['waits with a deletion', { ...DELETED, state: { problem: '', isGone: false } }, []],
  ['gives a deletion up when the cluster is gone', { ...DELETED, state: { problem: '', isGone: true } }, ['release']],
  ['retains by the policy Retain', { ...DELETED, spec: {}, versions: [version(1)] }, ['release']],
];

function shown(action: ReturnType<typeof plan>[number]): string {
  if (action.kind === 'delete') return `delete ${action.version ?? 'all'}`;
  return 'version' in action ? `${action.kind} ${action.version}` : action.kind;
}

describe('the plan for a component', () => {
  it.each(CASES.map(([name, ...rest]) => [name, rest] as const))(
    '%s (KP1, KP2, KP4, KP7)',
    (_name, [sketch, actions, reason]) => {
      const world = worldOf(sketch);
      expect(plan(world).map(shown)).toEqual(actions);
      expect([undefined, reasonsOf({ status: statusOf(world) })['Ready']]).toContain(reason);
    },
  );

  it('is empty for a converged resource (KP5)', () => {
    const maintenance = fc.constantFrom('Lazy', 'Eager', 'Scheduled');
    const property = fc.property(maintenance, fc.integer({ min: 1, max: 5 }), fc.nat(3), (mode, own, nodes) => {
      const versions = Array.from({ length: own }, (_, at) => version(at + 1, { maintenance: mode }));
      const holders = Array.from({ length: nodes + 1 }, () => READY);
      const world = worldOf({ version: own, versions, holders, spec: { maintenance: mode } });
      expect(plan(world)).toEqual([]);
      const status = statusOf(world);
      const resource = { ...world.resource, status };
      expect(statusOf({ ...world, resource, wallMs: NOW + 1_000_000 })).toEqual(status);
    });
    fc.assert(property, { numRuns: runs(300) });
  });
});

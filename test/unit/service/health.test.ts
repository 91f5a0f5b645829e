// Goal: the health of a node reports whether it accepts reads and writes, and why it is degraded. Method: a table.
import { expect, it } from 'vitest';
import type { NodeHealth } from '#cluster';
import type { ServiceContext } from '../../../src/service/context.ts';
import { health } from '../../../src/service/facade/service.ts';
import { WELL } from '../../support/well-node.ts';

it.each<
  [string, Partial<NodeHealth>, { readonly status: string; readonly readable: boolean; readonly writable: boolean }]
>([
  ['all is well', {}, { status: 'ok', readable: true, writable: true }],
  ['it is about to end', { accepting: false }, { status: 'degraded', readable: false, writable: false }],
  ['it has lost the catalog', { knowsCatalog: false }, { status: 'degraded', readable: false, writable: false }],
  ['its disk is full', { disk: 'refusing-writes' }, { status: 'degraded', readable: true, writable: false }],
  ['a replica has diverged', { hasDiverged: true }, { status: 'degraded', readable: true, writable: true }],
  ['its clock is far', { isClockFar: true }, { status: 'degraded', readable: true, writable: false }],
])('the status of a node shows what it accepts: %s', (_name, found, said) => {
  const node = { health: () => ({ ...WELL, ...found }) };
  const context = { node, release: '1', startedAtMs: 1_000, timers: { monotonicMs: () => 6_000 } };
  expect(health(context as unknown as ServiceContext)).toMatchObject({ ...said, uptimeSeconds: 5 });
});

/** The releases that nodes of a run may run: this one, and one that knows one level more (ADR 0047). */
import { LEVELS } from '#base';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import type { Release } from '../../support/cluster/replica-world.ts';

export { nextRelease as NEXT_RELEASE } from '../../support/cluster/next-release.ts';

export const THIS_RELEASE: Release = { levels: LEVELS, machines: databaseMachines };

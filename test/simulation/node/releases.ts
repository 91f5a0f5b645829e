// The releases that nodes of a run can use, in order: this one, one with an additional level, and one with a further
// level that does not support the first (ADR 0047).
import { LEVELS } from '#base';
import { databaseMachines } from '../../../src/cluster/database-machines.ts';
import { lastRelease, nextRelease } from '../../support/cluster/next-release.ts';
import type { Release } from '../../support/cluster/replica-world.ts';

export const THIS_RELEASE: Release = { levels: LEVELS, machines: databaseMachines };
export const RELEASES: readonly Release[] = [THIS_RELEASE, nextRelease, lastRelease];

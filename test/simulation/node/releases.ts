// The releases that nodes of a run can use, in order: this one, one with an additional level, and one with a further
// level that does not support the first (ADR 0047).
import { LEVELS } from '#base';
import { machinesWith } from '../../../src/cluster/database-machines.ts';
import { laterReleases } from '../../support/cluster/next-release.ts';
import type { Release } from '../../support/cluster/replica-world.ts';

/** So small that a run seals segments. */
const SEGMENT_BYTES = 4096;
/** All machines of a run: replicas with other limits would have other segments. */
export const MACHINES: Release['machines'] = machinesWith({ segmentBytes: SEGMENT_BYTES });

const { nextRelease, lastRelease } = laterReleases(MACHINES);

export const THIS_RELEASE: Release = { levels: LEVELS, machines: MACHINES };
export const RELEASES: readonly Release[] = [THIS_RELEASE, nextRelease, lastRelease];

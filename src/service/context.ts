/** Dependencies of every operation, created once by `createService`. */
import { type Clock, DatabaseError, type Random, type Sha256, type Timers } from '#base';
import type { Administers, Node } from '#cluster';
import type { ArtifactStore, AskedBindings, Maintenance, Presenters, StateChanges, StateViews } from '#components';
import type { Metrics } from '#observability';
import type { ServiceLimits } from './limits.ts';
import type { ServiceMeters } from './meters.ts';
import type { OpenStreams } from './open-streams.ts';
import type { ListAt } from './operations.ts';
import type { Reads } from './reads.ts';
import type { TailFeeds } from './tail-feed.ts';

export interface Components {
  readonly artifacts: Pick<ArtifactStore, 'artifact' | 'prepare'>;
  readonly views: Pick<StateViews, 'render' | 'advance' | 'drop'>;
  readonly asked: Pick<AskedBindings, 'add' | 'of'>;
  readonly maintenance: Pick<Maintenance, 'keep'>;
  readonly changes: Pick<StateChanges, 'decide' | 'execute'>;
  readonly presenters: Pick<Presenters, 'open'>;
}

/** The composition root may create them only on first use. */
export type OpenComponents = () => Promise<Components>;

export interface ServiceParts {
  readonly node: Node;
  readonly clock: Clock;
  readonly random: Random;
  readonly sha256: Sha256;
  readonly metrics: Metrics;
  /** The release of the node, for health reports. */
  readonly release: string;
  readonly limits?: Partial<ServiceLimits>;
  /** Asks another node for its databases; absent: none can be asked. */
  readonly listAt?: ListAt;
  /** Absent when there is no cluster to administer. */
  readonly administer?: Administers['administer'];
  /** Absent when this node runs no components. */
  readonly components?: OpenComponents | undefined;
  /** Real time by default; tests replace it. */
  readonly timers?: Timers;
}

export interface ServiceContext extends Omit<ServiceParts, 'limits'> {
  readonly reads: Reads;
  readonly timers: Timers;
  readonly limits: ServiceLimits;
  readonly streams: OpenStreams;
  readonly openTails: OpenStreams;
  readonly tails: TailFeeds;
  readonly meters: ServiceMeters;
  /** Monotonic start time by `timers`, which clock changes do not affect. */
  readonly startedAtMs: number;
}

/** @throws DatabaseError unimplemented: this node runs no components */
export async function openComponents({ components }: ServiceContext): Promise<Components> {
  if (components !== undefined) return components();
  throw new DatabaseError('unimplemented', 'This node runs no components');
}

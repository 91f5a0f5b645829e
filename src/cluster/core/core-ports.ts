/** Dependencies of a core: disks, clocks, other nodes, and its cluster. */
import type { Clock, GroupId, Random } from '#base';
import type { KvStore } from '#kv';
import type { LogWriter } from '#storage';
import type { CoreLimits } from '../limits.ts';
import type { Machines } from '../machine.ts';
import type { Peers } from '../peer/peers.ts';
import type { SnapshotObserver } from '../peer/snapshot-observer.ts';
import type { ClusterPorts } from '../placement/placement.ts';
import type { CoreObserver } from './observer.ts';

export interface CorePorts extends ClusterPorts {
  readonly kv: KvStore;
  /** Makes every completed write of the store durable. */
  readonly syncStore: () => Promise<void>;
  /** The last process found damage that it could not attribute: the rows of every database are audited. */
  readonly isSuspect?: boolean;
  /** Databases whose rows the last process found damaged. */
  readonly damaged?: ReadonlySet<GroupId>;
  readonly log: LogWriter;
  readonly peers: Peers;
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly random: Random;
  readonly observer: CoreObserver;
  readonly snapshotObserver: SnapshotObserver;
  /** Release of this process, for operators; by default unknown. */
  readonly release?: string | undefined;
  /** Used share of the data disk in percent; by default unknown. */
  readonly diskUsedPercent?: (() => number) | undefined;
  /** Runs the work after other pending work. */
  readonly later: (work: () => void) => void;
}

/** What a core is given: disks, clocks, other nodes, and the cluster that it belongs to. */
import type { Clock, Random } from '#base';
import type { KvStore } from '#kv';
import type { LogWriter } from '#storage';
import type { CoreObserver } from '../front/observer.ts';
import type { SnapshotObserver } from '../front/snapshot-observer.ts';
import type { CoreLimits } from '../limits.ts';
import type { Machines } from '../machine.ts';
import type { Peers } from '../peers.ts';
import type { ClusterPorts } from '../placement/placement.ts';

export interface CorePorts extends ClusterPorts {
  readonly kv: KvStore;
  /** Makes every write of the store that has resolved durable. */
  readonly syncStore: () => Promise<void>;
  readonly log: LogWriter;
  readonly peers: Peers;
  readonly machines: Machines;
  readonly limits: CoreLimits;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly random: Random;
  readonly observer: CoreObserver;
  readonly snapshotObserver: SnapshotObserver;
  /** That this process runs, for operators; by default unknown. */
  readonly release?: string | undefined;
  /** Share of the disk of its data that is not available; by default unknown. */
  readonly diskUsedPercent?: (() => number) | undefined;
  /** Runs the work after everything that has arrived by then had its turn. */
  readonly later: (work: () => void) => void;
}

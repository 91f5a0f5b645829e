/** Dependencies that parts of a core have in common. A part that uses few of them picks those. */
import type { Clock, DatabaseError, GroupId, NodeId, Random } from '#base';
import type { KvStore } from '#kv';
import type { Input } from '#raft';
import type { DiskLevel } from '#storage';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine, Machines } from '../machine.ts';
import type { ForwardItem } from '../peer/forward.ts';
import type { Peers } from '../peer/peers.ts';
import type { Reporter } from '../reporter.ts';
import type { Group } from './group.ts';
import type { GroupTimers } from './group-timers.ts';
import type { NodeMemory } from './node-memory.ts';

export interface GroupPorts {
  readonly node: NodeId;
  readonly kv: KvStore;
  /** Makes every completed write durable. */
  readonly syncStore: () => Promise<void>;
  readonly machines: Machines;
  readonly peers: Peers;
  readonly limits: CoreLimits;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly random: Random;
  readonly reporter: Reporter;
  readonly timers: GroupTimers;
  readonly memory: NodeMemory;
  readonly catalog: () => CatalogMachine;
  readonly disk: () => DiskLevel;
  readonly step: (group: Group, input: Input) => void;
  /** Returns the group if it is open. */
  readonly find: (id: GroupId) => Group | undefined;
  /** Returns the group, opened if needed; undefined when this node does not serve it. */
  readonly touch: (id: GroupId) => Group | undefined;
  /** Reason why it does not. */
  readonly absence: (id: GroupId) => DatabaseError;
  /** The groups that this node leads. */
  readonly led: () => Iterable<Group>;
  /** A group was closed and must not be stepped any more. */
  readonly closed: (group: Group) => void;
  /** A request starts to wait for other nodes, or for a leader of the group. */
  readonly waits: (group: Group) => void;
  /** Returns whether a node is another one of the cluster. */
  readonly isKnown: (node: NodeId) => boolean;
  /** Returns whether a node drains, this one included. */
  readonly isLeaving: (node: NodeId) => boolean;
  /** Sends a message to another node at the end of the turn; it may be lost. */
  readonly post: (to: NodeId, item: ForwardItem) => void;
  /** Forwards a payload to the leader of the group, without an answer. */
  readonly tell: (to: NodeId, group: GroupId, payload: Uint8Array) => void;
}

/**
 * #cluster: the runtime of all Raft groups of one node.
 *
 * For: one group for the catalog and one for each database, driven from one loop; the write path from a proposal to
 * its outcome; read barriers; checkpoints, recovery, and the clearing of deleted databases. `startNode` spawns the
 * isolates and hands back a `Node`; everything below it also runs in one thread, which is how it is tested.
 *
 * Not here: what an entry means (#database), what a log record looks like (#storage), the algorithm (#raft), names,
 * limits of requests and who may do what (#service).
 */
export { type CoreObserver, type CorePorts, CoreRuntime } from './core-runtime.ts';
export { FrontNode, type FrontObserver, type FrontPorts } from './front-node.ts';
export { type CoreLimits, LIMITS } from './limits.ts';
export type {
  AppliedMark,
  CatalogMachine,
  DurableMark,
  Machine,
  MachineEntry,
  Machines,
  RangeNeed,
} from './machine.ts';
export type {
  CatalogChange,
  CatalogMirror,
  DiskLevel,
  Node,
  NodeHealth,
  NodeIdentity,
  WaitOutcome,
} from './node.ts';
export type {
  Binding,
  CreateOutcome,
  DeleteOutcome,
  Outcome,
  StoredId,
  TransactOutcome,
} from './outcome.ts';

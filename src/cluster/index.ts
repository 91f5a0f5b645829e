/**
 * #cluster: the runtime of all Raft groups of one node.
 *
 * Purpose: one group for the catalog and one for each database, driven by one loop; the path of a write from a proposal
 * to its outcome; read barriers; checkpoints, recovery, and the deletion of rows. `startNode` starts the isolates and
 * returns a `Node`; everything in them also runs in one thread (`CoreRuntime` under a `FrontNode`), which tests use.
 *
 * Not here: the meaning of an entry (#database), the format of log records (#storage), the algorithm (#raft), names,
 * request limits and access control (#service).
 *
 * Invariants:
 *   C1  Everything that groups persist in one turn is one append to the log, and each completion is reported to its
 *       group with the numbers of its own write.
 *   C2  An accepted proposal is answered once, or the process ends. A transaction that is committed, violated or
 *       too broad is answered when its entry is durable in the log and applied, perhaps before its rows are in the
 *       store; every other outcome when they are.
 *   C3  Entries are applied once, in the order of the log, and their rows are written with the applied row in one
 *       batch; recorded time never goes back within a database.
 *   C4  A deleted database's group is closed in the batch that deletes it: nothing is persisted, applied or answered
 *       for it afterwards, and its id is never used again.
 *   C5  `latest` is answered at an index that was confirmed after the read arrived, once that index is in the store,
 *       and only during the same leadership; or by the front, on a node that is alone (C32).
 *   C6  The front processes a report in order: catalog, revisions, answers. A client that knows a database can see it.
 *       A read after an answer is never older: it waits for a revision that was answered and has no rows yet.
 *   C7  The log may forget only what is durable in the store; state in the store after its last checkpoint is
 *       verified before it is used, and rebuilt where it is incomplete.
 *   C8  A deleted database stays marked as trash until none of its rows can come back.
 */

export { type Administer, type Administered, type Asker, actIn, refusalIn } from './admin/administered.ts';
export type { Administers, AdminReply, AdminRequest, AskAdmin } from './admin/administration.ts';
export { faultInOrder, type NodeOrder } from './admin/decommission.ts';
export type { ClusterDescription } from './admin/describe.ts';
export type { DrainOrder, UndrainOrder } from './admin/drain-order.ts';
export type { HeldCopy, RecoveredDatabase } from './admin/recover-order.ts';
export type { CorePorts } from './core/core-ports.ts';
export { CoreRuntime } from './core/core-runtime.ts';
export type { DatabaseQuota } from './front/database-quotas.ts';
export { EXIT_FATAL, type Isolate, stopProcess } from './front/fatal.ts';
export { FrontNode } from './front/front-node.ts';
export { type NodeOptions, startNode } from './front/start-node.ts';
export { preferredLeader } from './group/leader-balance.ts';
export { type CoreLimits, LIMITS } from './limits.ts';
export type { AppliedMark, CatalogMachine, Machine, MachineEntry, Machines } from './machine.ts';
export {
  type ClientAddresses,
  type Node,
  type NodeHealth,
  type NodeIdentity,
  ownReplica,
  type TransactOptions,
  type Unfinished,
} from './node.ts';
export {
  type Binding,
  type DefinitionOutcome,
  faultInRegistration,
  type KeyOutcome,
  type NodeRegistration,
  type NodeState,
  type Outcome,
  type RegisteredNode,
  rootOf,
  type StoredId,
  type TransactOutcome,
} from './outcome.ts';
export type { Belonging, Newcomer, NoAnswer } from './peer/belonging.ts';
export type { ForwardItem } from './peer/forward.ts';
export { beginFrame, FRAME_BYTES_MAX, type FrameHeader, type ReceivedHeader, readFrameHeader } from './peer/frame.ts';
export {
  type AskToJoin,
  type DialledAddress,
  type Joined,
  type JoinReply,
  type JoinRequest,
  joinCluster,
} from './peer/join.ts';
export type { Envelope } from './peer/links.ts';
export { carries, LANES, type Lane, type Peer, type PeerLinks } from './peer/links.ts';
export type { FrameFault, PeerNote, PeerObserver } from './peer/observer.ts';
export { type IncomingFrame, type OutgoingFrame, PeerCodec } from './peer/peer-codec.ts';
export { isStoreId, type PeerIdentity, type StoreId, toStoreId } from './peer/peer-identity.ts';
export { PeerMail, type Unheard } from './peer/peer-mail.ts';
export { noPeers, type Peers } from './peer/peers.ts';
export type { SnapshotLetter } from './peer/snapshot-letter.ts';
export type { SnapshotObserver } from './peer/snapshot-observer.ts';
export { catalogTarget } from './placement/catalog-voters.ts';
export type { ClusterPorts, Liveness, NodeView, PlacementView } from './placement/placement.ts';
export { type Placing, planPlacements } from './placement/placement-plan.ts';
export { spreadOver } from './placement/spread.ts';
export { DATABASE_DAMAGED, NODE_REMOVED } from './refusals.ts';
export { type Refounded, refound } from './rescue/refounding.ts';
export {
  type DatabaseToRestore,
  type Restored,
  type RestoredDatabase,
  restoreNode,
} from './rescue/restoring.ts';
export { openStoppedNode, type StoppedCopy, type StoppedNode, type StoppedPorts } from './rescue/stopped-node.ts';
export {
  acceptanceOf,
  faultInRefounding,
  type Survey,
  type SurveyedDatabase,
  surveyOf,
} from './rescue/survey.ts';
export { storeDirectoryOf } from './store/data-directory.ts';
export { BELONGS_NOWHERE } from './store/own-identity.ts';
export { forgetStarts } from './store/silent-ends.ts';
export { nativeCrc32, nativeRandom, nativeSha256, wallClock } from './system-ports.ts';
export { runCore } from './thread/core-worker.ts';
export type { OpenPeerLinks, PeerLinksOptions, PeerPort, PeerPortOptions } from './thread/peer-port.ts';

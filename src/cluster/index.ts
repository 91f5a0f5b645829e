/**
 * #cluster: the runtime of all Raft groups of one node.
 *
 * For: one group for the catalog and one for each database, driven from one loop; the way of a write from a proposal
 * to its outcome; read barriers; checkpoints, recovery, and the clearing of deleted databases. `startNode` spawns the
 * isolates and hands back a `Node`; everything in them also runs in one thread (`CoreRuntime` under a `FrontNode`),
 * which is how it is tested.
 *
 * Not here: what an entry means (#database), what a log record looks like (#storage), the algorithm (#raft), names,
 * limits of requests and who may do what (#service).
 *
 * Invariants:
 *   C1  What the groups of one turn persist goes to the log as one append, and each completion comes back to its group
 *       with the numbers of its own write.
 *   C2  A proposal that is taken in is answered once, or the process ends. A transaction that is committed, violated or
 *       too broad is answered when its entry is durable in the log and applied, perhaps before its rows are in the
 *       store; every other outcome when they are.
 *   C3  Entries are applied once, in the order of the log, and their rows are written with the applied row in one
 *       batch; recorded time never goes back within a database.
 *   C4  A deleted database's group is closed in the batch that deletes it: nothing is persisted, applied or answered
 *       for it afterwards, and its id is never used again.
 *   C5  `latest` is answered at an index that was confirmed after the read arrived, once that index is in the store,
 *       and only while the same leadership stands; or by the front, at a node that is alone (C32).
 *   C6  The front takes a report in order: catalog, revisions, answers. Whoever is told of a database can see it. What
 *       a read shows after an answer is not behind it: a revision that was answered and has no rows yet is waited for.
 *   C7  The log may forget only what the store holds durably; what the store claims beyond its last checkpoint is
 *       verified before it is believed, and rebuilt where it is not whole.
 *   C8  A deleted database stays marked as trash until none of its rows can come back.
 */

export { catalogTarget } from './catalog/catalog-voters.ts';
export { BELONGS_NOWHERE } from './catalog/own-identity.ts';
export type { CorePorts } from './core/core-ports.ts';
export { CoreRuntime } from './core/core-runtime.ts';
export { EXIT_FATAL, type Isolate, stopProcess } from './fatal.ts';
export type { DatabaseQuota } from './front/database-quotas.ts';
export { FrontNode, type FrontPorts } from './front/front-node.ts';
export type { CoreObserver, FrontObserver } from './front/observer.ts';
export { type SnapshotObserver, unobservedSnapshots } from './front/snapshot-observer.ts';
export { type NodeOptions, startNode } from './front/start-node.ts';
export { preferredLeader } from './group/leader-balance.ts';
export { type CoreLimits, LIMITS } from './limits.ts';
export type {
  AppliedMark,
  CatalogMachine,
  DurableMark,
  HeldMembership,
  KeyRange,
  Machine,
  MachineEntry,
  MachineNeed,
  Machines,
} from './machine.ts';
export { nativeCrc32, nativeRandom, nativeSha256, wallClock } from './native.ts';
export type {
  CatalogChange,
  CatalogMirror,
  ClientAddresses,
  Node,
  NodeHealth,
  NodeIdentity,
  TransactOptions,
  Unfinished,
  WaitOutcome,
  WriteOptions,
} from './node.ts';
export { faultInOrder, type NodeOrder } from './orders/decommission.ts';
export type { ClusterDescription } from './orders/describe.ts';
export type { DrainOrder, UndrainOrder } from './orders/drain-order.ts';
export {
  type Binding,
  type CreateOutcome,
  type DefinitionOutcome,
  type DeleteOutcome,
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
export { type Administer, type Administered, type Asker, actIn, refusalIn } from './peer/administered.ts';
export type { Administers, AdminReply, AdminRequest, AskAdmin } from './peer/administration.ts';
export type { AskBelonging, Belonging, Newcomer, NoAnswer } from './peer/belonging.ts';
export type { Envelope } from './peer/envelope.ts';
export type { ForwardItem } from './peer/forward.ts';
export {
  beginFrame,
  FRAME_BYTES_MAX,
  type FrameHeader,
  type ReceivedHeader,
  readFrameHeader,
} from './peer/frame.ts';
export {
  type AskToJoin,
  askThrough,
  type DialledAddress,
  type Founder,
  type Joined,
  type JoinPorts,
  type JoinReply,
  type JoinRequest,
  joinCluster,
} from './peer/join.ts';
export {
  carries,
  LANES,
  type Lane,
  type OpenPeerLinks,
  type Peer,
  type PeerLinks,
  type PeerLinksOptions,
  type PeerPort,
  type PeerPortOptions,
} from './peer/links.ts';
export type { FrameFault, PeerNote, PeerObserver } from './peer/observer.ts';
export { type IncomingFrame, type OutgoingFrame, PeerCodec, type PeerCodecParts } from './peer/peer-codec.ts';
export { PeerMail, type PeerMailParts, type PeerReceiver, type Unheard } from './peer/peer-mail.ts';
export { isNodeId, isStoreId, type NodeId, type NodePlace, type StoreId, toNodeId, toStoreId } from './peer/place.ts';
export type { SnapshotLetter } from './peer/snapshot-letter.ts';
export { noPeers, type Peers } from './peers.ts';
export {
  type ClusterPorts,
  clusterOf,
  type Liveness,
  type NodeView,
  type Placement,
  type PlacementView,
  type Upkeep,
} from './placement/placement.ts';
export { type Placing, planPlacements } from './placement/placement-plan.ts';
export { spreadOver } from './placement/spread.ts';
export { NODE_REMOVED } from './requests/refusals.ts';
export type { HeldCopy, RecoveredDatabase, RecoveryOrder } from './rescue/recover-order.ts';
export { type Refounded, type RefoundingPorts, refound } from './rescue/refounding.ts';
export { openStoppedNode, type StoppedNode, type StoppedPorts } from './rescue/stopped-node.ts';
export {
  acceptanceOf,
  faultInRefounding,
  type LostDatabase,
  type Survey,
  type SurveyedDatabase,
  surveyOf,
} from './rescue/survey.ts';
export type { CheckedPart, StateExport, StateImport, StatePart } from './snapshots/state-transfer.ts';
export { storeDirectoryOf } from './store/data-directory.ts';
export { sentenceOnStoreLogs } from './store/store-logs.ts';
export type { LinksOrder } from './thread/core-thread-messages.ts';
export { type CoreParts, runCore } from './thread/core-worker.ts';

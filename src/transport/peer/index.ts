/**
 * The links between the nodes of a cluster: `PeerLinks` of #cluster on a port of its own, which also serves gRPC to
 * nodes and operators. It has its own entry point (#transport/peer), because it runs beside the core, where no other
 * transport is loaded.
 *
 * Invariants:
 *   TP1  Frames of a lane to one node arrive in the order in which they were sent, each once, or they are lost with the
 *        connection of the lane.
 *   TP2  The queue of each lane of a node is bounded: further frames are refused. Lanes do not wait for one another.
 *   TP3  A frame from another cluster, for another node or store, or from a node with an unexpected store is dropped
 *        and counted; no node is mistaken for another.
 *   TP4  A node that no lane reaches any more is reported once, as soon as the connections break or do not answer a
 *        ping.
 *   TP5  A node that may send to this one is answered: a sender that is unknown, or is not reached at its address in
 *        the catalog, is dialled at its announced address while it sends.
 *   TP6  Creating a link never throws, whatever the address of the node is: such a node is not reached.
 *   TP7  The frames of a stream come from the node that opened it, with content of its lane; others are dropped and
 *        counted by fault.
 *   TP8  The receiver of frames may delay the next ones: then they are not read, and the bytes in flight are bounded by
 *        the queue of the sender (TP2) and by the sockets.
 *   TP9  Each node has one stream here for each lane, the last that it opened; few nodes outside the catalog have any.
 *        So each node of the catalog has its streams, however often connections break and others connect.
 *   TP10 Damage in transit costs the frame, or the connection, at once: a damaged hello, answer or head of a record is
 *        detected.
 *   TP11 Where TLS is required, a client without a valid certificate of the authority of peers gets only a refusal, and
 *        nothing of it is read. A silent client uses no slot of served connections.
 *   TP12 A node never accepts two processes with copies of one data directory: it accepts the first, until its
 *        connections have closed or were silent for 10 s. In its first 10 s it is replaced by a process at the address
 *        in the catalog, so that nodes that start accept the same one. The other process sends nothing to any node,
 *        and ends after refusals for 30 s.
 */

export {
  askAdmin,
  askAdminAsClient,
  askBelonging,
  askForCluster,
  askToJoin,
  type ClientAccess,
  refusalAt,
} from './asking.ts';
export type { PeerLimits } from './limits.ts';
export { openPeerPort } from './peer-port.ts';
export { type PeerSecret, PeerTls, type PeerTlsMaterial, type PeerTlsMode } from './peer-tls.ts';

/**
 * The links between the nodes of a cluster: `PeerLinks` of #cluster on a port of its own, where nodes and operators ask
 * by gRPC, too. It has a door of its own (#transport/peer), because it runs beside the core, where nothing of the other
 * transports is loaded.
 *
 * Invariants:
 *   TP1  Frames of a lane to one node arrive in the order in which they were taken, each once, or they are lost with
 *        the connection of the lane.
 *   TP2  What waits for a node is bounded for each lane, and a lane waits for no other: a frame more is refused.
 *   TP3  What comes from another cluster, is for another node or store, or from a node with another store than is
 *        known, is dropped and counted; no other node is taken for one that is reached.
 *   TP4  A node that was reached and is not any more, by any lane, is reported once, as soon as the connections break
 *        or do not answer a ping.
 *   TP5  A node that may send to this one is answered: an unknown sender is dialled where it says that it
 *        listens, as long as it sends.
 *   TP6  Whatever stands for the place of a node, making its link throws nothing: it is a node that is not reached.
 *   TP7  The frames of a stream are of the node that opened it, and hold what its lane carries; others are dropped and
 *        counted by what is wrong with them.
 *   TP8  The receiver of frames may have the next ones wait: then they are not read, and what is on its way is bounded by
 *        what its sender may have waiting (TP2) and by the sockets.
 *   TP9  Each node has one stream here for each lane, the last that it opened; few nodes outside the catalog have any.
 *        So each node of the catalog has its streams, however often connections break and others connect.
 *   TP10 Damage on the way costs the frame that it hits, or the connection, at once: a greeting, an answer or the head
 *        of a record that is damaged is not believed.
 *   TP11 Where TLS is required, a client without a valid certificate of the authority of peers gets only a refusal, and
 *        nothing of it is read. A silent client takes no place of those that are served.
 *   TP12 Two processes with one data directory, of which one is a copy, are never both accepted by a node: the first one
 *        is, until its connections have closed, or are silent for 10 s. The other one sends nothing to any node, and
 *        ends when it was refused for 30 s.
 */

export type { ClientAccess } from './asking.ts';
export { askAdmin, askAdminAsClient, askBelonging, askForCluster, askToJoin, refusalAt } from './lazy-asking.ts';
export { openPeerLinks, openPeerPort } from './lazy-links.ts';
export type { PeerLimits } from './limits.ts';
export {
  type PeerCertificates,
  type PeerSecret,
  PeerTls,
  type PeerTlsMaterial,
  type PeerTlsMode,
} from './peer-tls.ts';

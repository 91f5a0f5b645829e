/** The messages of cairn.peer.v1 (proto/cairn/peer/v1/peer.proto). Readers accept any bytes and report faults. */
import {
  failure,
  formatAddress,
  isNodeId,
  isReplicaId,
  ok,
  parseAddress,
  parseUuid,
  quote,
  type Result,
  toNodeId,
} from '#base';
import {
  type Belonging,
  faultInRegistration,
  isStoreId,
  type JoinReply,
  type JoinRequest,
  type Peer,
  toStoreId,
} from '#cluster';
import {
  type PeerNode,
  PingReply,
  JoinReply as SentJoinReply,
  JoinRequest as SentJoinRequest,
} from '../../../proto/gen/cairn/peer/v1/peer.ts';
import { decoded } from '../request-reader.ts';

export const PING = '/cairn.peer.v1.PeerExchange/Ping';
export const JOIN = '/cairn.peer.v1.PeerExchange/Join';

/** The character by which a decoder replaces bytes that are no UTF-8. */
const NO_UTF8 = '\uFFFD';
const TEXT_LENGTH_MAX = 1_024;
const PORT_MAX = 65_535;
const FOUNDERS_MAX = 16;
const NODES_MAX = 10_000;
/** More addresses than any node names. */
const SEEDS_MAX = 1_000;

/** A PingReply: the cluster of the answering node, or its state when it belongs to none. */
export function writePong(belonging: Belonging): Uint8Array {
  const own =
    belonging.kind === 'new'
      ? { storeId: belonging.storeId, mayFound: belonging.mayFound, seeds: belonging.seeds }
      : { clusterId: belonging.kind === 'member' ? belonging.clusterId : '' };
  return PingReply.encode(PingReply.fromPartial(own)).finish();
}

/** Reads a PingReply; an invalid one is read as that of a starting node. */
export function readPong(message: Uint8Array): Belonging {
  const reply = decoded(PingReply, message);
  if (reply === undefined) return { kind: 'starting' };
  const { clusterId, storeId, mayFound, seeds } = reply;
  if (clusterId !== '') return { kind: 'member', clusterId };
  return storeId === '' ? { kind: 'starting' } : { kind: 'new', storeId, mayFound, seeds: seeds.slice(0, SEEDS_MAX) };
}

export function writeJoinRequest({ clusterId = '', registration, release, run }: JoinRequest): Uint8Array {
  const { peer, mcp = '', levels, ...same } = registration;
  const own = { ...same, ...peer, mcp, levelMin: levels.min, levelMax: levels.max };
  return SentJoinRequest.encode({ clusterId, ...own, release, run }).finish();
}

/** Reads the ids in lowercase. The registering node checks the other fields. */
export function readJoinRequest(message: Uint8Array): Result<JoinRequest, string> {
  const sent = decoded(SentJoinRequest, message);
  const texts = Object.values(sent ?? {}).map(String);
  if (sent === undefined || texts.some((text) => text.includes(NO_UTF8))) return failure('the request is malformed');
  const longest = Math.max(...texts.map(({ length }) => length));
  if (longest > TEXT_LENGTH_MAX)
    return failure(`a text of the request has ${longest} characters, ${TEXT_LENGTH_MAX} may be`);
  const { name, zone, host, port, grpc, http, mcp, levelMin, levelMax, isLearner, release, run } = sent;
  const storeId = sent.storeId.toLowerCase();
  const clusterId = sent.clusterId === '' ? undefined : sent.clusterId.toLowerCase();
  if (!isStoreId(storeId)) return failure(`the store_id ${quote(storeId)} is not a UUID`);
  if (clusterId !== undefined && parseUuid(clusterId) === undefined) {
    return failure(`the cluster_id ${quote(clusterId)} is not a UUID`);
  }
  if (port > PORT_MAX) return failure(`the port ${port} is above ${PORT_MAX}`);
  const clients = { grpc, http, ...(mcp !== '' && { mcp }) };
  const levels = { min: levelMin, max: levelMax };
  const registration = { storeId, name, zone, peer: { host, port }, ...clients, levels, isLearner };
  const fault = faultInRegistration(registration);
  return fault === undefined ? ok({ clusterId, registration, release, run }) : failure(fault);
}

export function writeJoinReply(reply: JoinReply): Uint8Array {
  return SentJoinReply.encode(SentJoinReply.fromPartial(sentReply(reply))).finish();
}

function sentReply(reply: JoinReply): Partial<SentJoinReply> {
  switch (reply.kind) {
    case 'joined': {
      const { clusterId, node, founders, nodes } = reply;
      return { clusterId, node, founders, nodes: nodes.map(({ store, ...peer }) => ({ ...peer, storeId: store })) };
    }
    case 'elsewhere':
      return { leader: formatAddress(reply.leader) };
    case 'later':
      return { later: reply.reason };
    case 'refused':
      return { refused: reply.reason };
    case 'removed':
      // Earlier releases read `refused` only.
      return { refused: `node ${reply.node} was removed`, removed: reply.node };
  }
}

/** Reads a malformed reply as `later`, because the answering node may run another release. */
export function readJoinReply(message: Uint8Array): JoinReply {
  const sent = decoded(SentJoinReply, message);
  if (sent === undefined) return { kind: 'later', reason: 'the answer is malformed' };
  const { clusterId, node, removed, refused, later, leader } = sent;
  if (isNodeId(removed)) return { kind: 'removed', node: removed };
  if (refused !== '') return { kind: 'refused', reason: refused };
  if (later !== '') return { kind: 'later', reason: later };
  if (leader !== '') {
    const address = parseAddress(leader);
    if (address === undefined) return { kind: 'later', reason: 'the answer names no address of a leader' };
    return { kind: 'elsewhere', leader: address };
  }
  const founders = sent.founders.filter(isReplicaId);
  const nodes = sent.nodes.flatMap(peerIn);
  const isWhole = founders.length === sent.founders.length && nodes.length === sent.nodes.length;
  if (!isWhole || founders.length > FOUNDERS_MAX || nodes.length > NODES_MAX) {
    return { kind: 'later', reason: 'the answer is malformed' };
  }
  if (parseUuid(clusterId) === undefined || !isNodeId(node) || founders.length === 0) {
    return { kind: 'later', reason: 'the answer names no node of a cluster' };
  }
  return { kind: 'joined', clusterId, node, founders, nodes };
}

function peerIn({ node, storeId, host, port }: PeerNode): readonly Peer[] {
  const isPeer = isNodeId(node) && isStoreId(storeId) && port >= 1 && port <= PORT_MAX;
  return isPeer ? [{ node: toNodeId(node), store: toStoreId(storeId.toLowerCase()), host, port }] : [];
}

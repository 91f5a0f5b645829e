/** The messages of PeerExchange/Join (proto/cairn/peer/v1/peer.proto). Readers accept any bytes and report faults. */
import {
  type Address,
  ByteWriter,
  beginMessage,
  decodeUtf8,
  failure,
  formatAddress,
  isNodeId,
  isReplicaId,
  ok,
  ProtoReader,
  parseAddress,
  parseUuid,
  quote,
  type ReplicaId,
  type Result,
  toNodeId,
  unreachable,
  writeTextField,
  writeVarintField,
} from '#base';
import { faultInRegistration, isStoreId, type JoinReply, type JoinRequest, type Peer, toStoreId } from '#cluster';

const REQUEST = {
  STORE_ID: 1,
  CLUSTER_ID: 2,
  NAME: 3,
  ZONE: 4,
  HOST: 5,
  PORT: 6,
  GRPC: 7,
  HTTP: 8,
  RELEASE: 9,
  LEVEL_MIN: 10,
  LEVEL_MAX: 11,
  MCP: 12,
  RUN: 13,
} as const;
const REPLY = { CLUSTER_ID: 1, NODE: 2, FOUNDERS: 3, NODES: 4, LEADER: 5, LATER: 6, REFUSED: 7, REMOVED: 8 } as const;
const PEER = { NODE: 1, STORE_ID: 2, HOST: 3, PORT: 4 } as const;

/** A field with another wire type comes from a later release. */
const TEXTS: ReadonlySet<number> = new Set([
  REQUEST.STORE_ID,
  REQUEST.CLUSTER_ID,
  REQUEST.NAME,
  REQUEST.ZONE,
  REQUEST.HOST,
  REQUEST.GRPC,
  REQUEST.HTTP,
  REQUEST.RELEASE,
  REQUEST.MCP,
]);
const TEXT_BYTES_MAX = 1_024;
const PORT_MAX = 65_535;
const FOUNDERS_MAX = 16;
const NODES_MAX = 10_000;
const WIRE_TYPES = 8;

export function writeJoinRequest({ clusterId, registration, release, run }: JoinRequest): Buffer {
  const { storeId, name, zone, peer, grpc, http, mcp, levels } = registration;
  const writer = new ByteWriter();
  writeTextField(writer, REQUEST.STORE_ID, storeId);
  if (clusterId !== undefined) writeTextField(writer, REQUEST.CLUSTER_ID, clusterId);
  writeTextField(writer, REQUEST.NAME, name);
  writeTextField(writer, REQUEST.ZONE, zone);
  writeTextField(writer, REQUEST.HOST, peer.host);
  writeVarintField(writer, REQUEST.PORT, peer.port);
  writeTextField(writer, REQUEST.GRPC, grpc);
  writeTextField(writer, REQUEST.HTTP, http);
  writeTextField(writer, REQUEST.RELEASE, release);
  writeVarintField(writer, REQUEST.LEVEL_MIN, levels.min);
  writeVarintField(writer, REQUEST.LEVEL_MAX, levels.max);
  if (mcp !== undefined) writeTextField(writer, REQUEST.MCP, mcp);
  writeVarintField(writer, REQUEST.RUN, run);
  return Buffer.from(writer.view());
}

/** Reads the ids in lowercase. The registering node checks the other fields. */
export function readJoinRequest(message: Uint8Array): Result<JoinRequest, string> {
  const reader = new ProtoReader(message);
  const texts = new Map<number, string>();
  let [port, run] = [0, 0];
  const levels = { min: 0, max: 0 };
  while (!reader.done) {
    const tag = reader.tag();
    const field = Math.floor(tag / WIRE_TYPES);
    if (tag === REQUEST.PORT * WIRE_TYPES) port = reader.varint();
    else if (tag === REQUEST.RUN * WIRE_TYPES) run = reader.varint();
    else if (tag === REQUEST.LEVEL_MIN * WIRE_TYPES) levels.min = reader.varint();
    else if (tag === REQUEST.LEVEL_MAX * WIRE_TYPES) levels.max = reader.varint();
    else if (tag % WIRE_TYPES === 2 && TEXTS.has(field)) texts.set(field, readText(reader));
    else reader.skipField(tag);
  }
  const text = (field: number): string => texts.get(field) ?? '';
  if (reader.failed) return failure('the request is malformed');
  const long = [...texts.values()].find((each) => each.length > TEXT_BYTES_MAX);
  if (long !== undefined)
    return failure(`a text of the request has ${long.length} characters, ${TEXT_BYTES_MAX} may be`);
  const storeId = text(REQUEST.STORE_ID).toLowerCase();
  const clusterId = texts.get(REQUEST.CLUSTER_ID)?.toLowerCase();
  if (!isStoreId(storeId)) return failure(`the store_id ${quote(storeId)} is not a UUID`);
  if (clusterId !== undefined && parseUuid(clusterId) === undefined) {
    return failure(`the cluster_id ${quote(clusterId)} is not a UUID`);
  }
  if (port > PORT_MAX) return failure(`the port ${port} is above ${PORT_MAX}`);
  const peer = { host: text(REQUEST.HOST), port };
  const mcp = texts.get(REQUEST.MCP);
  const clients = { grpc: text(REQUEST.GRPC), http: text(REQUEST.HTTP), ...(mcp !== undefined && { mcp }) };
  const registration = { storeId, name: text(REQUEST.NAME), zone: text(REQUEST.ZONE), peer, ...clients, levels };
  const fault = faultInRegistration(registration);
  if (fault !== undefined) return failure(fault);
  return ok({ clusterId, registration, release: text(REQUEST.RELEASE), run });
}

export function writeJoinReply(reply: JoinReply): Buffer {
  const writer = new ByteWriter();
  switch (reply.kind) {
    case 'joined':
      writeTextField(writer, REPLY.CLUSTER_ID, reply.clusterId);
      writeVarintField(writer, REPLY.NODE, reply.node);
      for (const founder of reply.founders) writeVarintField(writer, REPLY.FOUNDERS, founder);
      for (const peer of reply.nodes) writePeer(writer, peer);
      break;
    case 'elsewhere':
      writeTextField(writer, REPLY.LEADER, formatAddress(reply.leader));
      break;
    case 'later':
      writeTextField(writer, REPLY.LATER, reply.reason);
      break;
    case 'refused':
      writeTextField(writer, REPLY.REFUSED, reply.reason);
      break;
    case 'removed':
      // Earlier releases read this field only.
      writeTextField(writer, REPLY.REFUSED, `node ${reply.node} was removed`);
      writeVarintField(writer, REPLY.REMOVED, reply.node);
      break;
    default:
      unreachable(reply);
  }
  return Buffer.from(writer.view());
}

/** Reads a malformed reply as `later`, because the answering node may run another release. */
export function readJoinReply(message: Buffer): JoinReply {
  const reader = new ProtoReader(message);
  const texts = new Map<number, string>();
  const founders: ReplicaId[] = [];
  const nodes: Peer[] = [];
  let [node, removed] = [0, 0];
  while (!reader.done) {
    const tag = reader.tag();
    const field = Math.floor(tag / WIRE_TYPES);
    if (tag === REPLY.NODE * WIRE_TYPES) node = reader.varint();
    else if (tag === REPLY.REMOVED * WIRE_TYPES) removed = reader.varint();
    else if (tag === REPLY.FOUNDERS * WIRE_TYPES) readFounder(reader, founders);
    else if (tag === REPLY.NODES * WIRE_TYPES + 2) readPeerInto(reader, nodes);
    else if (tag % WIRE_TYPES === 2 && field <= REPLY.REFUSED) texts.set(field, readText(reader));
    else reader.skipField(tag);
  }
  const clusterId = texts.get(REPLY.CLUSTER_ID);
  const [leader, later, refused] = [texts.get(REPLY.LEADER), texts.get(REPLY.LATER), texts.get(REPLY.REFUSED)];
  if (reader.failed) return { kind: 'later', reason: 'the answer is malformed' };
  if (isNodeId(removed)) return { kind: 'removed', node: removed };
  if (refused !== undefined) return { kind: 'refused', reason: refused };
  if (later !== undefined) return { kind: 'later', reason: later };
  if (leader !== undefined) return elsewhere(parseAddress(leader));
  if (clusterId === undefined || parseUuid(clusterId) === undefined || !isNodeId(node) || founders.length === 0) {
    return { kind: 'later', reason: 'the answer names no node of a cluster' };
  }
  return { kind: 'joined', clusterId, node, founders, nodes };
}

function elsewhere(leader: Address | undefined): JoinReply {
  if (leader === undefined) return { kind: 'later', reason: 'the answer names no address of a leader' };
  return { kind: 'elsewhere', leader };
}

function writePeer(writer: ByteWriter, { node, store, host, port }: Peer): void {
  const mark = beginMessage(writer, REPLY.NODES);
  writeVarintField(writer, PEER.NODE, node);
  writeTextField(writer, PEER.STORE_ID, store);
  writeTextField(writer, PEER.HOST, host);
  writeVarintField(writer, PEER.PORT, port);
  writer.endLength(mark);
}

function readFounder(reader: ProtoReader, founders: ReplicaId[]): void {
  const founder = reader.varint();
  if (isReplicaId(founder) && founders.length < FOUNDERS_MAX) founders.push(founder);
  else reader.fail();
}

function readPeerInto(outer: ProtoReader, nodes: Peer[]): void {
  const start = outer.lengthDelimited();
  const reader = new ProtoReader(outer.bytes, start, outer.at);
  let [node, store, host, port] = [0, '', '', 0];
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === PEER.NODE * WIRE_TYPES) node = reader.varint();
    else if (tag === PEER.STORE_ID * WIRE_TYPES + 2) store = readText(reader);
    else if (tag === PEER.HOST * WIRE_TYPES + 2) host = readText(reader);
    else if (tag === PEER.PORT * WIRE_TYPES) port = reader.varint();
    else reader.skipField(tag);
  }
  const isPeer = isNodeId(node) && isStoreId(store) && port >= 1 && port <= PORT_MAX && nodes.length < NODES_MAX;
  if (isPeer && !reader.failed) nodes.push({ node: toNodeId(node), store: toStoreId(store.toLowerCase()), host, port });
  else outer.fail();
}

function readText(reader: ProtoReader): string {
  const start = reader.lengthDelimited();
  const text = decodeUtf8(reader.bytes, start, reader.at);
  if (text === undefined) reader.fail();
  return text ?? '';
}

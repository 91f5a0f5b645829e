/**
 * The payloads of the catalog's log entries (docs/formats/entries.md); those of databases are in #model.
 *
 * ```
 * u8 format = 1, 3 of API keys and of a registration with mcp, 6 of a key that bounds databases | u8 kind | …
 * kind 16  create database:  16 bytes database_id | u64 LE created_at ms | varint count, each varint replica
 *                            | varint length | name
 * kind 17  delete database:  u8 has id | [16 bytes database_id] | varint length | name
 * kind 18  recover database: see catalog-recovery.ts
 * kind 21  mark node:        varint node | u8 state, as in the row of the nodes
 * kind 24  place database:   varint group | varint placement | varint count, each varint node
 * kind 25  placed database:  varint group | varint placement
 * kind 26  register node:    registration (catalog-nodes.ts)
 * kind 27  raise level:      varint level
 * kind 28  keep API key:     key (#model, api-key.ts)
 * kind 29  remove API key:   8 bytes id
 * ```
 * An unknown format or kind was written by a later release. Ignoring it would make replicas differ, so it stops the
 * node (D9).
 */
import {
  ByteReader,
  ByteWriter,
  DatabaseError,
  type DatabaseId,
  encodeUtf8,
  formatUuid,
  type GroupId,
  isDatabaseId,
  isGroupId,
  isLevelRange,
  isNodeId,
  isReplicaId,
  type NodeId,
  parseUuid,
  type ReplicaId,
} from '#base';
import { type ApiKey, boundsDatabases, PAYLOAD_FORMAT, readApiKey, readKeyId, writeApiKey, writeKeyId } from '#model';
import {
  type NodeRegistration,
  type NodeState,
  readNodeState,
  readRegistration,
  speaksOfMcp,
  writeNodeState,
  writeRegistration,
} from './catalog-nodes.ts';
import { type RecoverEntry, readRecoverEntry, writeRecoverEntry } from './catalog-recovery.ts';

const ENTRY_KIND = {
  CREATE_DATABASE: 16,
  DELETE_DATABASE: 17,
  RECOVER_DATABASE: 18,
  MARK_NODE: 21,
  PLACE_DATABASE: 24,
  PLACED_DATABASE: 25,
  REGISTER_NODE: 26,
  RAISE_LEVEL: 27,
  KEEP_KEY: 28,
  REMOVE_KEY: 29,
} as const;
/** Format of entries with API keys or addresses of MCP, which releases up to level 2 do not know. */
const LATER_FORMAT = 3;
/** Format of an API key whose grants limit the number of databases. */
const BOUNDED_FORMAT = 6;
const UUID_BYTES = 16;

export type CatalogEntry =
  | DatabaseEntry
  | PlacementEntry
  | RecoverEntry
  | KeyEntry
  /** The node is in this state from now on, if it may come to it. */
  | { readonly kind: 'mark'; readonly node: NodeId; readonly state: NodeState }
  /** The store gets a number if it has none, and is where it says from now on. */
  | { readonly kind: 'register'; readonly registration: NodeRegistration }
  /** The cluster is at this level from now on, if it is higher and every node knows it. */
  | { readonly kind: 'raise'; readonly level: number };

/** `placement` is the number that the proposer has seen: the entry counts if it is still current. */
type PlacementEntry =
  /** The nodes that are to hold the database: at least one, each once. */
  | { readonly kind: 'place'; readonly group: GroupId; readonly placement: number; readonly nodes: readonly NodeId[] }
  /** The group is what the placement wants it to be. */
  | { readonly kind: 'placed'; readonly group: GroupId; readonly placement: number };

type KeyEntry =
  /** The key is as this says from now on, if its version follows the current version. */
  { readonly kind: 'keep-key'; readonly key: ApiKey } | { readonly kind: 'remove-key'; readonly id: string };

type DatabaseEntry =
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly databaseId: DatabaseId;
      readonly createdAtMs: number;
      /** The voters that its group begins with. At least one. */
      readonly replicas: readonly ReplicaId[];
    }
  | { readonly kind: 'delete'; readonly name: string; readonly databaseId?: DatabaseId };

export function encodeCatalogEntry(entry: CatalogEntry): Uint8Array {
  const payload = new ByteWriter(64);
  if (entry.kind === 'keep-key' || entry.kind === 'remove-key') {
    writeKeyEntry(payload, entry);
    return payload.take();
  }
  if (entry.kind === 'register') {
    const hasMcp = speaksOfMcp(entry.registration);
    payload.u8(hasMcp ? LATER_FORMAT : PAYLOAD_FORMAT);
    payload.u8(ENTRY_KIND.REGISTER_NODE);
    writeRegistration(payload, entry.registration, { hasMcp });
    return payload.take();
  }
  payload.u8(PAYLOAD_FORMAT);
  if (entry.kind === 'mark') {
    payload.u8(ENTRY_KIND.MARK_NODE);
    payload.varint(entry.node);
    writeNodeState(payload, entry.state);
  } else if (entry.kind === 'recover') {
    payload.u8(ENTRY_KIND.RECOVER_DATABASE);
    writeRecoverEntry(payload, entry);
  } else if (entry.kind === 'raise') {
    payload.u8(ENTRY_KIND.RAISE_LEVEL);
    payload.varint(entry.level);
  } else if (entry.kind === 'place' || entry.kind === 'placed') writePlacement(payload, entry);
  else writeDatabaseEntry(payload, entry);
  return payload.take();
}

function writeKeyEntry(payload: ByteWriter, entry: KeyEntry): void {
  payload.u8(entry.kind === 'keep-key' && boundsDatabases(entry.key) ? BOUNDED_FORMAT : LATER_FORMAT);
  payload.u8(entry.kind === 'keep-key' ? ENTRY_KIND.KEEP_KEY : ENTRY_KIND.REMOVE_KEY);
  if (entry.kind === 'keep-key') writeApiKey(payload, entry.key);
  else writeKeyId(payload, entry.id);
}

function writeDatabaseEntry(payload: ByteWriter, entry: DatabaseEntry): void {
  if (entry.kind === 'create') {
    payload.u8(ENTRY_KIND.CREATE_DATABASE);
    payload.bytes(bytesOfUuid(entry.databaseId));
    payload.u64le(entry.createdAtMs);
    writeReplicas(payload, entry.replicas);
  } else {
    payload.u8(ENTRY_KIND.DELETE_DATABASE);
    payload.u8(entry.databaseId === undefined ? 0 : 1);
    if (entry.databaseId !== undefined) payload.bytes(bytesOfUuid(entry.databaseId));
  }
  const name = encodeUtf8(entry.name);
  payload.varint(name.length);
  payload.bytes(name);
}

function writePlacement(payload: ByteWriter, entry: PlacementEntry): void {
  payload.u8(entry.kind === 'place' ? ENTRY_KIND.PLACE_DATABASE : ENTRY_KIND.PLACED_DATABASE);
  payload.varint(entry.group);
  payload.varint(entry.placement);
  if (entry.kind === 'placed') return;
  payload.varint(entry.nodes.length);
  for (const node of entry.nodes) payload.varint(node);
}

/** Throws for a payload that is not a catalog entry of this format. */
export function readCatalogEntry(payload: Uint8Array): CatalogEntry {
  if (payload[0] === LATER_FORMAT) return readLaterEntry(new ByteReader(payload, 1));
  if (payload[0] === BOUNDED_FORMAT) return readBoundedKey(new ByteReader(payload, 1));
  const reader = openEntry(payload);
  const kind = reader.u8();
  if (kind === ENTRY_KIND.REGISTER_NODE) return readRegister(reader, { hasMcp: false });
  if (kind === ENTRY_KIND.MARK_NODE) return readMark(reader);
  if (kind === ENTRY_KIND.RECOVER_DATABASE) return readRecover(reader);
  if (kind === ENTRY_KIND.RAISE_LEVEL) return readRaise(reader);
  if (kind === ENTRY_KIND.PLACE_DATABASE || kind === ENTRY_KIND.PLACED_DATABASE) return readPlacement(reader, kind);
  if (kind !== ENTRY_KIND.CREATE_DATABASE && kind !== ENTRY_KIND.DELETE_DATABASE) {
    throw unknownEntry(`kind ${kind} is none of the catalog`);
  }
  const hasId = kind === ENTRY_KIND.CREATE_DATABASE || reader.u8() === 1;
  const databaseId = hasId ? readDatabaseId(reader) : undefined;
  const createdAtMs = kind === ENTRY_KIND.CREATE_DATABASE ? reader.u64le() : 0;
  const replicas = kind === ENTRY_KIND.CREATE_DATABASE ? readReplicas(reader) : [];
  const name = reader.utf8(reader.varint());
  if (reader.failed || reader.left !== 0 || name === '') throw unknownEntry('it is cut short or malformed');
  if (kind === ENTRY_KIND.DELETE_DATABASE) return { kind: 'delete', name, ...(databaseId && { databaseId }) };
  if (databaseId === undefined) throw unknownEntry('its database_id is not a UUIDv7');
  if (replicas.length === 0) throw unknownEntry('it names no replica that holds the database');
  return { kind: 'create', name, databaseId, createdAtMs, replicas };
}

/** Entries that only the leader makes, from requests. */
const LEADERS_OWN: ReadonlySet<CatalogEntry['kind']> = new Set(['create', 'recover', 'register', 'mark', 'raise']);

/**
 * The fault of a payload that another node proposes as an entry of the catalog, or undefined. It may delete or place a
 * database; only the leader makes entries of databases, nodes and levels, from requests.
 */
export function faultInForwardedEntry(payload: Uint8Array): string | undefined {
  try {
    const { kind } = readCatalogEntry(payload);
    const isOwn = LEADERS_OWN.has(kind);
    return isOwn ? `an entry to ${kind} is the leader's own to make` : undefined;
  } catch (failure) {
    if (failure instanceof DatabaseError) return failure.message;
    throw failure;
  }
}

function readLaterEntry(reader: ByteReader): CatalogEntry {
  const kind = reader.u8();
  if (kind === ENTRY_KIND.REGISTER_NODE) return readRegister(reader, { hasMcp: true });
  const key = kind === ENTRY_KIND.KEEP_KEY ? readApiKey(reader) : undefined;
  const id = kind === ENTRY_KIND.REMOVE_KEY ? readKeyId(reader) : undefined;
  if (reader.failed || reader.left !== 0) throw unknownEntry('it is cut short or malformed');
  if (key !== undefined && !boundsDatabases(key)) return { kind: 'keep-key', key };
  if (id !== undefined) return { kind: 'remove-key', id };
  throw unknownEntry(`kind ${kind} is none of format ${LATER_FORMAT}, or it is malformed`);
}

function readBoundedKey(reader: ByteReader): CatalogEntry {
  const key = reader.u8() === ENTRY_KIND.KEEP_KEY ? readApiKey(reader) : undefined;
  if (key !== undefined && boundsDatabases(key) && reader.left === 0) return { kind: 'keep-key', key };
  throw unknownEntry(`it is no API key of format ${BOUNDED_FORMAT}, or it is malformed`);
}

function readRegister(reader: ByteReader, form: { readonly hasMcp: boolean }): CatalogEntry {
  const registration = readRegistration(reader, form);
  const isWhole = registration !== undefined && speaksOfMcp(registration) === form.hasMcp && reader.left === 0;
  if (!isWhole) throw unknownEntry('it is cut short or malformed');
  return { kind: 'register', registration };
}

function readRecover(reader: ByteReader): CatalogEntry {
  const entry = readRecoverEntry(reader);
  if (entry === undefined) throw unknownEntry('it is cut short or malformed');
  return entry;
}

function readMark(reader: ByteReader): CatalogEntry {
  const node = reader.varint();
  const state = readNodeState(reader);
  if (reader.failed || reader.left !== 0 || !isNodeId(node) || state === undefined) {
    throw unknownEntry('it is cut short or malformed');
  }
  return { kind: 'mark', node, state };
}

function readRaise(reader: ByteReader): CatalogEntry {
  const level = reader.varint();
  if (reader.failed || reader.left !== 0 || !isLevelRange({ min: level, max: level })) {
    throw unknownEntry('it is cut short or malformed');
  }
  return { kind: 'raise', level };
}

function readPlacement(reader: ByteReader, kind: number): CatalogEntry {
  const group = reader.varint();
  const placement = reader.varint();
  const nodes = kind === ENTRY_KIND.PLACE_DATABASE ? readList(reader, isNodeId) : [];
  if (reader.failed || reader.left !== 0 || !isGroupId(group)) throw unknownEntry('it is cut short or malformed');
  if (kind === ENTRY_KIND.PLACED_DATABASE) return { kind: 'placed', group, placement };
  if (nodes.length === 0 || new Set(nodes).size < nodes.length) {
    throw unknownEntry('it places a database on no node, or on one twice');
  }
  return { kind: 'place', group, placement, nodes };
}

export function writeReplicas(into: ByteWriter, replicas: readonly ReplicaId[]): void {
  into.varint(replicas.length);
  for (const replica of replicas) into.varint(replica);
}

/** For invalid bytes the reader has failed. */
export function readReplicas(reader: ByteReader): readonly ReplicaId[] {
  return readList(reader, isReplicaId);
}

function readList<Id extends number>(reader: ByteReader, isId: (value: number) => value is Id): readonly Id[] {
  const count = reader.varint();
  const ids: Id[] = [];
  while (ids.length < count && !reader.failed) {
    const id = reader.varint();
    if (isId(id)) ids.push(id);
    else reader.skip(reader.left + 1);
  }
  return ids;
}

function openEntry(payload: Uint8Array): ByteReader {
  const reader = new ByteReader(payload);
  const format = reader.u8();
  if (format !== PAYLOAD_FORMAT)
    throw unknownEntry(`format ${format} is unknown here, ${PAYLOAD_FORMAT} would be known`);
  return reader;
}

function readDatabaseId(reader: ByteReader): DatabaseId | undefined {
  const bytes = reader.bytes(UUID_BYTES);
  const text = bytes.length === UUID_BYTES ? formatUuid(bytes) : '';
  return isDatabaseId(text) ? text : undefined;
}

function bytesOfUuid(databaseId: DatabaseId): Uint8Array {
  return parseUuid(databaseId) ?? new Uint8Array(UUID_BYTES);
}

/** The error for an entry that this release cannot apply: fatal to the node. */
function unknownEntry(fault: string): DatabaseError {
  const message = `A log entry cannot be applied: ${fault}. It may come from a later release of Cairn`;
  return new DatabaseError('internal', message, { details: { reason: 'UnknownEntry' } });
}

/**
 * The payloads of the catalog's log entries (docs/formats/entries.md); those of databases are in #model.
 *
 * ```
 * u8 format = 1 | u8 kind | fields of the kind, in the order of the table below
 * ```
 * An unknown format or kind was written by a later release. Ignoring it would make replicas differ, so it stops the
 * node (D9).
 */
import {
  ByteReader,
  ByteWriter,
  DATABASE_ID,
  DatabaseError,
  type DatabaseId,
  type GroupId,
  isLevelRange,
  kindsOf,
  listOf,
  type NodeId,
  optional,
  type ReplicaId,
  TEXT,
  U64,
  VARINT,
  valid,
} from '#base';
import { API_KEY, type ApiKey, KEY_ID, PAYLOAD_FORMAT } from '#model';
import { COPIES, GROUP, NODE, REPLICAS } from './catalog-fields.ts';
import { NODE_STATE, type NodeRegistration, type NodeState, REGISTRATION } from './catalog-nodes.ts';
import { RECOVER_ENTRY, type RecoverEntry } from './catalog-recovery.ts';

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
      /** Number that it asks for; 0: the setting of the cluster. */
      readonly copies: number;
    }
  | ({ readonly kind: 'delete' } & Named)
  /** The database asks for so many replicas from now on. */
  | ({ readonly kind: 'set-copies'; readonly copies: number } & Named);

/** The database with the name, and only this instance if there is an id. */
interface Named {
  readonly name: string;
  readonly databaseId?: DatabaseId | undefined;
}

const NAME = valid(TEXT, (name) => name !== '');
const NAMED = { databaseId: optional(DATABASE_ID), name: NAME };
const PLACED = { group: GROUP, placement: VARINT };

const ENTRY = kindsOf<CatalogEntry>({
  create: [
    16,
    {
      databaseId: DATABASE_ID,
      createdAtMs: U64,
      replicas: valid(REPLICAS, ({ length }) => length > 0),
      copies: COPIES,
      name: NAME,
    },
  ],
  delete: [17, NAMED],
  recover: [18, RECOVER_ENTRY],
  mark: [21, { node: NODE, state: NODE_STATE }],
  place: [24, { ...PLACED, nodes: valid(listOf(NODE, { min: 1 }), (nodes) => new Set(nodes).size === nodes.length) }],
  placed: [25, PLACED],
  register: [26, { registration: REGISTRATION }],
  raise: [27, { level: valid(VARINT, (level) => isLevelRange({ min: level, max: level })) }],
  'keep-key': [28, { key: API_KEY }],
  'remove-key': [29, { id: KEY_ID }],
  'set-copies': [30, { copies: COPIES, ...NAMED }],
});

export function encodeCatalogEntry(entry: CatalogEntry): Uint8Array {
  const payload = new ByteWriter(64);
  payload.u8(PAYLOAD_FORMAT);
  ENTRY.write(payload, entry);
  return payload.take();
}

/** Throws for a payload that is not a catalog entry of this format. */
export function readCatalogEntry(payload: Uint8Array): CatalogEntry {
  const [format, kind] = payload;
  if (format !== PAYLOAD_FORMAT)
    throw unknownEntry(`format ${format} is unknown here, ${PAYLOAD_FORMAT} would be known`);
  const reader = new ByteReader(payload, 1);
  const entry = ENTRY.read(reader);
  if (reader.failed || reader.left !== 0)
    throw unknownEntry(`kind ${kind} is none of the catalog, or the entry is cut short or malformed`);
  return entry;
}

/** Entries that only the leader makes, from requests. */
const LEADERS_OWN: ReadonlySet<CatalogEntry['kind']> = new Set([
  'create',
  'set-copies',
  'recover',
  'register',
  'mark',
  'raise',
]);

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

/** The error for an entry that this release cannot apply: fatal to the node. */
function unknownEntry(fault: string): DatabaseError {
  const message = `A log entry cannot be applied: ${fault}. It may come from a later release of Cairn`;
  return new DatabaseError('internal', message, { details: { reason: 'UnknownEntry' } });
}

/**
 * The nodes of the cluster in the catalog: which store is registered under which number, and its addresses.
 *
 * ```
 * registration    16 bytes store_id | text name | text zone | text peer host | varint peer port | text grpc | text http
 *                 | varint lowest level | varint highest level | text mcp | u8 is learner
 * text            varint length | UTF-8
 * nodes row       u8 format = 4 | varint next node | varint count, each varint node | u8 state | registration | u32 CRC
 * ```
 * A number is given to one store and never reused (D14); a store that registers again keeps its number and changes its
 * addresses.
 *
 * ```
 *   active <──> leaving ──> removed, for good (D17)
 * ```
 */
import {
  type ByteWriter,
  type Field,
  type Fields,
  FLAG,
  fieldsOf,
  hasLevel,
  isHost,
  isLevelRange,
  type LevelRange,
  listOf,
  type NodeId,
  oneOf,
  parseAddress,
  parseUuid,
  TEXT,
  toNodeId,
  UUID,
  unreachable,
  VARINT,
  valid,
} from '#base';
import type { KvReader } from '#kv';
import { NODE } from './catalog-fields.ts';
import { closeRow, openRow, sealRow } from './corruption.ts';

const FORMAT = 4;
const PORT_MAX = 65_535;
const WORD_MAX = 255;
/** No control characters and no spaces, as the settings ask for. */
const WORD = new RegExp(`^[^\\p{Cc}\\s]{0,${WORD_MAX}}$`, 'u');
const HTTP_URL = /^https?:\/\/[\x21-\x7e]{1,512}$/;
/** Maximum length of a wrong text in a message. */
const SHOWN_MAX = 80;
const FIRST_NODE = toNodeId(1);

const STATES = ['active', 'leaving', 'removed'] as const;

/**
 * `active`: it has a replica of the catalog, and may get databases. `leaving`: it gets no more replicas, and those that
 * it has move elsewhere. `removed`: it has none, and its messages are ignored.
 */
export type NodeState = (typeof STATES)[number];

export const NODE_STATE: Field<NodeState> = oneOf(STATES, 1);

/** Description of a node by itself. Texts may be empty: not known yet. `faultInRegistration` checks them. */
export interface NodeRegistration {
  /** Identity of its store: a UUID in lowercase canonical form. */
  readonly storeId: string;
  /** Its name for clients. */
  readonly name: string;
  /** Copies of a database go to different zones, if there are several. */
  readonly zone: string;
  /** Where other nodes reach it; port 0: nowhere yet. */
  readonly peer: { readonly host: string; readonly port: number };
  /** Where clients reach it: host:port of gRPC, the URL of HTTP. */
  readonly grpc: string;
  readonly http: string;
  /** The URL of MCP. Absent: it is off. */
  readonly mcp?: string | undefined;
  /** The levels that its release knows. */
  readonly levels: LevelRange;
  /** It votes for nothing, and has a replica of every database. A store cannot change it. */
  readonly isLearner: boolean;
}

/** Empty for none. */
const URL_OR_NONE: Field<string | undefined> = {
  write: (writer, url) => TEXT.write(writer, url ?? ''),
  read: (reader) => TEXT.read(reader) || undefined,
};

const FIELDS: Fields<NodeRegistration> = {
  storeId: UUID,
  name: TEXT,
  zone: TEXT,
  peer: fieldsOf<NodeRegistration['peer']>({ host: TEXT, port: valid(VARINT, (port) => port <= PORT_MAX) }),
  grpc: TEXT,
  http: TEXT,
  levels: fieldsOf<LevelRange>({ min: VARINT, max: VARINT }),
  mcp: URL_OR_NONE,
  isLearner: FLAG,
};

export const REGISTRATION: Field<NodeRegistration> = fieldsOf<NodeRegistration>(FIELDS);

export interface RegisteredNode extends NodeRegistration {
  readonly node: NodeId;
  readonly state: NodeState;
}

interface NodesRow {
  readonly next: NodeId;
  readonly nodes: readonly RegisteredNode[];
}

const ROW = fieldsOf<NodesRow>({
  next: NODE,
  nodes: listOf(fieldsOf<RegisteredNode>({ node: NODE, state: NODE_STATE, ...FIELDS })),
});

export type RegisterOutcome =
  /** It is a new node, or has another place than before. */
  | { readonly kind: 'registered'; readonly node: RegisteredNode; readonly isNew: boolean }
  /** It was registered just so, was removed, or would become or cease to be a learner; nothing changed. */
  | { readonly kind: 'known'; readonly node: RegisteredNode }
  /** Its release does not know the level of the cluster; nothing changed. */
  | { readonly kind: 'unsupported' };

export type MarkOutcome =
  | { readonly kind: 'registered'; readonly node: RegisteredNode; readonly isNew: false }
  /** The node is in that state already, cannot enter it from its current state, or does not exist. */
  | { readonly kind: 'unmoved' };

/** Reads the nodes in the store without opening its catalog. Throws when the row is corrupt. */
export function readNodes(kv: KvReader, key: Uint8Array): readonly RegisteredNode[] {
  const nodes = new CatalogNodes();
  const value = kv.get(key);
  if (value !== undefined) nodes.read(key, value);
  return nodes.list();
}

export class CatalogNodes {
  readonly #byStore = new Map<string, RegisteredNode>();
  #next = FIRST_NODE;

  /** Takes up what the row holds. Throws when it is corrupt. */
  read(key: Uint8Array, value: Uint8Array): void {
    const row = openRow(key, value, FORMAT);
    const { next, nodes } = ROW.read(row);
    closeRow(key, row);
    for (const node of nodes) this.#byStore.set(node.storeId, node);
    this.#next = next;
  }

  writeInto(row: ByteWriter): void {
    row.u8(FORMAT);
    ROW.write(row, { next: this.#next, nodes: this.list() });
    sealRow(row);
  }

  /** Every node, by number. */
  list(): readonly RegisteredNode[] {
    return [...this.#byStore.values()].toSorted((left, right) => left.node - right.node);
  }

  /** In a cluster that is at this level. */
  register(registration: NodeRegistration, level: number): RegisterOutcome {
    const known = this.#byStore.get(registration.storeId);
    const isFixed = known?.state === 'removed' || known?.isLearner === !registration.isLearner;
    if (known !== undefined && (isFixed || isSame(known, registration))) return { kind: 'known', node: known };
    if (!hasLevel(registration.levels, level)) return { kind: 'unsupported' };
    const isNew = known === undefined;
    const number = known?.node ?? this.#next;
    const node: RegisteredNode = { ...registration, node: number, state: known?.state ?? 'active' };
    if (isNew) this.#next = toNodeId(this.#next + 1);
    this.#byStore.set(node.storeId, node);
    return { kind: 'registered', node, isNew };
  }

  /** True when each node that is not removed supports this level. */
  know(level: number): boolean {
    return this.list().every(({ state, levels }) => state === 'removed' || hasLevel(levels, level));
  }

  /**
   * Begins another cluster with one of the nodes, which gets another store; the other nodes are removed.
   */
  refound(number: NodeId, storeId: string): void {
    for (const each of this.list()) {
      this.#byStore.delete(each.storeId);
      const node: RegisteredNode =
        each.node === number ? { ...each, storeId, state: 'active' } : { ...each, state: 'removed' };
      this.#byStore.set(node.storeId, node);
    }
  }

  /**
   * Changes the state of a node, if the transition is allowed. The caller checks whether it still has replicas.
   */
  mark(number: NodeId, state: NodeState): MarkOutcome {
    const known = this.list().find(({ node }) => node === number);
    if (known === undefined || !this.#mayBecome(known, state)) return { kind: 'unmoved' };
    const node = { ...known, state };
    this.#byStore.set(node.storeId, node);
    return { kind: 'registered', node, isNew: false };
  }

  #mayBecome({ node, state, isLearner }: RegisteredNode, next: NodeState): boolean {
    switch (next) {
      case 'active':
      case 'removed':
        return state === 'leaving';
      case 'leaving':
        return state === 'active' && (isLearner || this.list().some((each) => each.node !== node && mayVote(each)));
      default:
        return unreachable(next);
    }
  }
}

/** True when the node may get replicas that vote. */
export function mayVote({ state, isLearner }: Pick<RegisteredNode, 'state' | 'isLearner'>): boolean {
  return state === 'active' && !isLearner;
}

/**
 * Why a store must not be registered so, or undefined. Every node of the cluster dials the host and tells clients the
 * addresses, so a text that cannot be one must not get in. Rows that are there already are read whatever they hold.
 */
export function faultInRegistration(registration: NodeRegistration): string | undefined {
  const { storeId, name, zone, peer, grpc, http, mcp, levels } = registration;
  if (parseUuid(storeId) === undefined || storeId !== storeId.toLowerCase()) {
    return `the store_id ${shown(storeId)} is no UUID in lowercase`;
  }
  if (!Number.isInteger(peer.port) || peer.port < 0 || peer.port > PORT_MAX) {
    return `the port ${peer.port} is none from 0 to ${PORT_MAX}`;
  }
  const isNowhere = peer.port === 0 && peer.host === '';
  if (!isNowhere && !isHost(peer.host)) return `the host ${shown(peer.host)} is no IP address and no host name`;
  for (const [field, text] of Object.entries({ name, zone })) {
    if (!WORD.test(text)) {
      return `the ${field} ${shown(text)} is longer than ${WORD_MAX} characters, or holds spaces or control characters`;
    }
  }
  if (grpc !== '' && parseAddress(grpc) === undefined) return `the grpc address ${shown(grpc)} is no host:port`;
  if (!isLevelRange(levels)) return `the levels ${levels.min} to ${levels.max} are no range from 1 to 255`;
  if (http !== '' && !HTTP_URL.test(http)) return `the http address ${shown(http)} is no URL of HTTP`;
  return mcp === undefined || HTTP_URL.test(mcp) ? undefined : `the mcp address ${shown(mcp)} is no URL of HTTP`;
}

/** True when both are equal. */
export function isSame(one: NodeRegistration, other: NodeRegistration): boolean {
  return (
    one.storeId === other.storeId &&
    one.name === other.name &&
    one.zone === other.zone &&
    one.peer.host === other.peer.host &&
    one.peer.port === other.peer.port &&
    one.grpc === other.grpc &&
    one.http === other.http &&
    one.mcp === other.mcp &&
    one.isLearner === other.isLearner &&
    one.levels.min === other.levels.min &&
    one.levels.max === other.levels.max
  );
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text);
}

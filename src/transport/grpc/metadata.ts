/** The parameters of all handlers, and the metadata of calls: options in requests, information in every reply. */
import { type AskedRevision, DatabaseError, type LeaderAddress } from '#base';
import { Faults, type Found, numberAsWritten, parseRevisionText, revisionRule } from '#model';
import type { Traced } from '#observability';
import type { ReadRequest, RevisionFloor, Service } from '#service';
import { RELAYED, shownBy } from '../relay.ts';
import { tracedAs } from './call-traces.ts';
import type { Call } from './wire/call.ts';
import type { Fields } from './wire/status.ts';

export const EVENT_STORE = 'cairn.v1.EventStore';
export const CLUSTER_ADMIN = 'cairn.admin.v1.ClusterAdmin';

export interface GrpcContext {
  readonly service: Service;
  readonly leaderTrailers: LeaderTrailers;
  /** True when callers are authenticated. */
  readonly isAuthenticated: boolean;
}

/** Scope of a reply: its instance and revision. */
export interface RepliedScope {
  readonly databaseId: string;
  /** Absent when the instance was deleted. */
  readonly revision?: number;
}

export function scopeHeaders({ databaseId, revision }: RepliedScope): Fields {
  if (revision === undefined) return { 'x-database-id': databaseId };
  return { 'x-database-id': databaseId, 'x-revision': String(revision) };
}

/** Keeps the trailers of writes until the leader changes. */
export class LeaderTrailers {
  readonly #service: Service;
  #leader: LeaderAddress = { node: '', address: '' };
  #trailers: Fields = {};

  constructor(service: Service) {
    this.#service = service;
  }

  /** Leader for a write to this database, or to the catalog without a name. Undefined when there is no leader. */
  of(databaseName?: string): Fields | undefined {
    const leader = this.#service.leader(databaseName);
    if (leader === undefined) return undefined;
    const { node, address } = leader;
    if (node === this.#leader.node && address === this.#leader.address) return this.#trailers;
    this.#leader = leader;
    this.#trailers = { 'x-leader-node': node, 'x-leader-address': address };
    return this.#trailers;
  }
}

/** A write to this database, whose refusals name its leader, not that of the catalog. */
export async function ledWrite<Reply>(
  service: Service,
  databaseName: string,
  write: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await write();
  } catch (failure) {
    if (!(failure instanceof DatabaseError) || failure.details.leader !== undefined) throw failure;
    // A caller without the permission must not learn that the database exists.
    if (failure.code === 'permission_denied') throw failure;
    const leader = service.leader(databaseName);
    throw leader === undefined ? failure : failure.with({ leader });
  }
}

const NO_MIN_REVISION = {};

/** Revision and index that a node must have applied to answer a read, and the trace, as members of its request. */
export function floorsOf(call: Call): Pick<ReadRequest, 'minRevision' | 'shown' | 'span'> {
  return { ...minRevisionOf(call), ...shownBy((name) => call.header(name)), ...tracedAs(call) };
}

function minRevisionOf(call: Call): { readonly minRevision?: AskedRevision } {
  const text = call.header('x-min-revision');
  if (text === undefined) return NO_MIN_REVISION;
  const minRevision = parseRevisionText(text);
  if (minRevision === undefined) throw malformed('x-min-revision', revisionRule(text), numberAsWritten(text));
  return { minRevision };
}

/**
 * Tells whether the write is for the leader alone: `x-require-leader` is `true`, `false` or absent.
 * @throws DatabaseError invalid_argument
 */
export function requiresLeader(call: Call): boolean {
  const text = call.header('x-require-leader');
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  throw malformed('x-require-leader', 'must be true or false', text);
}

/**
 * Refuses a relayed call that is for the leader alone: the node that the client asked has no replica.
 * @throws DatabaseError not_leader
 */
export function refuseRelayed(call: Call): void {
  const relayedBy = call.header(RELAYED);
  if (relayedBy === undefined) return;
  const message = `The write is for the leader alone, and ${relayedBy}, which received it, has no replica of the database; send it to the leader`;
  throw new DatabaseError('not_leader', message, { details: { reason: 'NotLeader' } });
}

function malformed(header: string, description: string, found: Found): DatabaseError {
  const faults = new Faults();
  faults.add(header, description, found);
  return faults.toError('The metadata is malformed');
}

/** The same for a write. Without the header it allocates nothing, not even a signal, because most writes have none. */
export function floorOf(call: Call): RevisionFloor | undefined {
  const { minRevision } = minRevisionOf(call);
  return minRevision === undefined ? undefined : { minRevision, signal: call.signal };
}

/** Members of a definition write that come from its metadata. */
export function writeOf(
  call: Call,
): { readonly requireLeader: boolean; readonly floor: RevisionFloor | undefined } & Traced {
  const requireLeader = requiresLeader(call);
  if (requireLeader) refuseRelayed(call);
  return { requireLeader, floor: floorOf(call), ...tracedAs(call) };
}

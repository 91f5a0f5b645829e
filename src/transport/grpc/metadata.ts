/** The metadata of Cairn's calls: what a client may ask for, and what every reply says. */
import { type AskedRevision, DatabaseError, type LeaderAddress } from '#base';
import { Faults, type Found, numberAsWritten, parseRevisionText, revisionRule } from '#model';
import type { Traced } from '#observability';
import type { ReadRequest, RevisionFloor, Service } from '#service';
import { RELAYED, shownBy } from '../relay.ts';
import { tracedAs } from './call-traces.ts';
import type { Call } from './wire/call.ts';
import type { Fields } from './wire/status.ts';

/** Where a reply was read: which instance, and at which revision. */
export interface RepliedScope {
  readonly databaseId: string;
  /** Absent when there is none any more: the instance was deleted. */
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

  /** Of a write to this database; of one that creates or deletes some, without. Nothing when nobody leads. */
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

/** A write to this database, whose refusals say where its leader is, not that of the catalog. */
export async function ledWrite<Reply>(
  service: Service,
  databaseName: string,
  write: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await write();
  } catch (failure) {
    if (!(failure instanceof DatabaseError) || failure.details.leader !== undefined) throw failure;
    // Whoever may not write it is not told that it is there.
    if (failure.code === 'permission_denied') throw failure;
    const leader = service.leader(databaseName);
    throw leader === undefined ? failure : failure.with({ leader });
  }
}

const NO_MIN_REVISION = {};

/** What the node must have applied that answers a read, and what it is traced in, as members of its request. */
export function floorsOf(call: Call): Pick<ReadRequest, 'minRevision' | 'shown' | 'span'> {
  return { ...minRevisionOf(call), ...shownBy((name) => call.header(name)), ...tracedAs(call) };
}

/** What `x-min-revision` asks for. */
function minRevisionOf(call: Call): { readonly minRevision?: AskedRevision } {
  const text = call.header('x-min-revision');
  if (text === undefined) return NO_MIN_REVISION;
  const minRevision = parseRevisionText(text);
  if (minRevision === undefined) throw malformed('x-min-revision', revisionRule(text), numberAsWritten(text));
  return { minRevision };
}

/**
 * Whether the write is for the leader alone: `x-require-leader` says `true`, or else `false`, or is not there.
 * @throws DatabaseError invalid_argument
 */
export function requiresLeader(call: Call): boolean {
  const text = call.header('x-require-leader');
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  throw malformed('x-require-leader', 'must be true or false', text);
}

/**
 * Whoever wants the leader alone has asked another node than this one, and that one is none: it holds no copy.
 * @throws DatabaseError not_leader
 */
export function refuseRelayed(call: Call): void {
  const relayedBy = call.header(RELAYED);
  if (relayedBy === undefined) return;
  const message = `The write is for the leader alone, and ${relayedBy}, which was asked, holds no copy of the database; send it to the leader`;
  throw new DatabaseError('not_leader', message, { details: { reason: 'NotLeader' } });
}

function malformed(header: string, description: string, found: Found): DatabaseError {
  const faults = new Faults();
  faults.add(header, description, found);
  return faults.toError('The metadata is malformed');
}

/** The same for a write. Without the header nothing is made, no signal either: the common write asks for nothing. */
export function floorOf(call: Call): RevisionFloor | undefined {
  const { minRevision } = minRevisionOf(call);
  return minRevision === undefined ? undefined : { minRevision, signal: call.signal };
}

/** What every write of a definition asks for by its metadata. */
export function writeOf(
  call: Call,
): { readonly requireLeader: boolean; readonly floor: RevisionFloor | undefined } & Traced {
  const requireLeader = requiresLeader(call);
  if (requireLeader) refuseRelayed(call);
  return { requireLeader, floor: floorOf(call), ...tracedAs(call) };
}

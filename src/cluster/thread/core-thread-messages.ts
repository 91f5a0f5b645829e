/**
 * Messages between the front and the core thread: calls with their answers, telemetry and notices. Commands and reports
 * are in command-message.ts and report-message.ts.
 */
import { type Address, DatabaseError, type ErrorCode, type ErrorDetails, type GroupId } from '#base';
import type { DiskLevel, LevelStoreOptions } from '#storage';
import type { Administered } from '../admin/administered.ts';
import type { AdminReply, AdminRequest } from '../admin/administration.ts';
import type { CatalogState } from '../catalog/catalog-mirror.ts';
import type { DrainNote } from '../core/drain.ts';
import type { CoreHealth } from '../core/health.ts';
import type { CoreCounts } from '../core/observer.ts';
import type { CoreLimits } from '../limits.ts';
import type { NodeIdentity } from '../node.ts';
import type { NodeRegistration } from '../outcome.ts';
import type { Founder, Joined, JoinRequest } from '../peer/join.ts';
import type { Peer } from '../peer/links.ts';
import type { PeerMeasures, PeerSigns } from '../peer/peer-measures.ts';
import type { CommandMessage } from './command-message.ts';
import type { PeerPortOptions } from './peer-port.ts';
import type { ReportMessage } from './report-message.ts';

/** Everything that the thread needs to open the node. */
export interface CoreOrder {
  /** Directory of the ledger. */
  readonly dataDirectory: string;
  readonly storeDirectory: string;
  readonly logDirectory: string;
  readonly identity: NodeIdentity;
  /** Damage that the last process found, see `CorePorts`. */
  readonly isSuspect: boolean;
  readonly damaged: ReadonlySet<GroupId>;
  readonly limits: CoreLimits;
  readonly store: LevelStoreOptions;
  readonly walSegmentBytes: number;
  /** Replicas of a database that asks for no number, if there are enough nodes. */
  readonly copies: number;
  /** Time after which a silent node is replaced, if another one is free; undefined: never. */
  readonly replaceAfterMs: number | undefined;
  /** Absent: no peer links; nothing for them is loaded, and no node reaches this one. */
  readonly links: LinksOrder | undefined;
  /** One 32-bit number, 1 while the core is alone: the front sees it change before any later message (C32). */
  readonly alone: SharedArrayBuffer;
}

/** Addresses of this node for others, and the other nodes. */
export interface LinksOrder {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Host that other nodes connect to; by default `host`. */
  readonly advertisedHost?: string | undefined;
  /** Used until the catalog names the nodes. */
  readonly peers: readonly Peer[];
  /** Addresses to try when no known node answers. */
  readonly seeds?: readonly Address[];
  readonly release?: string;
  /** See `PeerLinksOptions`. */
  readonly connectionsMax?: number | undefined;
}

export interface JoinOrder {
  readonly seeds: readonly Address[];
  readonly request: JoinRequest;
  /** May be infinite. */
  readonly waitMs: number;
  readonly mayFound: boolean;
}

/** The recovered core. */
export interface Opened {
  readonly catalog: CatalogState;
  readonly rebuilding: readonly GroupId[];
  /** Port for other nodes; undefined when there is none. */
  readonly peerPort: number | undefined;
}

/** Calls of the front to the core, and their answers. The first three come in this order, before everything else. */
export interface CoreCalls {
  /** Binds the peer port; returns its number. */
  bind: { argument: PeerPortOptions; answer: number };
  /** Joins a cluster with this store, or decides whether to found one. */
  join: { argument: JoinOrder; answer: Joined | Founder };
  open: { argument: CoreOrder; answer: Opened };
  /** An admin request of a client. */
  administer: { argument: AdminRequest['order']; answer: AdminReply };
  /** Transfers the leaderships, within this time. */
  leave: { argument: number; answer: undefined };
  drain: { argument: undefined; answer: undefined };
}

export interface Call {
  readonly kind: 'call';
  readonly id: number;
  readonly name: keyof CoreCalls;
  readonly argument: CoreCalls[keyof CoreCalls]['argument'];
}

export type ToCore =
  | Call
  | CommandMessage
  | { readonly kind: 'disk'; readonly level: DiskLevel }
  | { readonly kind: 'runs'; readonly digest: string; readonly fault: string | undefined }
  /** The history of this database is damaged on this node. */
  | { readonly kind: 'damaged'; readonly group: GroupId }
  /** Addresses of this node, for the catalog. */
  | { readonly kind: 'announce'; readonly registration: NodeRegistration };

/** The state of the core thread, and its counts since the last message; sent once a second. */
export interface Telemetry {
  readonly health: CoreHealth;
  readonly counts: CoreCounts;
  /** Delays of the ticks of the core. */
  readonly tickDelaysMs: readonly number[];
  /** Messages of the front processed since the core was opened. */
  readonly messagesTaken: number;
  readonly links: PeerMeasures;
  readonly signs: PeerSigns;
}

export type FromCore =
  | { readonly kind: 'answered'; readonly id: number; readonly answer: CoreCalls[keyof CoreCalls]['answer'] }
  /** Reason why `join` waits. */
  | { readonly kind: 'waiting'; readonly why: string }
  | { readonly kind: 'telemetry'; readonly telemetry: Telemetry }
  | ReportMessage
  /** The peer port received an admin request or a join. */
  | { readonly kind: 'administered'; readonly administered: Administered }
  /** An operator has drained the node, so it must exit. */
  | { readonly kind: 'stop-requested' }
  | { readonly kind: 'drain'; readonly note: DrainNote }
  /** An error for the log. */
  | { readonly kind: 'logged'; readonly event: string; readonly fields: object; readonly failure: SentFailure }
  | { readonly kind: 'failed'; readonly failure: SentFailure };

/** An error of any class, as it crosses threads. */
export interface SentFailure {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** Present for a `DatabaseError`. */
  readonly code: ErrorCode | undefined;
  readonly details: ErrorDetails | undefined;
}

export function packFailure(failure: unknown): SentFailure {
  if (!(failure instanceof Error)) {
    return { name: 'Error', message: String(failure), stack: undefined, code: undefined, details: undefined };
  }
  const { name, message, stack } = failure;
  const isOurs = failure instanceof DatabaseError;
  return {
    name,
    message,
    stack: withCauses(stack ?? message, failure.cause),
    code: isOurs ? failure.code : undefined,
    details: isOurs ? failure.details : undefined,
  };
}

export function unpackFailure({ name, message, stack, code, details }: SentFailure): Error {
  const failure =
    code === undefined ? new Error(message) : new DatabaseError(code, message, { details: details ?? {} });
  // Own properties, because the name of a class is on its prototype and may be read-only.
  Object.defineProperties(failure, { name: { value: name }, stack: { value: stack } });
  return failure;
}

/** The stack of an error and of its causes. */
function withCauses(stack: string, cause: unknown): string {
  if (!(cause instanceof Error)) return stack;
  return withCauses(`${stack}\nCaused by: ${cause.stack ?? cause.message}`, cause.cause);
}

/** Asks other nodes for their databases, for a list of all. */
import { instantToMs, isDatabaseId, isRevision, NO_BYTES } from '#base';
import type { DatabaseDescription, Holder, Proof } from '#service';
import { type Database, FetchCatalogReply } from '../../../proto/gen/cairn/v1/database.ts';
import { countedHeader, type RateLimits } from '../rate-limits.ts';
import { RELAYED } from '../relay.ts';
import type { Dial } from '../secure.ts';
import { EVENT_STORE } from './metadata.ts';
import { RelayConnections } from './relay-connections.ts';
import { OutgoingCall } from './wire/outgoing-call.ts';

const LIST_TIMEOUT_MS = 5_000;

export class HolderLists {
  readonly #name: string;
  readonly #rateLimits: RateLimits | undefined;
  readonly #connections: RelayConnections;

  /** `name`: of this node. `dial`: connects to nodes with TLS. */
  constructor(name: string, dial: Dial, rateLimits?: RateLimits) {
    this.#name = name;
    this.#rateLimits = rateLimits;
    this.#connections = new RelayConnections(dial);
  }

  /** The databases with a replica on the node; none when it does not answer in time. */
  async ask(holder: Holder, signal: AbortSignal, proof: Proof = {}): Promise<readonly DatabaseDescription[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_TIMEOUT_MS)]);
    const headers = {
      ...proof,
      ':path': `/${EVENT_STORE}/FetchCatalog`,
      'grpc-timeout': `${LIST_TIMEOUT_MS}m`,
      [RELAYED]: this.#name,
      ...countedHeader(this.#rateLimits),
    };
    const stream = await this.#connections.open(holder, headers, limit);
    using reply = stream && new OutgoingCall(stream, NO_BYTES, limit);
    const message = await reply?.message(Number.POSITIVE_INFINITY);
    if (message === undefined) return [];
    return FetchCatalogReply.decode(message).databases.flatMap(descriptionOf);
  }

  close(): void {
    this.#connections.close();
  }
}

/** Empty for a message that no node of this release sends. */
function descriptionOf(database: Database): readonly DatabaseDescription[] {
  const { name, databaseId, revision, basis, latestRevision, createdAt, revisionTimestamp } = database;
  if (!isDatabaseId(databaseId) || createdAt === undefined || revisionTimestamp === undefined) return [];
  if (!isRevision(revision) || !isRevision(basis) || !isRevision(latestRevision)) return [];
  const times = { createdAtMs: instantToMs(createdAt), revisionTimeMs: instantToMs(revisionTimestamp) };
  const { eventCount, chainHash } = database;
  return [{ databaseName: name, databaseId, revision, basis, latestRevision, eventCount, chainHash, ...times }];
}

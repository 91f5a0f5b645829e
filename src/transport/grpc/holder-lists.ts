/** Asks other nodes what they say of the databases that they hold, for a list of all that there are. */
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { instantToMs, isDatabaseId, isRevision } from '#base';
import type { DatabaseDescription, Holder, Proof } from '#service';
import { type Database, FetchCatalogReply } from '../../../proto/gen/cairn/v1/database.ts';
import { countedHeader, type RateLimits } from '../rate-limits.ts';
import { RELAYED } from '../relay.ts';
import type { Dial } from '../secure.ts';
import { EVENT_STORE } from './context.ts';
import { cancelStream, originOf, RelayConnections } from './relay-connections.ts';
import { FRAME_HEADER_BYTES, frame } from './wire/framing.ts';

const ANSWER_MS = 5_000;
const NOTHING: Uint8Array = frame(new Uint8Array(0));

export class HolderLists {
  readonly #name: string;
  readonly #rateLimits: RateLimits | undefined;
  readonly #connections: RelayConnections;

  /** The name of this node, how others are reached that speak TLS, and whether it counts who asks for a list. */
  constructor(name: string, dial: Dial, rateLimits?: RateLimits) {
    this.#name = name;
    this.#rateLimits = rateLimits;
    this.#connections = new RelayConnections(dial);
  }

  /** What it holds; nothing when it does not answer in time. */
  async ask(holder: Holder, signal: AbortSignal, proof: Proof = {}): Promise<readonly DatabaseDescription[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const headers = {
      ...proof,
      ':method': 'POST',
      ':path': `/${EVENT_STORE}/FetchCatalog`,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': `${ANSWER_MS}m`,
      [RELAYED]: this.#name,
      ...countedHeader(this.#rateLimits),
    };
    const origin = originOf(holder);
    const stream =
      origin === undefined ? undefined : await this.#connections.open(origin, headers, limit).catch(() => undefined);
    const reply = stream && (await messageOf(stream, limit));
    return reply === undefined ? [] : FetchCatalogReply.decode(reply).databases.flatMap(descriptionOf);
  }

  close(): void {
    this.#connections.close();
  }
}

/** The one message of a reply that ended well. */
async function messageOf(stream: ClientHttp2Stream, limit: AbortSignal): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let isWell = false;
  const cancel = (): void => cancelStream(stream);
  limit.addEventListener('abort', cancel);
  if (limit.aborted) cancel();
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.on('error', () => undefined);
  stream.once('trailers', (trailers: IncomingHttpHeaders) => {
    isWell = trailers['grpc-status'] === '0';
  });
  stream.end(NOTHING);
  await new Promise<void>((resolve) => {
    stream.once('close', () => resolve());
  });
  limit.removeEventListener('abort', cancel);
  return isWell ? Buffer.concat(pieces).subarray(FRAME_HEADER_BYTES) : undefined;
}

/** Nothing of what no node of this release says. */
function descriptionOf(database: Database): readonly DatabaseDescription[] {
  const { name, databaseId, revision, basis, latestRevision, createdAt, revisionTimestamp } = database;
  if (!isDatabaseId(databaseId) || createdAt === undefined || revisionTimestamp === undefined) return [];
  if (!isRevision(revision) || !isRevision(basis) || !isRevision(latestRevision)) return [];
  const times = { createdAtMs: instantToMs(createdAt), revisionTimeMs: instantToMs(revisionTimestamp) };
  const { eventCount, chainHash } = database;
  return [{ databaseName: name, databaseId, revision, basis, latestRevision, eventCount, chainHash, ...times }];
}

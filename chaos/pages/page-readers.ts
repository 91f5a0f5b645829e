/**
 * Clients that read pages over HTTP again and again, each time from another node and often with their ETag, like caches
 * and browsers (specification, HTTP rule 6). Pages are databases at revisions, some with a range of effective time, and
 * a State View. Some of the databases are deleted and created again all the time.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Rng } from '../../test/simulation/engine/random.ts';
import { THEATRE } from '../components/box-office.ts';
import type { Place } from '../components/final-seats.ts';
import { PARAMETER, VIEW } from '../components/seats.ts';
import { isLostFetch } from '../support/lost-fetch.ts';
import { TagBook } from './tag-book.ts';

export interface PageReadersOptions {
  readonly seed: number;
  /** Nodes that readers may use now. */
  readonly places: () => readonly [Place, ...Place[]];
  /** Names of databases that may exist. */
  readonly names: () => readonly string[];
  readonly onProblem: (what: string) => void;
}

export interface PageCounts {
  /** Replies with a page. */
  readonly sent: number;
  /** Replies 304: the reader has the page already, from this node or another one. */
  readonly unchanged: number;
}

const READERS = 2;
const THINK_MS_MEAN = 80;
const DEADLINE_MS = 4000;
const AGAIN_SHARE = 0.7;
const WITH_TAG_SHARE = 0.7;
/** Number of paths that are remembered for repeated requests. */
const PATHS_KEPT = 60;
const HOUSES = 12;
/** Minimum per minute, far below the actual number. */
const A_MINUTE: PageCounts = { sent: 10, unchanged: 10 };

export class PageReaders {
  readonly #options: PageReadersOptions;
  readonly #book = new TagBook();
  readonly #counts = { sent: 0, unchanged: 0 };
  #paths: readonly string[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;

  constructor(options: PageReadersOptions) {
    this.#options = options;
  }

  get counts(): PageCounts {
    return { ...this.#counts };
  }

  start(): void {
    const readers = Array.from({ length: READERS }, (_, place) => this.#read(`page-reader-${place + 1}`));
    this.#running = Promise.all(readers);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #read(reader: string): Promise<void> {
    const random = new Rng(this.#options.seed, reader);
    while (!this.#isOver) {
      await delay(random.exponential(THINK_MS_MEAN));
      const place = random.pick(this.#options.places());
      const known = random.chance(AGAIN_SHARE) ? random.pickFrom(this.#paths) : undefined;
      const path = known ?? (await this.#newPath(place, random));
      if (path === undefined) continue;
      const tag = random.chance(WITH_TAG_SHARE) ? this.#book.tagOf(path) : undefined;
      await this.#ask(place, { path, tag, by: `${place.name} to ${reader}` });
    }
  }

  /** Returns a path at an existing revision; undefined when the node does not report the latest one. */
  async #newPath({ address }: Place, random: Rng): Promise<string | undefined> {
    const name = random.pickFrom(this.#options.names());
    if (name === undefined) return undefined;
    const reply = await tried(`${address.http}/db/${name}/latest`, { redirect: 'manual' });
    const revision = reply?.status === 307 ? random.between(0, Number(reply.headers.get('x-revision'))) : undefined;
    if (revision === undefined) return undefined;
    if (name === THEATRE) {
      const house = String(random.between(0, HOUSES)).padStart(4, '0');
      return `/api/v1/db/${THEATRE}/${revision}/state-views/${VIEW}/v1?subject.${PARAMETER}=${house}`;
    }
    const endAt = new Date(Date.now() - random.between(0, 20_000)).toISOString();
    const query = JSON.stringify({ range: { effectiveTime: { endAt } } });
    const base = `/db/${name}/${revision}`;
    const q = encodeURIComponent(Buffer.from(query).toString('base64'));
    return random.pick([base, `${base}/streams`, `${base}/events`, `${base}/events?q=${q}`]);
  }

  async #ask(
    { address }: Place,
    { path, tag: sentTag, by }: { readonly path: string; readonly tag: string | undefined; readonly by: string },
  ): Promise<void> {
    const headers: Record<string, string> = sentTag === undefined ? {} : { 'if-none-match': sentTag };
    const reply = await tried(`${address.http}${path}`, { headers });
    // Error replies are ignored here; the checks of the histories cover errors.
    if (reply === undefined || (reply.status !== 200 && reply.status !== 304)) return;
    const isUnchanged = reply.status === 304;
    const digest = isUnchanged ? undefined : createHash('sha256').update(reply.body).digest('hex');
    const databaseId = reply.headers.get('x-database-id') ?? '';
    const tag = reply.headers.get('etag') ?? '';
    const fault = this.#book.take({ path, databaseId, tag, by, sentTag, digest });
    if (fault !== undefined) this.#options.onProblem(`pages: ${fault}`);
    this.#counts[isUnchanged ? 'unchanged' : 'sent'] += 1;
    if (!this.#paths.includes(path)) this.#paths = [...this.#paths, path].slice(-PATHS_KEPT);
  }
}

/** Returns a problem for each count below its minimum. */
export function pageShortfalls(counts: PageCounts, minutes: number): readonly string[] {
  return (['sent', 'unchanged'] as const).flatMap((kind) => {
    const min = Math.floor(A_MINUTE[kind] * minutes);
    return counts[kind] >= min ? [] : [`pages, ${kind}: ${counts[kind]} in the run, which was to have ${min} or more`];
  });
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Returns undefined when the connection was lost or the reply timed out. */
async function tried(url: string, request: RequestInit): Promise<Reply | undefined> {
  try {
    const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(DEADLINE_MS) });
    return { status: reply.status, headers: reply.headers, body: Buffer.from(await reply.arrayBuffer()) };
  } catch (failure) {
    if (isLostFetch(failure)) return undefined;
    throw failure;
  }
}

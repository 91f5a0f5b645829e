/**
 * Pages that are asked for again and again, as they were sent (ADR 0145).
 *
 * What is read at a number follows from the instance, the revision, the rendering and the target, which is what its
 * tag is made of (`keptRead`). So an answer stays the answer for as long as its tag does, and is not made again:
 *
 * ```
 *   asked for ── the first time ──> made; its target is remembered
 *      └── again, while it is remembered ──> made, and kept
 *             └── again ── its scope is the same ───────> sent as it was kept
 *                              └── another: the name is another instance now ──> made, and kept in its place
 * ```
 * Everything else is asked of each request all the same: who it is, whether it may, whether this node has the revision.
 * What is asked for once, as by whoever walks through a log, takes nobody's place.
 */
import type { Count, Level, Metrics } from '#observability';
import { SMALL_ANSWER_BYTES } from './limits.ts';
import type { HttpReply } from './reply.ts';

export interface KeptPage {
  readonly etag: string;
  /** Without what is said of caching, which each request is told for itself. */
  readonly answer: HttpReply & { readonly body: Buffer };
}

/** Characters of a target that is remembered; nobody follows a longer one often. */
const TARGET_LENGTH_MAX = 1_000;
/** Targets that were asked for once. */
const REMEMBERED_MAX = 1_000;
/** What a page takes beside its body: its headers, and its place in the map. */
const PAGE_OVERHEAD_BYTES = 2_000;

export class KeptPages {
  readonly #bytesMax: number;
  /** By target, the one that was asked for last behind the others. */
  readonly #pages = new Map<string, KeptPage>();
  readonly #askedOnce = new Set<string>();
  readonly #hits: Count;
  readonly #level: Level;
  #bytes = 0;

  /** Bytes of all pages that are kept; 0: none is. */
  constructor(bytesMax: number, metrics: Pick<Metrics, 'counter' | 'gauge'>) {
    this.#bytesMax = bytesMax;
    this.#hits = metrics.counter('cairn_http_page_cache_hits_total', {});
    this.#level = metrics.gauge('cairn_http_page_cache_bytes', {});
  }

  /** Of a target, whatever its scope: whoever asks compares it. */
  find(target: string): KeptPage | undefined {
    return this.#pages.get(target);
  }

  /** One that was found is sent. */
  sent(target: string, page: KeptPage): void {
    this.#hits.add();
    // It may have made way while somebody waited to send it.
    if (this.#pages.get(target) !== page) return;
    this.#pages.delete(target);
    this.#pages.set(target, page);
  }

  /** An answer that was made. */
  offer(target: string, etag: string, answer: HttpReply): void {
    const { body } = answer;
    if (
      this.#bytesMax === 0 ||
      body === undefined ||
      body.length > SMALL_ANSWER_BYTES ||
      target.length > TARGET_LENGTH_MAX
    )
      return;
    if (!this.#askedOnce.delete(target) && !this.#pages.has(target)) this.#remember(target);
    else this.#keep(target, { etag, answer: { ...answer, body: copyOf(body), isShared: true } });
  }

  #remember(target: string): void {
    this.#askedOnce.add(target);
    if (this.#askedOnce.size > REMEMBERED_MAX) removeFirst(this.#askedOnce);
  }

  #keep(target: string, page: KeptPage): void {
    const bytes = bytesOf(target, page);
    if (page.answer.body.length > SMALL_ANSWER_BYTES || bytes > this.#bytesMax) return;
    this.#drop(target);
    while (this.#bytes + bytes > this.#bytesMax) this.#drop(firstOf(this.#pages.keys()));
    this.#pages.set(target, page);
    this.#count(bytes);
  }

  #drop(target: string): void {
    const page = this.#pages.get(target);
    if (page === undefined) return;
    this.#pages.delete(target);
    this.#count(-bytesOf(target, page));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#level.set(this.#bytes);
  }
}

function bytesOf(target: string, { answer }: KeptPage): number {
  return answer.body.length + target.length + PAGE_OVERHEAD_BYTES;
}

/** In memory of its own: a slice of a pool would keep all of it. */
function copyOf(body: string | Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(Buffer.byteLength(body));
  if (typeof body === 'string') copy.write(body);
  else body.copy(copy);
  return copy;
}

function firstOf(targets: Iterable<string>): string {
  for (const target of targets) return target;
  return '';
}

function removeFirst(targets: Set<string>): void {
  targets.delete(firstOf(targets));
}

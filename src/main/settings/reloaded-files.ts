/**
 * Re-reads files while a node runs.
 *
 * ```
 *   every 2 s: read ── same as in use ──> nothing
 *                └── otherwise ── same as at the last check ── valid ──> used
 *                                      │                   └── invalid ──> reported once; the old content stays
 *                                      └── not yet: it may still be written
 * ```
 *
 * Invalid content is tried again at each check, because a certificate may become valid later.
 *
 * Content is compared, not modification times: Kubernetes replaces a symbolic link to a folder of links, and other
 * tools write in place.
 */
import { failure, messageOf, ok, type Result } from '#base';

const CHECK_MS = 2_000;

export interface ReloadedFilesParts<Contents> {
  /** Content that is in use. */
  readonly used: Contents;
  /** @throws DatabaseError when a file cannot be read. */
  readonly read: () => Contents;
  /** @throws DatabaseError when the content is invalid; then nothing has changed. */
  readonly use: (contents: Contents) => void;
  /** Reports that new content is in use, or why it is not. */
  readonly onReload: (outcome: Result<void, string>) => void;
  readonly checkMs?: number | undefined;
}

export class ReloadedFiles<Contents> implements Disposable {
  readonly #parts: ReloadedFilesParts<Contents>;
  readonly #timer: NodeJS.Timeout;
  #used: string;
  /** Content of the previous check that is not in use. */
  #other: { readonly content: string; isReported: boolean } | undefined;

  constructor(parts: ReloadedFilesParts<Contents>) {
    this.#parts = parts;
    this.#used = JSON.stringify(parts.used);
    this.#timer = setInterval(() => this.#check(), parts.checkMs ?? CHECK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { read, use, onReload } = this.#parts;
    const found = outcomeOf(read);
    const content = found.kind === 'ok' ? JSON.stringify(found.value) : found.reason;
    if (content === this.#used) {
      this.#other = undefined;
      return;
    }
    if (content !== this.#other?.content) {
      this.#other = { content, isReported: false };
      return;
    }
    const { isReported } = this.#other;
    const used = found.kind === 'ok' ? outcomeOf(() => use(found.value)) : found;
    if (used.kind === 'ok') {
      this.#used = content;
      this.#other = undefined;
    } else this.#other.isReported = true;
    if (used.kind === 'ok' || !isReported) onReload(used);
  }
}

function outcomeOf<T>(work: () => T): Result<T, string> {
  try {
    return ok(work());
  } catch (cause) {
    return failure(messageOf(cause));
  }
}

/**
 * What a reply says beside its data: a sentence, where to read on, and what can be done. A route says it once, and
 * every rendering but JSON shows it (ADR 0120).
 */

export interface Description {
  /** One sentence for whoever reads nothing else. */
  readonly summary: string;
  readonly links: Links;
  readonly actions: readonly Action[];
}

/** Paths that GET answers, by their names; one that is undefined is none. */
export type Links = Readonly<Record<string, string | undefined>>;

/** What each member or parameter is, by its name. */
export type Parts = Readonly<Record<string, string>>;

/** A request that needs more than its path, or that changes something. */
export interface Action {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly does: string;
  readonly query?: Parts;
  readonly headers?: Parts;
  /** The members of an object in JSON, or what the body is instead. */
  readonly body?: Parts | string;
  /** Of the body, where that is not JSON: the content type, whose parts `body` names. */
  readonly contentType?: string;
}

/**
 * What a reply says beside its data: a sentence, where to read on, and what can be done. A route says it once, and
 * every rendering but JSON shows it (ADR 0120).
 */
import type { JsonNode } from '#model';
import type { Place } from './paths.ts';

export interface Description {
  /** A few words, such as stand on a tab of a browser. */
  readonly title: string;
  /** One sentence for whoever reads nothing else. */
  readonly summary: string;
  readonly links: Links;
  readonly actions: readonly Action[];
  /** Where in a database it is; nowhere, where it is about all of them. */
  readonly place?: ShownPlace;
  /** Where the events of the list are read as they come. */
  readonly tail?: Tail;
  /** Of the list, where there is one. */
  readonly rows?: RowView;
  /** Of lists among the members, by their names. */
  readonly memberRows?: Readonly<Record<string, RowView>>;
  /** Members that are texts of many lines, by their names: to be read as they are, or as what differs. */
  readonly texts?: Readonly<Record<string, 'lines' | 'difference'>>;
}

export interface ShownPlace extends Place {
  /** The path of the same page at other revisions, where there is one: `{revision}` stands for the number. */
  readonly pathAtRevision?: string;
  /** The first revision that it has; 0 unless given. */
  readonly firstRevision?: number;
}

export interface Tail {
  /** What leads to the latest revision. */
  readonly latest: string;
  /** The list at any revision, as JSON: `{revision}` stands for the number; `start` and pages are not in it. */
  readonly eventsAtRevision: string;
  /** Up to which the page has them. */
  readonly revision: number;
}

/** How the rows of a list are looked at. */
export interface RowView {
  /** Where the members of a row lead to, by their names; a list of texts has rows of one member, `''`. */
  readonly linksOf: (row: ReadonlyMap<string, JsonNode>) => Links;
  /** Those that stand before the others. */
  readonly columns?: readonly string[];
  /** Those that are the same in every row, and nothing to look at. */
  readonly hidden?: readonly string[];
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
  /** The parameter of the query with which nothing is changed, and what would be is answered: `true`. */
  readonly trial?: string;
  readonly headers?: Parts;
  /** The members of an object in JSON, or what the body is instead. */
  readonly body?: Parts | string;
  /** Of the body, where that is not JSON: the content type, whose parts `body` names. */
  readonly contentType?: string;
  /** As a form of a page says it; without one only modules of the page send it. */
  readonly form?: Form;
  readonly filled?: Filled;
  /** Whether it is another look at the list that is shown. */
  readonly narrows?: boolean;
}

/** What a form of a page sends (ADR 0141). */
export interface Form {
  /** By their names; the parts of what is sent in parts. */
  readonly fields: Readonly<Record<string, FormField>>;
  /** The field with the id by which what is sent twice is told from what is sent anew. */
  readonly once?: string;
}

export interface FormField {
  /** A member of the body, as a text or as JSON, the body itself, a header, or a file of what is sent in parts. */
  readonly becomes: 'text' | 'json' | 'body' | 'header' | 'file';
  /** What stands in it at first. */
  readonly start?: string;
}

/** What stands in the fields of a form, by their names. */
export interface Filled {
  readonly values: Readonly<Record<string, string>>;
  /** What is wrong with it. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Whether somebody has filled it in. */
  readonly isTyped?: boolean;
}

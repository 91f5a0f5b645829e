/**
 * The description of a reply: title, summary, links and actions. A route makes it once; every rendering except JSON
 * shows it beside the data (ADR 0120).
 */
import type { JsonNode } from '#model';
import type { Place } from './paths.ts';

export interface Description {
  /** A few words, for the tab of a browser. */
  readonly title: string;
  /** One sentence with the essence of the reply. */
  readonly summary: string;
  readonly links: Links;
  readonly actions: readonly Action[];
  /** Database and revision of the page; absent on pages about the whole node. */
  readonly place?: ShownPlace;
  /** For lists of events that follow new revisions. */
  readonly tail?: Tail;
  readonly rows?: RowView;
  /** Views of lists among the members, by member name. */
  readonly memberRows?: Readonly<Record<string, RowView>>;
  /** Members that are texts of several lines, or unified diffs. */
  readonly texts?: Readonly<Record<string, 'lines' | 'difference'>>;
}

export interface ShownPlace extends Place {
  /** Path of the same page at another revision, with `{revision}` in place of the number. */
  readonly pathAtRevision?: string;
  /** First revision that has the page; 0 by default. */
  readonly firstRevision?: number;
}

export interface Tail {
  /** Path that redirects to the latest revision. */
  readonly latest: string;
  /** Path of the list with `{revision}` in place of the number, without `start` and paging. */
  readonly eventsAtRevision: string;
  /** Last revision whose events the page has. */
  readonly revision: number;
}

/** How the rows of a list are shown. */
export interface RowView {
  /** Links of the members of a row, by member name. Rows of a list of texts have one member, `''`. */
  readonly linksOf: (row: ReadonlyMap<string, JsonNode>) => Links;
  /** Columns that come first. */
  readonly columns?: readonly string[];
  /** Columns that are not shown, because every row has the same value. */
  readonly hidden?: readonly string[];
}

/** Paths for GET by name. An undefined one is left out. */
export type Links = Readonly<Record<string, string | undefined>>;

/** Descriptions of members or parameters, by name. */
export type Parts = Readonly<Record<string, string>>;

/** A request that writes, or that takes parameters. */
export interface Action {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly does: string;
  readonly query?: Parts;
  /** Name of the query parameter that makes it a dry run with the value `true`. */
  readonly trial?: string;
  readonly headers?: Parts;
  /** Members of the JSON object, or a description of another body. */
  readonly body?: Parts | string;
  /** Content type, if it is not JSON; then `body` has the parts. */
  readonly contentType?: string;
  /** Absent: only scripts can send it. */
  readonly form?: Form;
  readonly filled?: Filled;
  /** True: narrows or pages the list of this page. */
  readonly narrows?: boolean;
}

/** The form of an action (ADR 0141). */
export interface Form {
  /** Fields by name. In a multipart form they are the parts. */
  readonly fields: Readonly<Record<string, FormField>>;
  /** Field with the id that makes a repeat safe. */
  readonly once?: string;
}

export interface FormField {
  /** A member of the body, as a text or as JSON; the whole body; a header; or a file of a multipart form. */
  readonly becomes: 'text' | 'json' | 'body' | 'header' | 'file';
  /** Initial value. */
  readonly start?: string;
}

/** Values of the fields of a form, by name. */
export interface Filled {
  readonly values: Readonly<Record<string, string>>;
  /** Faults by field. */
  readonly faults?: Readonly<Record<string, string>>;
  /** Whether the values come from a user. */
  readonly isTyped?: boolean;
}

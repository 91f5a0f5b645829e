/** The paths that replies link to. Each is spelled only here. */
import { type EventQuery, queryToParameter, type Selector, term } from '#model';

export const CATALOG_PATH = '/';
export const DATABASES_PATH = '/databases';
export const HEALTH_PATH = '/health/detailed';
export const CLUSTER_PATH = '/health/detailed?cluster=true';

/** A database at a revision, or at the latest one. */
export interface Place {
  readonly databaseName: string;
  readonly revision: number | 'latest';
}

/** A database at a known revision. */
export interface Scope extends Place {
  readonly revision: number;
}

/** Attributes that events are listed by: the segment of the path, and the operator of the query. */
export const ATTRIBUTES = {
  streams: 'by-stream',
  subjects: 'by-subject',
  'event-types': 'by-type',
} as const;
export type Attribute = keyof typeof ATTRIBUTES;

export type ComponentSegment = 'state-views' | 'state-changes' | 'presenters';

/** Path of the collection-style family, which reads the latest revision. */
export function collectionPath(databaseName: string): string {
  return `${DATABASES_PATH}/${databaseName}`;
}

export function queryBuilderPath(databaseName: string): string {
  return `${collectionPath(databaseName)}/query-builder`;
}

export function databasePath({ databaseName, revision }: Place): string {
  return `/db/${databaseName}/${revision}`;
}

/** Changes of the database since an earlier revision. */
export function changesPath(place: Place, since: number): string {
  return `${databasePath(place)}?since=${since}`;
}

/** Replaces the revision of a path by `{revision}`. */
export function pathAtRevision(path: string): string {
  return path.replace(/^(\/db\/[^/]+\/)\d+/, '$1{revision}');
}

export function belowDatabase(place: Place, segment: 'events' | Attribute | 'state-views' | 'state-changes'): string {
  return `${databasePath(place)}/${segment}`;
}

export function presentersPath({ databaseName }: Place): string {
  return `/api/v1/db/${databaseName}/presenters`;
}

/** Events with this value of the attribute. */
export function attributePath(place: Place, attribute: Attribute, value: string): string {
  // Clients resolve such a segment as a relative path, however it is encoded.
  if (value === '.' || value === '..') return queryPath(place, { selector: term(ATTRIBUTES[attribute], value) });
  return `${belowDatabase(place, attribute)}/${encodeURIComponent(value)}`;
}

export function queryPath(place: Place, query: Partial<EventQuery> & { readonly selector: Selector }): string {
  const whole = { revisions: {}, direction: 'forward', ...query } as const;
  return `${belowDatabase(place, 'events')}?q=${queryToParameter(whole)}`;
}

export function eventPath(place: Place, position: { readonly revision: number; readonly index: number }): string {
  return `${belowDatabase(place, 'events')}/${position.revision}?index=${position.index}`;
}

export function transactionPath(databaseName: string, transactionId: string): string {
  return `/api/v1/db/${databaseName}/transaction/${transactionId}`;
}

export function versionPath(databaseName: string, segment: ComponentSegment, version: NamedVersion): string {
  return `/db/${databaseName}/${segment}/${namedVersion(version)}`;
}

/** Path that renders a State View or runs a State Change. */
export function runPath({ databaseName, revision }: Place, segment: ComponentSegment, version: NamedVersion): string {
  return `/api/v1/db/${databaseName}/${revision}/${segment}/${namedVersion(version)}`;
}

export function schemaPath(databaseName: string, version: NamedVersion): string {
  return `/api/v1/db/${databaseName}/state-views/${namedVersion(version)}/schema`;
}

export interface NamedVersion {
  readonly name: string;
  readonly version: number | bigint;
}

function namedVersion({ name, version }: NamedVersion): string {
  return `${encodeURIComponent(name)}/v${version}`;
}

/** Pages of databases and of lists of them. */
import { formatInstant, instantFromMs } from '#base';
import type { JsonNode } from '#model';
import { CREATE_DATABASE, compareRevisions, deleteDatabase, publish, queryEvents, transact } from './actions.ts';
import type { Description, Links, RowView } from './description.ts';
import { onceOnly } from './forms.ts';
import {
  type Attribute,
  attributePath,
  belowDatabase,
  CATALOG_PATH,
  changesPath,
  collectionPath,
  DATABASES_PATH,
  databasePath,
  HEALTH_PATH,
  type Place,
  pathAtRevision,
  presentersPath,
  type Scope,
} from './paths.ts';

/** A page of the catalog. */
export interface ListedDatabases {
  readonly databases: readonly Pick<Place, 'databaseName'>[];
  /** Path of the next page, if there is one. */
  readonly next: string | undefined;
}

export function catalogPage({ databases, next }: ListedDatabases): Description {
  const first = databases[0]?.databaseName;
  return {
    title: 'Databases',
    summary: `${counted(databases.length, 'database')}; ${moreBehind(next)}.`,
    links: {
      next,
      first_database: first === undefined ? undefined : databasePath({ databaseName: first, revision: 'latest' }),
      names: CATALOG_PATH,
      details: DATABASES_PATH,
      node: HEALTH_PATH,
    },
    actions: [CREATE_DATABASE],
    // Rows of `/databases` are objects, rows of `/` are names.
    rows: { linksOf: (row) => ({ name: databaseIn(row, 'name'), '': databaseIn(row, '') }) },
  };
}

function databaseIn(row: ReadonlyMap<string, JsonNode>, member: string): string | undefined {
  const databaseName = textIn(row, member);
  return databaseName === undefined ? undefined : databasePath({ databaseName, revision: 'latest' });
}

/** The member of a row, if it is a text. */
export function textIn(row: ReadonlyMap<string, JsonNode>, member: string): string | undefined {
  const node = row.get(member);
  return node?.kind === 'string' ? node.value : undefined;
}

/** A database at a revision. */
export interface ShownDatabase extends Scope {
  readonly databaseId: string;
  readonly eventCount: number;
  /** Recorded time of the revision. */
  readonly revisionTimeMs: number;
}

export function databasePage(database: ShownDatabase): Description {
  const { databaseName, databaseId, revision, eventCount, revisionTimeMs } = database;
  const at = formatInstant(instantFromMs(revisionTimeMs));
  const held = revision === 0 ? 'no event yet' : `${counted(eventCount, 'event')}, the last of them recorded at ${at}`;
  return {
    title: databaseName,
    summary: `The database ${databaseName} at revision ${revision} has ${held}.`,
    links: databaseLinks(database),
    actions: [
      compareRevisions(database),
      transact(database, revision),
      queryEvents(database),
      deleteDatabase(database, databaseId),
    ],
    place: { databaseName, revision, pathAtRevision: pathAtRevision(databasePath(database)) },
  };
}

export interface ShownChanges {
  readonly since: number;
  readonly database: ShownDatabase;
  readonly eventCount: number;
  readonly countedEvents: number;
}

/** Page of the changes between two revisions. */
export function changesPage({ since, database, eventCount, countedEvents }: ShownChanges): Description {
  const { databaseName, revision } = database;
  const partly = countedEvents < eventCount ? `; the names are those of the first ${countedEvents} of them` : '';
  const path = changesPath(database, since);
  const isOne = revision - since === 1;
  return {
    title: isOne ? `Changes of revision ${revision}` : `Changes since revision ${since}`,
    summary: `The database ${databaseName} got ${counted(eventCount, 'event')} between revision ${since} and revision ${revision}${partly}.`,
    links: {
      new_events: `${belowDatabase(database, 'events')}?start=${since + 1}`,
      before: databasePath({ databaseName, revision: since }),
      after: databasePath(database),
      changes_before: since === 0 ? undefined : changesPath({ databaseName, revision: since }, since - 1),
      latest: databasePath({ databaseName, revision: 'latest' }),
      databases: CATALOG_PATH,
    },
    actions: [compareRevisions(database)],
    place: { databaseName, revision, pathAtRevision: pathAtRevision(path), firstRevision: since },
    memberRows: {
      streams: nameRows(database, 'streams'),
      subjects: nameRows(database, 'subjects'),
      event_types: nameRows(database, 'event-types'),
    },
  };
}

function nameRows(place: Place, attribute: Attribute): RowView {
  return {
    linksOf: (row) => {
      const name = textIn(row, 'name');
      return { name: name === undefined ? undefined : attributePath(place, attribute, name) };
    },
  };
}

export function collectionPage(database: ShownDatabase): Description {
  const page = databasePage(database);
  const published = (['state-views', 'state-changes', 'presenters'] as const).map((kind) => publish(database, kind));
  return {
    ...page,
    links: {
      at_revision: databasePath(database),
      log: `${collectionPath(database.databaseName)}/events`,
      all_state_views: `${collectionPath(database.databaseName)}/state-views`,
      all_state_changes: `${collectionPath(database.databaseName)}/state-changes`,
      ...page.links,
    },
    actions: [...page.actions.map(onceOnly), ...published],
  };
}

function databaseLinks(place: Place): Links {
  const { databaseName, revision } = place;
  return {
    events: belowDatabase(place, 'events'),
    newest_events: `${belowDatabase(place, 'events')}?direction=reverse`,
    changes: typeof revision === 'number' && revision > 0 ? changesPath(place, revision - 1) : undefined,
    streams: belowDatabase(place, 'streams'),
    subjects: belowDatabase(place, 'subjects'),
    event_types: belowDatabase(place, 'event-types'),
    state_views: belowDatabase(place, 'state-views'),
    state_changes: belowDatabase(place, 'state-changes'),
    presenters: presentersPath(place),
    latest: databasePath({ databaseName, revision: 'latest' }),
    databases: CATALOG_PATH,
  };
}

/** Links from a page back to its database. */
export function contextLinks(place: Place): Links {
  return {
    database: databasePath(place),
    latest: databasePath({ ...place, revision: 'latest' }),
    databases: CATALOG_PATH,
  };
}

/** `1 event`, `2 events`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Says whether a list has another page. */
export function moreBehind(next: string | undefined): string {
  return next === undefined ? 'there are no more' : 'there are more after these';
}

/** What is said of databases, and of lists of them. */
import { formatInstant, instantFromMs } from '#base';
import type { DatabaseDescription } from '#service';
import { CREATE_DATABASE, deleteDatabase, publish, queryEvents, transact } from './actions.ts';
import type { Description, Links } from './description.ts';
import {
  belowDatabase,
  CATALOG_PATH,
  collectionPath,
  DATABASES_PATH,
  databasePath,
  type Place,
  presentersPath,
} from './paths.ts';

/** A page of the catalog. */
export interface ListedDatabases {
  readonly databases: readonly Pick<DatabaseDescription, 'databaseName'>[];
  /** Where the list goes on, when it does. */
  readonly next: string | undefined;
}

export function catalogPage({ databases, next }: ListedDatabases): Description {
  const first = databases[0]?.databaseName;
  return {
    summary: `${counted(databases.length, 'database')}; ${moreBehind(next)}.`,
    links: {
      next,
      first_database: first === undefined ? undefined : databasePath({ databaseName: first, revision: 'latest' }),
      names: CATALOG_PATH,
      details: DATABASES_PATH,
    },
    actions: [CREATE_DATABASE],
  };
}

export function databasePage(database: DatabaseDescription): Description {
  const { databaseName, databaseId, revision, eventCount, revisionTimeMs } = database;
  const at = formatInstant(instantFromMs(revisionTimeMs));
  const held = revision === 0 ? 'no event yet' : `${counted(eventCount, 'event')}, the last of them recorded at ${at}`;
  return {
    summary: `The database ${databaseName} at revision ${revision} has ${held}.`,
    links: databaseLinks(database),
    actions: [transact(database, revision), queryEvents(database), deleteDatabase(database, databaseId)],
  };
}

export function collectionPage(database: DatabaseDescription): Description {
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
    actions: [...page.actions, ...published],
  };
}

/** What else there is to read of a database. */
function databaseLinks(place: Place): Links {
  const { databaseName } = place;
  return {
    events: belowDatabase(place, 'events'),
    newest_events: `${belowDatabase(place, 'events')}?direction=reverse`,
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

/** The way back, from what is shown of a database. */
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

/** Whether a list goes on. */
export function moreBehind(next: string | undefined): string {
  return next === undefined ? 'there are no more' : 'there are more behind them';
}

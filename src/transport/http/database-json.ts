/** A database as JSON, in the two forms of the specification. */

import { toHex } from '#base';
import type { DefinedVersion } from '#model';
import type { DatabaseDescription, ListedDatabase } from '#service';
import { latestOfNames } from './component-json.ts';
import { type Json, timestamp } from './json-text.ts';

type Members = Readonly<Record<string, Json>>;

/** The revision-scoped family. All members follow from instance and revision, so replies may be cached. */
export function databaseMetadata(database: DatabaseDescription): Members {
  return {
    database: database.databaseName,
    database_id: database.databaseId,
    created_at: timestamp(database.createdAtMs),
    basis: database.basis,
    revision: database.revision,
    revision_timestamp: timestamp(database.revisionTimeMs),
    event_count: database.eventCount,
    chain_hash: toHex(database.chainHash),
  };
}

/** The collection-style family, in lists and on creation. */
export function databaseObject(database: ListedDatabase): Members {
  return {
    name: database.databaseName,
    database_id: database.databaseId,
    created_at: timestamp(database.createdAtMs),
    ...(database.revision !== undefined && {
      latest_revision: database.latestRevision,
      event_count: database.eventCount,
    }),
  };
}

/** The collection-style read of one database, with the first components of each kind. */
export function singleDatabaseObject(
  database: DatabaseDescription,
  versions: readonly DefinedVersion[],
  componentsMax: number,
): Members {
  const entries = (kind: DefinedVersion['definition']['kind']): readonly string[] => {
    const latest = latestOfNames(versions.filter(({ definition }) => definition.kind === kind));
    return latest.slice(0, componentsMax).map(({ definition }) => definition.name);
  };
  return {
    ...databaseObject(database),
    state_views: entries('state-view'),
    state_changes: entries('state-change'),
  };
}

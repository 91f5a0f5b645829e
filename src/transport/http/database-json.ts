/** A database as JSON, in the two forms of the specification. */

import { toHex } from '#base';
import type { DefinedVersion } from '#model';
import type { DatabaseDescription } from '#service';
import { latestOfNames } from './component-json.ts';
import {
  type JsonMembers,
  type JsonText,
  jsonArray,
  jsonInteger,
  jsonObject,
  jsonString,
  jsonTimestamp,
} from './json-text.ts';

/** The revision-scoped family. All members follow from instance and revision, so replies may be cached. */
export function databaseMetadata(database: DatabaseDescription): JsonMembers {
  return {
    database: jsonString(database.databaseName),
    database_id: jsonString(database.databaseId),
    created_at: jsonTimestamp(database.createdAtMs),
    basis: jsonInteger(database.basis),
    revision: jsonInteger(database.revision),
    revision_timestamp: jsonTimestamp(database.revisionTimeMs),
    event_count: jsonInteger(database.eventCount),
    chain_hash: jsonString(toHex(database.chainHash)),
  };
}

/** The collection-style family, in lists and on creation. */
export function databaseObject(database: DatabaseDescription): JsonText {
  return jsonObject(collectionMembers(database));
}

/** The collection-style read of one database, with the first components of each kind. */
export function singleDatabaseObject(
  database: DatabaseDescription,
  versions: readonly DefinedVersion[],
  componentsMax: number,
): JsonMembers {
  const entries = (kind: DefinedVersion['definition']['kind']): JsonText => {
    const names = latestOfNames(versions.filter(({ definition }) => definition.kind === kind));
    return jsonArray(names.slice(0, componentsMax).map(({ definition }) => jsonString(definition.name)));
  };
  return {
    ...collectionMembers(database),
    state_views: entries('state-view'),
    state_changes: entries('state-change'),
  };
}

function collectionMembers(database: DatabaseDescription): Readonly<Record<string, JsonText>> {
  return {
    name: jsonString(database.databaseName),
    database_id: jsonString(database.databaseId),
    created_at: jsonTimestamp(database.createdAtMs),
    latest_revision: jsonInteger(database.latestRevision),
    event_count: jsonInteger(database.eventCount),
  };
}

/** The roles of a key, from the grants of an EventAccess and the EventDatabases of its namespace. */
import type { EventAccess, EventDatabase } from '../api/index.ts';
import { matches } from '../reconcile/index.ts';

/** Limit of the server. */
const ROLES_MAX = 32;

export type Roles =
  | { readonly roles: readonly string[] }
  | { readonly problem: readonly [reason: string, message: string] };

type Grant = EventAccess['spec']['grants'][number];

/** `databases` are those of the cluster. */
export function rolesOf(grants: readonly Grant[], databases: readonly EventDatabase[]): Roles {
  const byName = new Map(databases.map((database) => [database.metadata.name, database]));
  const missing = grants.flatMap(({ databases: { names = [] } }) => names.filter((name) => !byName.has(name)));
  if (missing.length > 0)
    return { problem: ['DatabaseNotFound', `the cluster has no EventDatabase ${missing.join(', ')}`] };
  const roles = [...new Set(grants.flatMap((grant) => rolesOfGrant(grant, databases)))].toSorted();
  if (roles.length === 0) return { problem: ['NoDatabases', 'the grants select no EventDatabase'] };
  if (roles.length > ROLES_MAX)
    return { problem: ['TooManyDatabases', `a key has ${ROLES_MAX} roles at most, and these are ${roles.length}`] };
  return { roles };
}

function rolesOfGrant(
  { role, databases: granted, maxDatabases }: Grant,
  databases: readonly EventDatabase[],
): string[] {
  const { names, selector, pattern } = granted;
  if (pattern !== undefined) {
    if (maxDatabases !== undefined) return [`${role}:${pattern}:${maxDatabases}`];
    return [pattern === '*' ? role : `${role}:${pattern}`];
  }
  const chosen = databases.filter(
    ({ metadata }) => names?.includes(metadata.name) ?? (selector !== undefined && matches(selector, metadata.labels)),
  );
  return chosen.map(({ metadata, spec }) => `${role}:${spec.name ?? metadata.name}`);
}

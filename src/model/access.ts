/**
 * Access control: rights that operations need, roles that give rights, and grants of a role on databases.
 *
 * ```
 *   role          read  write  deploy  administer
 *   reader         x
 *   writer         x     x
 *   deployer       x            x
 *   admin          x     x      x       x
 * ```
 * A grant is written as `role` or `role:pattern`; the pattern is a database name in which `*` matches any characters.
 * `*` alone, the default, matches all present and future databases. `admin:pattern:10` creates a database while fewer
 * than 10 match the pattern, no matter who created them.
 */

/** The permission that an operation needs. */
export type Right = 'read' | 'write' | 'deploy' | 'administer';

export const ROLES = ['reader', 'writer', 'deployer', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export const RIGHTS_OF_ROLE: Readonly<Record<Role, readonly Right[]>> = {
  reader: ['read'],
  writer: ['read', 'write'],
  deployer: ['read', 'deploy'],
  admin: ['read', 'write', 'deploy', 'administer'],
};

/** A role on the databases whose names have this pattern. */
export interface Grant {
  readonly role: Role;
  readonly databases: string;
  /** For the role admin: no database is created once so many match the pattern. Absent: no limit. */
  readonly databasesMax?: number | undefined;
}

/** The only role that creates databases. */
const BOUNDED_ROLE = 'admin';
const DATABASES_MAX_MAX = 1_000_000;

export const ALL_DATABASES = '*';

/** Characters of a database name, and `*`, with room for a `*` between all characters of the longest name. */
const PATTERN = /^[a-z0-9*-]{1,127}$/;

const COUNT = /^[1-9]\d{0,6}$/;

/** Returns true for a valid pattern of database names. */
export function isPattern(text: string): boolean {
  return PATTERN.test(text);
}

/** Rule for the text of a grant, for messages. */
export const GRANT_RULE: string = `must be one of ${ROLES.join(', ')}, for some databases only with a pattern, such as reader:shop-*; an admin with a pattern may have a maximum of such databases, up to which it may create more, such as admin:shop-*:10`;

/** Returns true when the parts of a grant are valid together. */
export function isGrant({ role, databases, databasesMax }: Grant): boolean {
  if (databasesMax === undefined) return isPattern(databases);
  return isPattern(databases) && role === BOUNDED_ROLE && databasesMax >= 1 && databasesMax <= DATABASES_MAX_MAX;
}

function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/** Parses a grant; undefined when the text is none. */
export function parseGrant(text: string): Grant | undefined {
  const [role = '', databases = ALL_DATABASES, count, ...more] = text.split(':');
  if (!isRole(role) || more.length > 0 || (count !== undefined && !COUNT.test(count))) return undefined;
  const grant = { role, databases, ...(count !== undefined && { databasesMax: Number(count) }) };
  return isGrant(grant) ? grant : undefined;
}

export function formatGrant({ role, databases, databasesMax }: Grant): string {
  if (databasesMax !== undefined) return `${role}:${databases}:${databasesMax}`;
  return databases === ALL_DATABASES ? role : `${role}:${databases}`;
}

/** Returns true when a grant gives the right on the database of that name. */
export function hasRight(grants: readonly Grant[], right: Right, database: string): boolean {
  return grants.some(({ role, databases }) => RIGHTS_OF_ROLE[role].includes(right) && isNamedBy(databases, database));
}

/**
 * Returns true when the grants give a right on all present and future databases. A grant that limits their number does
 * not give the right to administer them all, because its holder could issue keys without the limit.
 */
export function hasRightOnAll(grants: readonly Grant[], right: Right): boolean {
  return grants.some(
    ({ role, databases, databasesMax }) =>
      databases === ALL_DATABASES &&
      RIGHTS_OF_ROLE[role].includes(right) &&
      (right !== 'administer' || databasesMax === undefined),
  );
}

/** The grants that may create the database, if all of them limit the number of databases; otherwise none. */
export function boundsOf(grants: readonly Grant[], database: string): readonly Grant[] {
  const creating = grants.filter((grant) => hasRight([grant], 'administer', database));
  return creating.some(({ databasesMax }) => databasesMax === undefined) ? [] : creating;
}

/** Returns true when a grant gives the right on any database, existing or not. */
export function hasRightOnAny(grants: readonly Grant[], right: Right): boolean {
  return grants.some(({ role }) => RIGHTS_OF_ROLE[role].includes(right));
}

/** Takes time linear in the name for each `*`: searches for the parts between them in order. */
export function isNamedBy(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

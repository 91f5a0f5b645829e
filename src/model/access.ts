/**
 * Who may do what, in words: rights that operations need, roles that give rights, and grants of a role on databases.
 *
 * ```
 *   role          read  write  deploy  administer
 *   reader         x
 *   writer         x     x
 *   deployer       x            x
 *   admin          x     x      x       x
 * ```
 * A grant is written as `role` or `role:pattern`; the pattern is a name of a database in which `*` stands for any
 * characters, and `*` alone, which is also what is meant without one, for all databases there are or will be.
 * `admin:pattern:10` creates a database while fewer than 10 have the pattern, no matter who created them.
 */

/** What an operation needs. */
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
  /** For the role admin: creations are refused once so many databases match the pattern. Absent: no limit. */
  readonly databasesMax?: number | undefined;
}

/** The only role that creates databases. */
const BOUNDED_ROLE = 'admin';
const DATABASES_MAX_MAX = 1_000_000;

export const ALL_DATABASES = '*';

/** Of names, and `*`; longer than any name with a `*` between its characters would be of no use. */
const PATTERN = /^[a-z0-9*-]{1,127}$/;

const COUNT = /^[1-9]\d{0,6}$/;

/** Of the names of databases. */
export function isPattern(text: string): boolean {
  return PATTERN.test(text);
}

/** Rule for the text of a grant, for messages. */
export const GRANT_RULE: string = `must be one of ${ROLES.join(', ')}, and for some databases alone a pattern behind it, such as reader:shop-*; behind that of an admin, how many such databases there may be for it to create another one, such as admin:shop-*:10`;

/** Whether the parts of a grant go together. */
export function isGrant({ role, databases, databasesMax }: Grant): boolean {
  if (databasesMax === undefined) return isPattern(databases);
  return isPattern(databases) && role === BOUNDED_ROLE && databasesMax >= 1 && databasesMax <= DATABASES_MAX_MAX;
}

function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/** Undefined when it is no grant. */
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

/** Whether any of the grants gives the right on the database of that name. */
export function hasRight(grants: readonly Grant[], right: Right, database: string): boolean {
  return grants.some(({ role, databases }) => RIGHTS_OF_ROLE[role].includes(right) && isNamedBy(databases, database));
}

/**
 * Whether the grants give a right on all present and future databases. A grant that limits their number does not
 * give the right to administer them all, because its holder could issue keys without the limit.
 */
export function hasRightOnAll(grants: readonly Grant[], right: Right): boolean {
  return grants.some(
    ({ role, databases, databasesMax }) =>
      databases === ALL_DATABASES &&
      RIGHTS_OF_ROLE[role].includes(right) &&
      (right !== 'administer' || databasesMax === undefined),
  );
}

/** The grants that may create the database, if each of them bounds how many there are; otherwise none. */
export function boundsOf(grants: readonly Grant[], database: string): readonly Grant[] {
  const creating = grants.filter((grant) => hasRight([grant], 'administer', database));
  return creating.some(({ databasesMax }) => databasesMax === undefined) ? [] : creating;
}

/** The same on any, whether it is there or not. */
export function hasRightOnAny(grants: readonly Grant[], right: Right): boolean {
  return grants.some(({ role }) => RIGHTS_OF_ROLE[role].includes(right));
}

/** In time that is linear in the name for each `*`: the parts between them are looked for one after the other. */
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

/** From the claims of a token that is valid to who it is of, and what that may do. */
import { type Grant, parseGrant } from '#model';
import type { Claims } from './token-text.ts';
import { isObject } from './token-text.ts';

/** What each value of the claim of roles grants; undefined: the values are grants themselves. */
export type GrantsOfRoles = ReadonlyMap<string, readonly Grant[]> | undefined;

export interface IdentityRules {
  /** What ids of principals begin with. */
  readonly prefix: string;
  /** The name of the claim, or the names on the way to it with dots between them. */
  readonly rolesClaim: string;
  readonly grantsOfRoles: GrantsOfRoles;
}

const SUBJECT_LENGTH_MAX = 255;
const VALUE_LENGTH_MAX = 1_024;
const GRANTS_MAX = 256;
/** What is kept of claims, by the names that it has in transactions. */
const KEPT = ['sub', 'iss', 'email', 'preferred_username', 'client_id', 'azp'] as const;
const NAMES = ['preferred_username', 'email', 'name', 'client_id'] as const;

type Named = {
  readonly kind: 'identity';
  readonly id: string;
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly grants: readonly Grant[];
};

export function identityIn(
  claims: Claims,
  { prefix, rolesClaim, grantsOfRoles }: IdentityRules,
): Named | { readonly kind: 'refused'; readonly why: string } {
  const subject = textIn(claims, 'sub');
  if (subject === undefined || subject.length > SUBJECT_LENGTH_MAX) {
    return { kind: 'refused', why: `a token has no sub of 1 to ${SUBJECT_LENGTH_MAX} characters` };
  }
  const grants = grantsFor(rolesIn(claims, rolesClaim), grantsOfRoles);
  if (grants.length > GRANTS_MAX) return { kind: 'refused', why: `a token has more than ${GRANTS_MAX} roles` };
  const named = NAMES.map((claim) => textIn(claims, claim)).find((name) => name !== undefined);
  const known = KEPT.flatMap((claim) => {
    const value = textIn(claims, claim);
    return value === undefined ? [] : [[claim, value] as const];
  });
  return {
    kind: 'identity',
    id: `${prefix}:${subject}`,
    name: named ?? subject,
    attributes: new Map(known),
    grants,
  };
}

/** A list of texts, or one text with blanks between them. Nothing else is a role. */
function rolesIn(claims: Claims, name: string): readonly string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : valueAt(claims, name.split('.'));
  if (typeof value === 'string') return value.split(' ').filter((role) => role !== '');
  return Array.isArray(value) ? value.filter((role) => typeof role === 'string') : [];
}

function valueAt(claims: Claims, names: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of names) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Roles that grant nothing here are of other programs of the same provider. */
function grantsFor(roles: readonly string[], grantsOfRoles: GrantsOfRoles): readonly Grant[] {
  return [...new Set(roles)].flatMap((role) => {
    if (grantsOfRoles !== undefined) return grantsOfRoles.get(role) ?? [];
    const grant = parseGrant(role);
    return grant === undefined ? [] : [grant];
  });
}

/** Without what nobody sees, and no longer than names are; an address that its provider has not seen is no name. */
function textIn(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value !== 'string' || value === '' || value.length > VALUE_LENGTH_MAX) return undefined;
  if (name === 'email' && claims['email_verified'] === false) return undefined;
  return value.isWellFormed() && !/\p{Cc}/u.test(value) ? value : undefined;
}

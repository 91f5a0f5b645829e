/** Turns the claims of a valid token into an identity with grants. */
import { type Grant, parseGrant } from '#model';
import type { Identity } from './token-judge.ts';
import { type Claims, isObject } from './token-text.ts';

/** Grants for each value of the roles claim; undefined: the values are grants themselves. */
export type GrantsOfRoles = ReadonlyMap<string, readonly Grant[]> | undefined;

export interface IdentityRules {
  /** Prefix of the ids of principals. */
  readonly prefix: string;
  /** Name of the claim, or a path of names separated by dots. */
  readonly rolesClaim: string;
  readonly grantsOfRoles: GrantsOfRoles;
}

const SUBJECT_LENGTH_MAX = 255;
const VALUE_LENGTH_MAX = 1_024;
const GRANTS_MAX = 256;
/** Claims that are kept as attributes of transactions. */
const KEPT = ['sub', 'iss', 'email', 'preferred_username', 'client_id', 'azp'] as const;
const NAMES = ['preferred_username', 'email', 'name', 'client_id'] as const;

export function identityIn(
  claims: Claims,
  { prefix, rolesClaim, grantsOfRoles }: IdentityRules,
): Identity | { readonly kind: 'refused'; readonly why: string } {
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

/** Roles are a list of texts, or one text separated by spaces; anything else is ignored. */
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

/** Unknown roles are ignored, because they may be for other applications of the provider. */
function grantsFor(roles: readonly string[], grantsOfRoles: GrantsOfRoles): readonly Grant[] {
  return [...new Set(roles)].flatMap((role) => {
    if (grantsOfRoles !== undefined) return grantsOfRoles.get(role) ?? [];
    const grant = parseGrant(role);
    return grant === undefined ? [] : [grant];
  });
}

/** A printable text of limited length. An e-mail address that the provider has not verified is not used as a name. */
function textIn(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (typeof value !== 'string' || value === '' || value.length > VALUE_LENGTH_MAX) return undefined;
  if (name === 'email' && claims['email_verified'] === false) return undefined;
  return value.isWellFormed() && !/\p{Cc}/u.test(value) ? value : undefined;
}

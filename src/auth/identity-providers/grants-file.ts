/** Reads the file of the operator that maps roles of an identity provider to grants: an object of lists of grants. */
import { failure, messageOf, ok, quote, type Result } from '#base';
import { type Grant, parseGrant } from '#model';
import { isObject } from './token-text.ts';

const ROLES_MAX = 1_000;
const GRANTS_MAX = 32;

/** Parses the content of the file. */
export function readGrantsFile(content: string): Result<ReadonlyMap<string, readonly Grant[]>, string> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (cause) {
    return failure(`is no JSON: ${messageOf(cause)}`);
  }
  if (!isObject(value)) return failure('must be an object, such as {"shop-clerks": ["writer:shop-*"]}');
  const entries = Object.entries(value);
  if (entries.length > ROLES_MAX) return failure(`must have at most ${ROLES_MAX} roles`);
  const grants = new Map<string, readonly Grant[]>();
  for (const [role, list] of entries) {
    const read = Array.isArray(list)
      ? list.map((each) => (typeof each === 'string' ? parseGrant(each) : undefined))
      : [];
    const known = read.filter((each) => each !== undefined);
    if (known.length !== read.length || !Array.isArray(list) || known.length > GRANTS_MAX) {
      return failure(`must have a list of at most ${GRANTS_MAX} grants, such as ["reader:shop-*"], for ${quote(role)}`);
    }
    grants.set(role, known);
  }
  return ok(grants);
}

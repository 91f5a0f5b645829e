/** Paths that tools may request: only those of this node's HTTP API (TC1). */

/** Roots of the API; other paths do not belong to it. */
const ROOTS = [/^\/$/, /^\/db(?:\/|$)/, /^\/databases(?:\/|$)/, /^\/api\/v1(?:\/|$)/, /^\/health(?:\/|$)/];
/**
 * Characters that do not occur in such URLs, or are interpreted differently: blanks, controls, backslashes, fragments.
 */
const FOREIGN = /[^\x21-\x7e]|[\\#]/;
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** The fault of a path without its query; undefined if it is valid. */
function faultIn(path: string): string | undefined {
  if (!path.startsWith('/') || path.startsWith('//')) return 'must begin with one slash, such as /db/orders/latest';
  if (FOREIGN.test(path))
    return 'must consist of printable ASCII without spaces, backslashes and #; encode the rest in percent';
  if (DOTS.test(path)) return 'must not have . or .. as a segment';
  if (!ROOTS.some((root) => root.test(path))) return 'must be /, or begin with /db, /databases, /api/v1 or /health';
  return undefined;
}

export type ApiPath = { readonly path: string } | { readonly fault: string };

/** The path with its query, followed by the parameters. */
export function apiPath(asked: string, parameters: ReadonlyMap<string, string> = new Map()): ApiPath {
  const at = asked.indexOf('?');
  const path = at === -1 ? asked : asked.slice(0, at);
  const fault = faultIn(path);
  if (fault !== undefined) return { fault };
  const query = new URLSearchParams([...parameters]).toString();
  const queries = [at === -1 ? '' : asked.slice(at + 1), query].filter((each) => each !== '');
  if (queries.some((each) => FOREIGN.test(each)))
    return { fault: 'must have a query of printable ASCII, encoded in percent' };
  return { path: queries.length === 0 ? path : `${path}?${queries.join('&')}` };
}

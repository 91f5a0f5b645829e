/**
 * Refuses unknown query parameters and headers of ours; the error names the nearest known one. A misspelt `limit` must
 * not return another page, nor a misspelt `database_id` delete by name.
 */
import { nearestName } from '#base';
import { OF_CLIENTS, untakenRule } from '../own-headers.ts';
import { invalidField } from './errors.ts';
import type { QueryParameters } from './query-string.ts';
import type { HttpRequest } from './request.ts';
import type { Route } from './route.ts';

/** Other names of parameters, in other stores and in our replies. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['cursor', 'after'],
  ['next_cursor', 'after'],
]);

/** @throws DatabaseError for the first unknown parameter */
export function refuseParameters(route: Route, query: QueryParameters): void {
  const { parameters = [], takesBindings = false, takesAnyParameter = false } = route;
  if (takesAnyParameter) return;
  for (const name of query.names()) {
    if (parameters.includes(name) || (takesBindings && name.includes('.'))) continue;
    throw invalidField(name, ruleOf(name, route));
  }
}

/** @throws DatabaseError for the first of our headers that the route does not take */
export function refuseHeaders({ headers = [] }: Route, request: HttpRequest): void {
  for (const name of OF_CLIENTS) {
    const value = request.header(name);
    const rule = value === undefined ? undefined : untakenRule(name, ['x-min-revision', ...headers]);
    if (rule !== undefined) throw invalidField(name, rule, value);
  }
}

function ruleOf(name: string, { method, parameters = [] }: Route): string {
  const unknown = 'is no query parameter of this path';
  if (parameters.length === 0) return `${unknown}: it takes none${method === 'POST' ? '; send it in the body' : ''}`;
  const meant = nearestName(SYNONYMS.get(name) ?? name, parameters);
  return `${unknown}: ${meant === undefined ? '' : `use ${meant}; `}it takes ${parameters.join(', ')}`;
}

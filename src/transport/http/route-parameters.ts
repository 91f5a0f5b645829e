/**
 * Which query parameters a route takes, and what becomes of the others.
 *
 * A write refuses every other one: a misspelt `database_id` must not become a deletion by name, nor a `transaction_id`
 * that stands in the URL a second commit. A read refuses those that mean something elsewhere, such as the `limit` of a
 * list where there is none; what no route knows it passes over, as is usual on the web. (ADR 0072)
 */
import { invalidField } from './errors.ts';
import type { QueryParameters } from './query-string.ts';
import type { Route } from './route.ts';

/** Throws for what the route refuses; `known` are the parameters of all routes. */
export function refuseParameters(route: Route, query: QueryParameters, known: ReadonlySet<string>): void {
  const { parameters = [], method, isRead = method === 'GET', takesAnyParameter = false } = route;
  if (takesAnyParameter) return;
  for (const name of query.names()) {
    if (parameters.includes(name) || (isRead && !known.has(name))) continue;
    throw invalidField(name, `is no query parameter of this path: ${ruleOf(route, parameters)}`);
  }
}

function ruleOf({ method }: Route, parameters: readonly string[]): string {
  if (parameters.length > 0) return `it takes ${parameters.join(', ')}`;
  return method === 'POST' ? 'it takes none, and what it is to be told stands in the body' : 'it takes none';
}

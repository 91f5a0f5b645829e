/**
 * Reads the query string of a rendering (SPEC-HTTP-R5, SPEC-HTTP-R10).
 *
 * A parameter with a dot binds a parameter of the selector. Others are for the presenter; a view without one refuses
 * them. The presenter receives both kinds as sent, but never the end of effective time.
 */
import { DatabaseError } from '#base';
import { CUT } from './effective-time-cut.ts';
import type { QueryParameters } from './query-string.ts';

/** Start of the next page of a presentation: a text of the presenter, which it gets back unchanged. */
const CONTINUATION = 'continuation';

export interface RenderParameters {
  /** End of effective time, as sent. */
  readonly cut: string | undefined;
  /** Bindings by name, `{attribute}.{parameter}`. */
  readonly bindings: ReadonlyMap<string, string>;
  /** Parameters for the presenter, in the order sent. */
  readonly presented: ReadonlyMap<string, string>;
}

/** @throws DatabaseError for a parameter of a presenter without a presenter */
export function renderParameters(
  query: QueryParameters,
  view: { readonly name: string; readonly isPresented: boolean },
): RenderParameters {
  const presented = new Map<string, string>();
  const bindings = new Map<string, string>();
  for (const name of query.names()) {
    const value = query.get(name) ?? '';
    if (name === CUT) continue;
    if (name.includes('.')) bindings.set(name, value);
    else if (!view.isPresented) throw strange(name, view.name);
    presented.set(name, value);
  }
  return { cut: query.get(CUT), bindings, presented };
}

/** URL of the next page. */
export function continuationOf(path: string, query: QueryParameters, token: string): string {
  return `${path}?${query.with(CONTINUATION, token)}`;
}

function strange(name: string, view: string): DatabaseError {
  const description =
    `is for a presenter, and ${view} names none; ` +
    `a State View takes parameters such as subject.${name || 'name'}, and ${CUT}`;
  return new DatabaseError('invalid_argument', `The parameter ${JSON.stringify(name)} ${description}.`, {
    details: { reason: 'InvalidParameters', violations: [{ field: name, description }] },
  });
}

/**
 * What a render's query string says, and to whom (SPEC-HTTP-R5, SPEC-HTTP-R10).
 *
 * A parameter with a dot binds what the State View selects; one without is for the presenter alone, and nothing that a
 * view without one knows. The presenter gets both, as they were sent, and never the cut.
 */
import { DatabaseError } from '#base';
import type { QueryParameters } from './query-string.ts';

const CUT_PARAMETER = 'effective_time_end_at';
/** Where the next page of a presentation begins: a word of the presenter's own, which it gets back as it was. */
const CONTINUATION = 'continuation';

export interface RenderParameters {
  /** The cut as it was sent. */
  readonly cut: string | undefined;
  /** By the names of what the view leaves open, `{attribute}.{parameter}`. */
  readonly bindings: ReadonlyMap<string, string>;
  /** In the order in which they were sent. */
  readonly presented: ReadonlyMap<string, string>;
}

/** @throws DatabaseError when there is one for a presenter, and no presenter. */
export function renderParameters(
  query: QueryParameters,
  view: { readonly name: string; readonly isPresented: boolean },
): RenderParameters {
  const presented = new Map<string, string>();
  const bindings = new Map<string, string>();
  for (const name of query.names()) {
    const value = query.get(name) ?? '';
    if (name === CUT_PARAMETER) continue;
    if (name.includes('.')) bindings.set(name, value);
    else if (!view.isPresented) throw strange(name, view.name);
    presented.set(name, value);
  }
  return { cut: query.get(CUT_PARAMETER), bindings, presented };
}

/** The URL of the next page. */
export function continuationOf(path: string, query: QueryParameters, token: string): string {
  return `${path}?${query.with(CONTINUATION, token)}`;
}

function strange(name: string, view: string): DatabaseError {
  const description =
    `is for a presenter, and ${view} names none; ` +
    `a State View takes parameters such as subject.${name || 'name'}, and ${CUT_PARAMETER}`;
  return new DatabaseError('invalid_argument', `The parameter ${JSON.stringify(name)} ${description}.`, {
    details: { reason: 'InvalidParameters', violations: [{ field: name, description }] },
  });
}

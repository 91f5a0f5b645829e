/**
 * A list that the service gives as a whole: as JSON it is shown so, unless a `limit` is named; other renderings always
 * have one. It goes on behind the last that was shown, `after` its name.
 */
import { pageLimit } from './page.ts';
import type { HttpRequest } from './request.ts';

export const CUT_PARAMETERS = ['limit', 'after'] as const;

export interface CutList<Item> {
  readonly shown: readonly Item[];
  /** Where the list goes on, when it does. */
  readonly next: string | undefined;
}

/** How the items of a list are named, in whose order they are. */
export interface Naming<Item> {
  readonly nameOf: (item: Item) => string;
  readonly isBehind: (item: Item, after: string) => boolean;
}

export function cutList<Item>(request: HttpRequest, items: readonly Item[], naming: Naming<Item>): CutList<Item> {
  const query = request.query();
  const isBounded = query.get('limit') !== undefined || request.rendering() !== undefined;
  const limit = isBounded ? pageLimit(request) : Number.POSITIVE_INFINITY;
  const after = query.get('after');
  const behind = after === undefined ? items : items.filter((item) => naming.isBehind(item, after));
  const shown = behind.slice(0, limit);
  const last = behind.length > shown.length ? shown.at(-1) : undefined;
  const next = last && `${request.path()}?${query.with('after', naming.nameOf(last))}`;
  return { shown, next };
}

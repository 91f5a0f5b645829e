/**
 * Pages of a list that the service returns as a whole. JSON has all of it unless the request has a `limit`; other
 * renderings always have one. The next page begins `after` the last name.
 */
import { pageLimit } from './paging.ts';
import type { HttpRequest } from './request.ts';

export const PAGE_PARAMETERS = ['limit', 'after'] as const;

export interface ListPage<Item> {
  readonly shown: readonly Item[];
  readonly next: string | undefined;
}

/** Names of the items. The list is sorted by them. */
export interface Naming<Item> {
  readonly nameOf: (item: Item) => string;
  readonly isBehind: (item: Item, after: string) => boolean;
}

export function pageOfList<Item>(request: HttpRequest, items: readonly Item[], naming: Naming<Item>): ListPage<Item> {
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

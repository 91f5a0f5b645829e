/** Files that pages of HTML load. A name contains a hash of the content, so a file never changes. */

import { DatabaseError, quote } from '#base';
import { ASSETS, isOfSwagger, swaggerAsset } from '#ui';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route } from './route.ts';

/** Served without a credential: they contain no stored data, and the page of a refusal loads them. */
export const ASSET_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/assets/{file}', isForAnybody: true, isCounted, handle: readAsset },
];

const HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

/** The files of Swagger UI count for the rate limit: they are a hundred times as long, and only one page loads them. */
function isCounted(params: unknown): boolean {
  return typeof params === 'object' && params !== null && 'file' in params && isOfSwagger(String(params.file));
}

function readAsset(request: HttpRequest): HttpReply {
  const file = request.param('file');
  const asset = ASSETS.get(file) ?? swaggerAsset(file);
  if (asset !== undefined) return { status: 200, headers: HEADERS, ...asset };
  // The page that names the file comes from a node of another release.
  const message = `There is no file ${quote(file)} of pages; those that there are: ${[...ASSETS.keys()].join(', ')}`;
  throw new DatabaseError('not_found', message);
}

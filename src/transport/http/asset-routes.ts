/** What pages of HTML load. Names change with what is in them, so what is there never changes. */
import { DatabaseError, quote } from '#base';
import { isOfSwagger, swaggerAsset } from './openapi/swagger-ui.ts';
import { ASSETS } from './rendering/html/assets.ts';
import type { HttpReply } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route } from './route.ts';

/** For anybody: they say nothing of what is stored, and the page that refuses somebody loads them, too. */
export const ASSET_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/assets/{file}', isForAnybody: true, isCounted, handle: readAsset },
];

const HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' };

/** They are a hundred times as long, and no page of ours loads them but the one of Swagger UI. */
function isCounted(params: unknown): boolean {
  return typeof params === 'object' && params !== null && 'file' in params && isOfSwagger(String(params.file));
}

function readAsset(request: HttpRequest): HttpReply {
  const file = request.param('file');
  const asset = ASSETS.get(file) ?? swaggerAsset(file);
  if (asset !== undefined) return { status: 200, headers: HEADERS, ...asset };
  // Those of another release: the page that names them is older, or newer, than this node.
  const message = `There is no file ${quote(file)} of pages; those that there are: ${[...ASSETS.keys()].join(', ')}`;
  throw new DatabaseError('not_found', message);
}

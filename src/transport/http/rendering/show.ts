/** The reply to a read, in the rendering that was asked for. */
import { type HttpReply, jsonReply } from '../reply.ts';
import type { HttpRequest } from '../request.ts';
import type { Description } from './description.ts';
import { bodyJson, type ReplyBody } from './reply-body.ts';

/** What a route has found, and says of it. */
export interface Shown {
  readonly body: ReplyBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly describe: () => Description;
}

/** Whatever a cache keeps of it, it keeps for those who ask for the same rendering. */
export const VARIES = 'accept';

export async function show(request: HttpRequest, { body, headers, describe }: Shown): Promise<HttpReply> {
  const rendering = request.rendering();
  const varying = { ...headers, vary: VARIES };
  if (rendering === undefined) return jsonReply(200, bodyJson(body), varying);
  const description = describe();
  // A form with an id in it is for whoever has asked.
  const isForOne = rendering.hasForms && description.actions.some(({ filled }) => filled !== undefined);
  const keeping = isForOne ? { 'cache-control': 'no-store' } : {};
  const text = await rendering.render(body, description, (work) => request.inTurn(work));
  const all = { ...varying, ...rendering.headers, ...keeping };
  return { status: 200, headers: all, contentType: rendering.contentType, body: text };
}

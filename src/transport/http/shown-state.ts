/** The state of a State View at a revision, on the page of its version. Only for text and JSON. */

import { DatabaseError, formatInstant, quote } from '#base';
import { isJsonType, parseJson } from '#model';
import { isReadable, laidOut, type ShownState } from '#ui';
import { CUT, cutFrom, NOW, nowAt } from './effective-time-cut.ts';
import { invalidField } from './errors.ts';
import type { JsonMembers } from './json-text.ts';
import { STATE_SHOWN_BYTES_MAX } from './limits.ts';
import { parseRevision } from './query-string.ts';
import { renderParameters } from './render-parameters.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

const REVISION = 'revision';

/** Parameters besides those with a dot, which bind the selector. */
export const STATE_PARAMETERS: readonly string[] = [REVISION, CUT];

/** Undefined when no state is requested. @throws DatabaseError when it cannot be shown */
export async function shownState(
  request: HttpRequest,
  context: RouteContext,
  version: number | bigint,
): Promise<ShownState | undefined> {
  const revision = request.query().get(REVISION);
  const query = request.query().without(REVISION);
  const name = request.param('name');
  const { cut: until, bindings } = renderParameters(query, { name, isPresented: true });
  if (revision === undefined) {
    if (until !== undefined) throw invalidField(REVISION, `is missing: at which ${CUT} says more of`);
    return undefined;
  }
  const at = revision === 'latest' ? revision : parseRevision(REVISION, revision);
  const asked = cutFrom(until);
  const cut = asked === NOW ? (await nowAt(request, context, at)).instant : asked;
  const opened = await context.service.openStateView({ ...request.read(), name, version, at });
  const { definition } = opened.version;
  if (!isReadable(definition)) throw notReadable(definition);
  const view = opened.bind({ parameters: bindings, field: 'query', cut });
  const { bytes } = await view.render({ signal: request.signal() });
  return {
    revision: opened.revision,
    cut: view.cut && formatInstant(view.cut),
    query: query.toText(),
    state: await request.inTurn(() => textOf(bytes, definition)),
  };
}

export function stateMembers(shown: ShownState | undefined): JsonMembers {
  if (shown === undefined) return {};
  const { revision, cut, state } = shown;
  return { state_revision: revision, effective_time_end_at: cut, state };
}

interface Shape {
  readonly name: string;
  readonly contentType: string;
}

function textOf(bytes: Uint8Array, { name, contentType }: Shape): string {
  if (bytes.length > STATE_SHOWN_BYTES_MAX) {
    const rule = `is ${bytes.length} bytes, and a page shows ${STATE_SHOWN_BYTES_MAX}; its render has all of them`;
    throw new DatabaseError('too_large', `The state of ${quote(name)} ${rule}`);
  }
  const node = isJsonType(contentType) ? parseJson(bytes) : undefined;
  return node === undefined || node.kind === 'fault' ? Buffer.from(bytes).toString() : laidOut(node);
}

function notReadable({
  name,
  contentType,
  presenter,
}: Shape & { readonly presenter?: object | undefined }): DatabaseError {
  const why = presenter === undefined ? `is ${contentType}` : 'is shown by a presenter';
  const message = `The State View ${quote(name)} ${why}: a page shows text and JSON, everything else its render`;
  return new DatabaseError('invalid_argument', message);
}

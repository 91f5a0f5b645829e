/**
 * The state of a State View on the page of its version: the state at a revision, and a diff to another revision or
 * version. Only for text and JSON.
 */

import { type AskedRevision, DatabaseError, formatInstant, quote } from '#base';
import { isJsonType, parseJson } from '#model';
import type { ReadAt, ReadScope } from '#service';
import { isReadable, laidOut, type ShownState } from '#ui';
import { CUT, cutFrom, NOW, nowAt } from './effective-time-cut.ts';
import { invalidField } from './errors.ts';
import { type JsonMembers, RawJson } from './json-text.ts';
import { STATE_SHOWN_BYTES_MAX } from './limits.ts';
import { unifiedDifference } from './line-difference.ts';
import { parseRevision, type QueryParameters } from './query-string.ts';
import { renderParameters } from './render-parameters.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

const REVISION = 'revision';
const OTHER_REVISION = 'other_revision';
const OTHER_VERSION = 'other_version';
const OWN = [REVISION, OTHER_REVISION, OTHER_VERSION] as const;

/** Parameters besides those with a dot, which bind the selector. */
export const STATE_PARAMETERS: readonly string[] = [...OWN, CUT];

interface Asked {
  readonly name: string;
  readonly version: number | bigint;
  readonly at: ReadAt;
}

/** Undefined when no state is requested. @throws DatabaseError when it cannot be shown */
export async function shownState(
  request: HttpRequest,
  context: RouteContext,
  version: number | bigint,
): Promise<ShownState | undefined> {
  const query = request.query();
  const [revision, otherRevision, otherVersion] = OWN.map((name) => query.get(name));
  if (revision === undefined) {
    const stray = [...query.names()].find((each) => STATE_PARAMETERS.includes(each));
    if (stray !== undefined) throw invalidField(REVISION, `is missing: at which ${stray} says more of`);
    return undefined;
  }
  const read = await reader(request, context);
  const asked = { name: request.param('name'), version, at: atOf(REVISION, revision) };
  const own = await read(asked);
  const shown = { revision: own.revision, cut: own.cut, query: boundIn(query), state: own.text };
  if (otherRevision === undefined && otherVersion === undefined) return shown;
  const other = {
    ...asked,
    at: otherRevision === undefined ? own.revision : atOf(OTHER_REVISION, otherRevision),
    version: otherVersion === undefined ? version : parseRevision(OTHER_VERSION, otherVersion),
  };
  const before = await read(other);
  const difference = await request.inTurn(() => unifiedDifference(before.text, own.text));
  return { ...shown, compared: { version: other.version, revision: before.revision, difference } };
}

export function stateMembers(shown: ShownState | undefined): JsonMembers {
  if (shown === undefined) return {};
  const { revision, cut, state, compared } = shown;
  return {
    state_revision: revision,
    effective_time_end_at: cut,
    other_version: compared && new RawJson(String(compared.version)),
    other_revision: compared?.revision,
    difference: compared?.difference,
    state,
  };
}

function atOf(name: string, text: string): AskedRevision | 'latest' {
  return text === 'latest' ? text : parseRevision(name, text);
}

/** Parts that both states share. */
function boundIn(query: QueryParameters): string {
  return OWN.reduce((rest, name) => rest.without(name), query).toText();
}

interface ReadState extends Pick<ReadScope, 'revision'> {
  readonly cut: string | undefined;
  readonly text: string;
}

/** Reads states by the parameters of the request, both with the same `now`. */
async function reader(request: HttpRequest, context: RouteContext): Promise<(asked: Asked) => Promise<ReadState>> {
  const query = OWN.reduce((rest, name) => rest.without(name), request.query());
  const { cut: text, bindings } = renderParameters(query, { name: request.param('name'), isPresented: true });
  const asked = cutFrom(text);
  const cut = asked === NOW ? (await nowAt(request, context, laterOf(request.query()))).instant : asked;
  return async (side) => {
    const opened = await context.service.openStateView({ ...request.read(), ...side });
    const { definition } = opened.version;
    if (!isReadable(definition)) throw notReadable(definition);
    const view = opened.bind({ parameters: bindings, field: 'query', cut });
    const { bytes } = await view.render({ signal: request.signal() });
    return {
      revision: opened.revision,
      cut: view.cut && formatInstant(view.cut),
      text: await request.inTurn(() => textOf(bytes, definition)),
    };
  };
}

/** The higher of the two revisions. */
function laterOf(query: QueryParameters): AskedRevision | 'latest' {
  const sides = [REVISION, OTHER_REVISION].flatMap((name) => {
    const text = query.get(name);
    return text === undefined ? [] : [atOf(name, text)];
  });
  return sides.reduce((later, each) => (later === 'latest' || (each !== 'latest' && each <= later) ? later : each));
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

/**
 * The state of a State View on the page of its version: the state at a revision, and a diff to another revision or
 * version. Only for text and JSON.
 */

import { type AskedRevision, DatabaseError, formatInstant, quote } from '#base';
import { isJsonType, parseJson, type StateViewDefinition } from '#model';
import type { ReadAt } from '#service';
import { isReadable, laidOut, type ShownState } from '#ui';
import { CUT, cutFrom, NOW, nowAt } from './effective-time-cut.ts';
import { invalidField } from './errors.ts';
import { type JsonMembers, RawJson } from './json-text.ts';
import { STATE_SHOWN_BYTES_MAX } from './limits.ts';
import { unifiedDifference } from './line-difference.ts';
import { parseRevision } from './query-string.ts';
import { renderParameters } from './render-parameters.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

const REVISION = 'revision';
const OTHER_REVISION = 'other_revision';
const OTHER_VERSION = 'other_version';
const OWN = [REVISION, OTHER_REVISION, OTHER_VERSION] as const;

/** Parameters besides those with a dot, which bind the selector. */
export const STATE_PARAMETERS: readonly string[] = [...OWN, CUT];

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
  const at = atOf(REVISION, revision);
  const otherAt = otherRevision === undefined ? undefined : atOf(OTHER_REVISION, otherRevision);
  const bound = OWN.reduce((rest, each) => rest.without(each), query);
  const name = request.param('name');
  const { cut: asked, bindings } = renderParameters(bound, { name, isPresented: true });
  const asAsked = cutFrom(asked);
  // Both states have the same `now`.
  const now = asAsked === NOW ? await nowAt(request, context, laterOf(at, otherAt ?? at)) : undefined;
  const own = await stateAt(at, version);
  const shown = { revision: own.revision, cut: own.cut, query: bound.toText(), state: own.text };
  if (otherAt === undefined && otherVersion === undefined) return shown;
  const other = otherVersion === undefined ? version : parseRevision(OTHER_VERSION, otherVersion);
  const before = await stateAt(otherAt ?? own.revision, other);
  const difference = await request.inTurn(() => unifiedDifference(before.text, own.text));
  return { ...shown, compared: { version: other, revision: before.revision, difference } };

  async function stateAt(where: ReadAt, of: number | bigint) {
    const opened = await context.service.openStateView({ ...request.read(), name, at: where, version: of });
    const { definition } = opened.version;
    if (!isReadable(definition)) throw notReadable(definition);
    const cut = asAsked === NOW ? now?.instant : asAsked;
    const view = opened.bind({ parameters: bindings, field: 'query', cut });
    const { bytes } = await view.render({ signal: request.signal() });
    const text = await request.inTurn(() => textOf(bytes, definition));
    return { revision: opened.revision, cut: view.cut && formatInstant(view.cut), text };
  }
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

type Side = AskedRevision | 'latest';

function atOf(name: string, text: string): Side {
  return text === 'latest' ? text : parseRevision(name, text);
}

/** The higher of the two revisions. */
function laterOf(one: Side, other: Side): Side {
  return one === 'latest' || (other !== 'latest' && other <= one) ? one : other;
}

function textOf(bytes: Uint8Array, { name, contentType }: StateViewDefinition): string {
  if (bytes.length > STATE_SHOWN_BYTES_MAX) {
    const rule = `is ${bytes.length} bytes, and a page shows ${STATE_SHOWN_BYTES_MAX}; its render has all of them`;
    throw new DatabaseError('too_large', `The state of ${quote(name)} ${rule}`);
  }
  const node = isJsonType(contentType) ? parseJson(bytes) : undefined;
  return node === undefined || node.kind === 'fault' ? Buffer.from(bytes).toString() : laidOut(node);
}

function notReadable({ name, contentType, presenter }: StateViewDefinition): DatabaseError {
  const why = presenter === undefined ? `is ${contentType}` : 'is shown by a presenter';
  const message = `The State View ${quote(name)} ${why}: a page shows text and JSON, everything else its render`;
  return new DatabaseError('invalid_argument', message);
}

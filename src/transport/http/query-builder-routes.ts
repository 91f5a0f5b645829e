/**
 * The query builder: a page with a form, always HTML. Its fields become the JSON of `q`, which the parser of queries
 * checks, and the route redirects to the events of the query. Empty fields are left out. Faults name the fields.
 */
import { type DatabaseError, encodeUtf8, toBase64Url } from '#base';
import { describeFault, Faults, parseJson, scopedQueryFromJson } from '#model';
import { BUILDER_CHOICES, BUILDER_ROWS, belowDatabase, PAGE_HEADERS, renderQueryBuilder } from '#ui';
import { type QueryParameters, withoutBlanks } from './query-string.ts';
import { type HttpReply, htmlReply, scopeHeaders } from './reply.ts';
import type { HttpRequest } from './request.ts';
import type { Route, RouteContext } from './route.ts';

const BUILDER_PARAMETERS: readonly string[] = [
  'join',
  ...BUILDER_ROWS.flatMap((row) => [`attribute${row}`, `operator${row}`, `value${row}`]),
  'start',
  'end',
  'from',
  'until',
  'limit',
  'direction',
];

export const QUERY_BUILDER_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/databases/{database}/query-builder', parameters: BUILDER_PARAMETERS, handle: readBuilder },
];

async function readBuilder(request: HttpRequest, { service }: RouteContext): Promise<HttpReply> {
  const database = await service.databaseAt({ ...request.read(), at: 'latest' });
  const headers = { ...scopeHeaders(database), ...PAGE_HEADERS };
  const fields = request.query();
  if (!BUILDER_PARAMETERS.some((name) => fields.get(name) !== undefined)) {
    return htmlReply(200, renderQueryBuilder(database), headers);
  }
  const built = builtQuery(fields);
  if (built.kind === 'query') {
    const location = `${belowDatabase(database, 'events')}?q=${built.q}`;
    return { status: 303, headers: { ...scopeHeaders(database), location, 'cache-control': 'no-store' } };
  }
  // Clients without pages get an error in JSON or TOON.
  if (request.rendering()?.hasForms !== true) throw built.error;
  const values = Object.fromEntries(BUILDER_PARAMETERS.map((name) => [name, fields.get(name) ?? '']));
  const faults = Object.fromEntries(built.faults.violations.map((each) => [each.field, describeFault(each)]));
  return htmlReply(400, renderQueryBuilder(database, { values, faults }), headers);
}

type BuiltQuery =
  | { readonly kind: 'query'; readonly q: string }
  | { readonly kind: 'malformed'; readonly faults: Faults; readonly error: DatabaseError };

export function builtQuery(fields: QueryParameters): BuiltQuery {
  const said = new Faults();
  const rows = BUILDER_ROWS.filter((row) => (fields.get(`value${row}`) ?? '') !== '');
  const terms = rows.map((row) => termOf(fields, row, said));
  const join = choice(fields, 'join', said);
  const text = JSON.stringify({
    selector: terms.length > 1 ? { [join]: terms } : terms[0],
    range: {
      revision: { startAt: filled(fields, 'start'), endAt: filled(fields, 'end') },
      effectiveTime: timesOf(fields),
    },
    direction: choice(fields, 'direction', said),
    limit: filled(fields, 'limit'),
  });
  const bytes = encodeUtf8(text);
  const node = parseJson(bytes);
  const faults = new Faults();
  if (node.kind !== 'fault') scopedQueryFromJson(node, 'q', faults);
  for (const violation of faults.violations) said.addAs(fieldOf(violation.field, rows), violation);
  if (said.none) return { kind: 'query', q: toBase64Url(bytes) };
  return { kind: 'malformed', faults: said, error: said.toError('The query is malformed') };
}

/** A number, a time or a choice, without surrounding blanks. Values to search for stay as typed. */
function filled(fields: QueryParameters, name: string): string | undefined {
  const value = withoutBlanks(fields.get(name) ?? '');
  return value === '' ? undefined : value;
}

/** A range of effective time needs an end: now by default. */
function timesOf(fields: QueryParameters): object | undefined {
  const [from, until] = [filled(fields, 'from'), filled(fields, 'until')];
  if (from === undefined && until === undefined) return undefined;
  return { startAt: from, ...(until === undefined ? { endAtNow: true } : { endAt: until }) };
}

function termOf(fields: QueryParameters, row: number, faults: Faults): object {
  const attribute = choice(fields, `attribute${row}`, faults);
  const operator = choice(fields, `operator${row}`, faults);
  const value = fields.get(`value${row}`) ?? '';
  const isSubject = attribute === 'subject' && operator === 'equals';
  return { [operator]: { [attribute]: isSubject ? { hasValue: true, value } : value } };
}

/** The chosen option; the first one by default. */
function choice(fields: QueryParameters, name: string, faults: Faults): string {
  const options = BUILDER_CHOICES[name.replace(/\d$/, '')] ?? [];
  const [first = ''] = options.map(([value]) => value);
  const chosen = filled(fields, name) ?? first;
  if (options.some(([value]) => value === chosen)) return chosen;
  faults.add(name, `must be one of ${options.map(([value]) => value).join(', ')}`, chosen);
  return first;
}

const FIELDS: Readonly<Record<string, string>> = {
  'q.range.revision.startAt': 'start',
  'q.range.revision.endAt': 'end',
  'q.range.revision': 'end',
  'q.range.effectiveTime.startAt': 'from',
  'q.range.effectiveTime.endAt': 'until',
  'q.range.effectiveTime': 'until',
  'q.limit': 'limit',
};

/** Field of a fault in the query. The terms of the query are in the order of their rows. */
function fieldOf(path: string, rows: readonly number[]): string {
  const [, index = '0'] = /^q\.selector\.(?:and|or)\[(\d+)\]/.exec(path) ?? [];
  return FIELDS[path] ?? `value${rows[Number(index)] ?? 1}`;
}

/**
 * A command: the input of a State Change, in the form that the component receives.
 *
 * Requests have several forms: a method, a path and a body; a body and parameters; a body alone. All of them become one
 * value here. The path may have open segments, filled by parameters of the same names; the other parameters are query
 * parameters.
 */
import { utf8Length } from '#base';
import type { FaultPlace } from './faults.ts';
import { inside, item } from './json-read.ts';
import { COMMAND_BODY_BYTES_MAX, COMMAND_PAIRS_MAX, COMMAND_VALUE_BYTES_MAX, URI_BYTES_MAX } from './limits.ts';
import { mediaTypeRule } from './media-type.ts';
import { fillPath, openNames, parsePathTemplate } from './path-template.ts';
import { describeTextFault, nameRule } from './text-rules.ts';

export type Pairs = readonly (readonly [name: string, value: string])[];

export interface Command {
  /** In uppercase. */
  readonly method: string;
  /** Starts with "/", percent-encoded, without a query. */
  readonly path: string;
  readonly queryParameters: Pairs;
  /** Names in lowercase; the content type is one of them. */
  readonly headers: Pairs;
  readonly body: Uint8Array | undefined;
}

/** A command as requested. */
export interface AskedCommand {
  /** Default POST. */
  readonly method?: string | undefined;
  /** Default "/". */
  readonly path?: string | undefined;
  /** Values of the open segments of the path; the others are query parameters. */
  readonly parameters?: ReadonlyMap<string, string> | undefined;
  readonly queryParameters?: Pairs | undefined;
  readonly headers?: Pairs | undefined;
  readonly contentType?: string | undefined;
  readonly body?: Uint8Array | undefined;
}

const METHOD = /^[A-Za-z]{1,32}$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/;
/** Visible characters, white space inside a line, and non-ASCII characters. */
const HEADER_VALUE = /^[\t\P{Cc}]*$/u;
const CONTENT_TYPE = 'content-type';

/** The command, or undefined with faults added, which name fields as the wire does. */
export function commandFrom(asked: AskedCommand, place: FaultPlace): Command | undefined {
  const { faults } = place;
  const countBefore = faults.count;
  const { method = 'POST', parameters = new Map<string, string>(), queryParameters = [], headers = [], body } = asked;
  if (!METHOD.test(method)) faults.add(inside(place, 'method').field, 'must be 1 to 32 letters, such as POST', method);
  const { path, rest } = pathOf(asked.path ?? '/', parameters, place);
  checkQuery([...queryParameters, ...rest], place);
  checkHeaders(headers, asked.contentType, place);
  if (body !== undefined && body.length > COMMAND_BODY_BYTES_MAX) {
    faults.add(inside(place, 'body').field, `must be at most ${COMMAND_BODY_BYTES_MAX} bytes`, body.length);
  }
  if (faults.count > countBefore || path === undefined) return undefined;
  const given = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  const { contentType } = asked;
  return {
    method: method.toUpperCase(),
    path,
    queryParameters: [...queryParameters, ...rest],
    headers: contentType === undefined ? given : [[CONTENT_TYPE, contentType], ...given],
    body,
  };
}

function pathOf(
  text: string,
  parameters: ReadonlyMap<string, string>,
  place: FaultPlace,
): { readonly path: string | undefined; readonly rest: Pairs } {
  const at = inside(place, 'path');
  const template = parsePathTemplate(text, at);
  if (template === undefined) return { path: undefined, rest: [] };
  const names = openNames(template);
  const path = fillPath(template, parameters, inside(place, 'parameters'));
  // Filling in values may exceed the limit.
  if (path !== undefined && path.length > URI_BYTES_MAX) {
    at.faults.add(at.field, `must be at most ${URI_BYTES_MAX} bytes with its parameters`, path);
  }
  return { path, rest: [...parameters].filter(([name]) => !names.has(name)) };
}

function checkQuery(pairs: Pairs, place: FaultPlace): void {
  const list = inside(place, 'query_params');
  if (pairs.length > COMMAND_PAIRS_MAX) {
    list.faults.add(list.field, `must be at most ${COMMAND_PAIRS_MAX}`, pairs.length);
    return;
  }
  for (const [index, [name, value]] of pairs.entries()) {
    const { field, faults } = item(list, index);
    const rule = nameRule(name);
    if (rule !== undefined) faults.add(`${field}.name`, rule, name);
    if (!value.isWellFormed()) faults.add(`${field}.value`, describeTextFault('ill-formed', 0), value);
    checkLength(value, { field: `${field}.value`, faults });
  }
}

function checkHeaders(headers: Pairs, contentType: string | undefined, place: FaultPlace): void {
  const list = inside(place, 'headers');
  if (headers.length > COMMAND_PAIRS_MAX) {
    list.faults.add(list.field, `must be at most ${COMMAND_PAIRS_MAX}`, headers.length);
    return;
  }
  for (const [index, [name, value]] of headers.entries()) {
    const { field, faults } = item(list, index);
    if (!HEADER_NAME.test(name)) faults.add(`${field}.name`, 'must be a token of HTTP such as content-type', name);
    if (!HEADER_VALUE.test(value) || !value.isWellFormed())
      faults.add(`${field}.value`, 'must be one line of well-formed text', value);
    checkLength(value, { field: `${field}.value`, faults });
    if (contentType !== undefined && name.toLowerCase() === CONTENT_TYPE)
      faults.add(`${field}.name`, 'must not be the content type, which is given by itself', name);
  }
  const rule = contentType === undefined ? undefined : mediaTypeRule(contentType);
  if (rule !== undefined) list.faults.add(inside(place, 'content_type').field, rule, contentType);
}

function checkLength(value: string, { field, faults }: FaultPlace): void {
  if (utf8Length(value) > COMMAND_VALUE_BYTES_MAX)
    faults.add(field, `must be at most ${COMMAND_VALUE_BYTES_MAX} bytes of UTF-8`, value);
}

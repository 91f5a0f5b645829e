/**
 * Reads forms of pages, which browsers send without scripts. Their fields become the body and headers that another
 * client would have sent, before the route sees the request (ADR 0141).
 *
 *   TH15 A form cannot express more than the JSON of its route, and the same rules apply to it.
 *
 * A request is a form when a page offers an action on its route, it has a content type of forms, and it accepts HTML.
 * The same bytes with another `Accept` are not a form.
 */

import type { FastifyRequest } from 'fastify';
import { NO_BYTES } from '#base';
import { Faults, parseJson, RAW_DATA } from '#model';
import type { Action, Form } from '#ui';
import { invalidField } from './errors.ts';
import { type JsonMembers, jsonObject, RawJson } from './json-text.ts';
import { FORM_BYTES_MAX, FORM_FIELDS_MAX } from './limits.ts';
import { charsetFault, contentTypeOf } from './negotiation.ts';
import { parseFields, withoutBlanks } from './query-string.ts';
import { renderingFor } from './renderings.ts';

export interface SaidByForm {
  readonly body: Uint8Array;
  /** Headers to set, or to remove when undefined; lowercase names. */
  readonly headers: ReadonlyMap<string, string | undefined>;
}

const FIELDS_TYPE = 'application/x-www-form-urlencoded';
const PARTS_TYPE = 'multipart/form-data';
/** The action of the form; undefined when the request is not a form. */
export function formOf({ headers, routeOptions, params }: FastifyRequest): (Action & { form: Form }) | undefined {
  const offered = routeOptions.config.route?.offered;
  if (offered === undefined) return undefined;
  const { essence } = contentTypeOf(headers['content-type'] ?? '');
  if (essence !== FIELDS_TYPE && essence !== PARTS_TYPE) return undefined;
  if (renderingFor(headers.accept)?.hasForms !== true) return undefined;
  const action = offered(typeof params === 'object' && params !== null ? { ...params } : {});
  // Fields in place of parts, or parts in place of fields, are refused as for other clients.
  const isOffered = (action.contentType === PARTS_TYPE) === (essence === PARTS_TYPE);
  return isOffered && action.form !== undefined ? { ...action, form: action.form } : undefined;
}

/** Bytes allowed in the body of a request. Forms with fields have a lower limit of their own. */
export function bodyBytesMax(request: FastifyRequest): number {
  const bytesMax = request.routeOptions.bodyLimit ?? 0;
  const form = formOf(request);
  return form === undefined || form.contentType !== undefined ? bytesMax : Math.min(bytesMax, FORM_BYTES_MAX);
}

/** @throws DatabaseError invalid_argument: the body is not an encoded form */
export function fieldsIn(body: Uint8Array, contentType: string): ReadonlyMap<string, string> {
  const fault = charsetFault(contentType);
  if (fault !== undefined) throw invalidField('Content-Type', fault, contentType);
  return parseFields(textOf(body), { place: 'body', countMax: FORM_FIELDS_MAX });
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(body: Uint8Array): string {
  try {
    return utf8.decode(body);
  } catch {
    throw invalidField('body', 'must be fields in UTF-8, with percent encodings');
  }
}

/** @throws DatabaseError invalid_argument: with all faults of the fields */
export function saidBy({ fields }: Form, given: ReadonlyMap<string, string>): SaidByForm {
  const faults = new Faults();
  const headers = new Map<string, string | undefined>();
  const members = new Map<string, JsonMembers[string]>();
  let body: Uint8Array = NO_BYTES;
  for (const [name, value] of given) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined)
      faults.add(name, `is no field of this form: it has ${Object.keys(fields).join(', ') || 'none'}`);
    // Browsers send empty fields, too.
    else if (value === '') continue;
    else if (field.becomes === 'header') headers.set(name, withoutBlanks(value));
    else if (field.becomes === 'body') body = Buffer.from(asTyped(value));
    else members.set(name, field.becomes === 'json' ? jsonIn(name, asTyped(value), faults) : value);
  }
  faults.throwIfAny('The form is malformed');
  const isObject = Object.values(fields).some(({ becomes }) => becomes === 'text' || becomes === 'json');
  if (isObject) body = Buffer.from(jsonObject(Object.fromEntries(members)));
  headers.set('content-type', body.length > 0 ? 'application/json' : undefined);
  return { body, headers };
}

/** Browsers send line breaks as CR LF. */
function asTyped(value: string): string {
  return value.replaceAll('\r\n', '\n');
}

/** Checks that the text is one JSON value, so that it cannot add other members. */
function jsonIn(name: string, text: string, faults: Faults): RawJson {
  const node = parseJson(Buffer.from(text), { raw: RAW_DATA });
  if (node.kind === 'fault') faults.add(name, `must be JSON: ${node.message}`);
  return new RawJson(text);
}

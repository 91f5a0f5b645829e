/**
 * Forms of pages that write: requests that a browser sends without scripts. Their fields become the body and the
 * headers that a client would have sent, before the route sees any of it (ADR 0141).
 *
 *   TH15 A form says nothing that the JSON of its route could not, and is judged by the same rules.
 *
 * A request is a form where its route is one that pages offer, its content type is one that forms have, and it asks
 * for HTML. Everything else is what it was: the same bytes that ask for JSON are no form.
 */
import type { FastifyRequest } from 'fastify';
import { Faults, parseJson, RAW_DATA } from '#model';
import { charsetFault, contentTypeOf } from './content-type.ts';
import { invalidField } from './errors.ts';
import { type JsonText, jsonObject, jsonString } from './json-text.ts';
import { FORM_BYTES_MAX, FORM_FIELDS_MAX } from './limits.ts';
import { parseFields, withoutBlanks } from './query-string.ts';
import type { Action, Form, FormField } from './rendering/description.ts';
import { renderingFor } from './rendering/renderings.ts';

/** What a form says, as a client would. */
export interface SaidByForm {
  readonly body: Uint8Array;
  /** In the place of those that were sent, or of none; lowercase names. */
  readonly headers: ReadonlyMap<string, string | undefined>;
}

const FIELDS_TYPE = 'application/x-www-form-urlencoded';
const PARTS_TYPE = 'multipart/form-data';
const NO_BYTES = new Uint8Array(0);

/** The action that a page offers by this form; undefined: the request is none. */
export function formOf({ headers, routeOptions, params }: FastifyRequest): (Action & { form: Form }) | undefined {
  const { offered } = routeOptions.config;
  if (offered === undefined) return undefined;
  const { essence } = contentTypeOf(headers['content-type'] ?? '');
  if (essence !== FIELDS_TYPE && essence !== PARTS_TYPE) return undefined;
  if (renderingFor(headers.accept)?.hasForms !== true) return undefined;
  const action = offered(paramsIn(params));
  // What is sent in fields where parts are wanted, and the other way round, is refused as it is in JSON.
  const isOffered = (action.contentType === PARTS_TYPE) === (essence === PARTS_TYPE);
  return isOffered && action.form !== undefined ? { ...action, form: action.form } : undefined;
}

/** Of a request: no more than its route takes, and of a form in fields no more than of any. */
export function bodyBytesMax(request: FastifyRequest): number {
  const bytesMax = request.routeOptions.bodyLimit ?? 0;
  const form = formOf(request);
  return form === undefined || form.contentType !== undefined ? bytesMax : Math.min(bytesMax, FORM_BYTES_MAX);
}

function paramsIn(params: unknown): Readonly<Record<string, string>> {
  return typeof params === 'object' && params !== null ? { ...params } : {};
}

/** @throws DatabaseError invalid_argument: they are not what a form sends */
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

/** @throws DatabaseError invalid_argument: with everything that is wrong in the fields themselves */
export function saidBy({ fields }: Form, given: ReadonlyMap<string, string>): SaidByForm {
  const faults = new Faults();
  const headers = new Map<string, string | undefined>();
  const members = new Map<string, JsonText>();
  let body: Uint8Array = NO_BYTES;
  for (const [name, value] of given) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) faults.add(name, `is no field of this form: it has ${namesOf(fields)}`);
    // Browsers send what nobody has filled in as well.
    else if (value === '') continue;
    else if (field.becomes === 'header') headers.set(name, withoutBlanks(value));
    else if (field.becomes === 'body') body = Buffer.from(asTyped(value));
    else members.set(name, field.becomes === 'json' ? jsonIn(name, asTyped(value), faults) : jsonString(value));
  }
  faults.throwIfAny('The form is malformed');
  const isObject = Object.values(fields).some(({ becomes }) => becomes === 'text' || becomes === 'json');
  if (isObject) body = Buffer.from(jsonObject(Object.fromEntries(members)));
  headers.set('content-type', body.length > 0 ? 'application/json' : undefined);
  return { body, headers };
}

function namesOf(fields: Readonly<Record<string, FormField>>): string {
  const names = Object.keys(fields);
  return names.length === 0 ? 'none' : names.join(', ');
}

/** Browsers write line breaks of two characters, which nobody has typed. */
function asTyped(value: string): string {
  return value.replaceAll('\r\n', '\n');
}

/** One value, so that nothing behind it becomes a member of its own. */
function jsonIn(name: string, text: string, faults: Faults): JsonText {
  const node = parseJson(Buffer.from(text), { raw: RAW_DATA });
  if (node.kind === 'fault') faults.add(name, `must be JSON: ${node.message}`);
  return text;
}

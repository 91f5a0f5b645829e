/**
 * Parses the JSON body of a request from its raw bytes, without loss (TH5).
 *
 * The content type must be `application/json`, a CloudEvents type or another `+json`, in UTF-8 and without content
 * encoding. fastify does not touch the bytes; a route parses them.
 */
import {
  describeNode,
  Faults,
  type JsonNode,
  type JsonObject,
  type JsonOptions,
  parseJson,
  refuseOthers,
} from '#model';
import { invalidField } from './errors.ts';
import { charsetFault, contentTypeOf } from './negotiation.ts';
import type { HttpRequest } from './request.ts';

export type BodyType = 'json' | 'cloudevent' | 'cloudevent-batch';

export interface JsonBody {
  readonly type: BodyType;
  readonly node: JsonNode;
}

const TYPE_RULE =
  'must be application/json, application/cloudevents+json, application/cloudevents-batch+json or another type of JSON ' +
  'that ends in +json';
const CLOUDEVENT = 'application/cloudevents+json';
const CLOUDEVENT_BATCH = 'application/cloudevents-batch+json';

export function readJsonBody(request: HttpRequest, options: JsonOptions = {}): JsonBody {
  const type = bodyType(request);
  const node = parseJson(request.body(), options);
  if (node.kind !== 'fault') return { type, node };
  if (node.isTooLarge) throw request.refuseBody(`holds too much: ${node.message}`);
  throw invalidField('body', `must be JSON: ${node.message}`);
}

/** Parses the body as an object with no members but these. */
export function readJsonObject(request: HttpRequest, known: readonly string[], options?: JsonOptions): JsonObject {
  const { node } = readJsonBody(request, options);
  if (node.kind !== 'object') throw invalidField('body', 'must be a JSON object', describeNode(node));
  const faults = new Faults();
  refuseOthers(node, known, { field: '', faults });
  faults.throwIfAny('The request is malformed');
  return node;
}

/** Like `readJsonObject`; undefined when there is no body, whatever its content type. */
export function readOptionalJsonObject(request: HttpRequest, known: readonly string[]): JsonObject | undefined {
  return request.body().length === 0 ? undefined : readJsonObject(request, known);
}

/** @throws DatabaseError invalid_argument: the body is compressed */
export function assertNotEncoded(request: HttpRequest): void {
  const encoding = request.header('content-encoding');
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return;
  throw invalidField('Content-Encoding', 'must be absent: bodies are taken as they are', encoding);
}

function bodyType(request: HttpRequest): BodyType {
  assertNotEncoded(request);
  const contentType = request.header('content-type');
  if (contentType === undefined) throw invalidField('Content-Type', `${TYPE_RULE}; it is missing`);
  const fault = charsetFault(contentType);
  if (fault !== undefined) throw invalidField('Content-Type', fault, contentType);
  const { essence } = contentTypeOf(contentType);
  if (essence === CLOUDEVENT) return 'cloudevent';
  if (essence === CLOUDEVENT_BATCH) return 'cloudevent-batch';
  if (essence === 'application/json' || essence.endsWith('+json')) return 'json';
  throw invalidField('Content-Type', TYPE_RULE, contentType);
}

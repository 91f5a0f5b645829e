/**
 * The options of a transaction in JSON: members of the request body, in the words of the specification.
 * `last_read_revision`, `principal_attributes` (an object of strings), `commit_message`, `correlation_id`,
 * `causation_id`; camel case is understood.
 */
import { quote } from '#base';
import type { JsonNode, JsonObject } from './json.ts';
import { countFrom, inside, type JsonPlace, member, objectFrom, textFrom } from './json-read.ts';
import type { TransactionOptions } from './transaction.ts';
import { checkTransactionOptions } from './transaction-options.ts';

const LAST_READ = ['last_read_revision', 'lastReadRevision'];
const PRINCIPAL = ['principal_attributes', 'principalAttributes'];
const COMMIT_MESSAGE = ['commit_message', 'commitMessage'];
const CORRELATION = ['correlation_id', 'correlationId'];
const CAUSATION = ['causation_id', 'causationId'];

/** All members of a body that are options, for whoever refuses unknown ones. */
export const OPTION_NAMES: readonly string[] = [
  ...LAST_READ,
  ...PRINCIPAL,
  ...COMMIT_MESSAGE,
  ...CORRELATION,
  ...CAUSATION,
];

/** The options among the members of the object, or undefined with faults added. Other members are not looked at. */
export function optionsFromJson(object: JsonObject, place: JsonPlace): TransactionOptions | undefined {
  const countBefore = place.faults.count;
  const lastRead = member(object, LAST_READ, place);
  const principal = member(object, PRINCIPAL, place);
  const options: TransactionOptions = {
    lastReadRevision: lastRead === undefined ? undefined : countFrom(lastRead, inside(place, 'last_read_revision')),
    principalAttributes: principal === undefined ? new Map() : attributesFrom(principal, place),
    commitMessage: textOf(object, COMMIT_MESSAGE, place),
    correlationId: textOf(object, CORRELATION, place),
    causationId: textOf(object, CAUSATION, place),
  };
  checkTransactionOptions(options, place);
  return place.faults.count === countBefore ? options : undefined;
}

function textOf(object: JsonObject, spellings: readonly string[], place: JsonPlace): string | undefined {
  const node = member(object, spellings, place);
  return node === undefined ? undefined : textFrom(node, inside(place, spellings[0] ?? ''));
}

function attributesFrom(node: JsonNode, place: JsonPlace): ReadonlyMap<string, string> {
  const inner = inside(place, 'principal_attributes');
  const attributes = new Map<string, string>();
  for (const [key, value] of objectFrom(node, inner)?.members ?? []) {
    const text = textFrom(value, { ...inner, field: `${inner.field}[${quote(key)}]` });
    if (text !== undefined) attributes.set(key, text);
  }
  return attributes;
}

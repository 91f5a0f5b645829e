/**
 * The options of a transaction in JSON: members of the request body, with the names of the specification.
 * `last_read_revision`, `principal_attributes` (an object of strings), `commit_message`, `correlation_id`,
 * `causation_id`; camel case is accepted.
 */
import { quote } from '#base';
import type { FaultPlace } from './faults.ts';
import type { JsonNode, JsonObject } from './json.ts';
import { countFrom, readMember, textFrom, textsFrom } from './json-read.ts';
import type { TransactionOptions } from './transaction.ts';
import { checkTransactionOptions } from './transaction-options.ts';

const LAST_READ = ['last_read_revision', 'lastReadRevision'];
const PRINCIPAL = ['principal_attributes', 'principalAttributes'];
const COMMIT_MESSAGE = ['commit_message', 'commitMessage'];
const CORRELATION = ['correlation_id', 'correlationId'];
const CAUSATION = ['causation_id', 'causationId'];

/** All option members of a body, for callers that refuse unknown members. */
export const OPTION_NAMES: readonly string[] = [
  ...LAST_READ,
  ...PRINCIPAL,
  ...COMMIT_MESSAGE,
  ...CORRELATION,
  ...CAUSATION,
];

/** The options among the members of the object, or undefined with faults added. Other members are ignored. */
export function optionsFromJson(object: JsonObject, place: FaultPlace): TransactionOptions | undefined {
  const countBefore = place.faults.count;
  const options: TransactionOptions = {
    lastReadRevision: readMember(object, LAST_READ, place, countFrom),
    principalAttributes: readMember(object, PRINCIPAL, place, attributesFrom) ?? new Map(),
    commitMessage: readMember(object, COMMIT_MESSAGE, place, textFrom),
    correlationId: readMember(object, CORRELATION, place, textFrom),
    causationId: readMember(object, CAUSATION, place, textFrom),
  };
  checkTransactionOptions(options, place);
  return place.faults.count === countBefore ? options : undefined;
}

function attributesFrom(node: JsonNode, place: FaultPlace): ReadonlyMap<string, string> {
  return textsFrom(node, place, ({ field, faults }, key) => ({ field: `${field}[${quote(key)}]`, faults }));
}

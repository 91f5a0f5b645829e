/**
 * Messages of publishing between processes.
 *
 *   options   u8 kind   limits, 3 varints   limits and time of the smoke call   function name?   sample?   examples?
 *   answer    a value: ok with the artifact; err with the refusal
 */
import { type Field, failure, fieldsOf, listOf, mapped, ok, oneOf, optional, type Result, TEXT, VARINT } from '#base';
import { VALUE, VALUES } from '../abi/value-codec.ts';
import { isRecord, tagged, type Value } from '../abi/values.ts';
import { decodeArtifact } from '../guest/artifact.ts';
import { LIMITED, type Limited } from '../guest/calls.ts';
import type { ComponentLimits } from '../limits.ts';
import { COMPONENT_KINDS } from '../reading/allowed-imports.ts';
import { REFUSAL_CODES, type Refusal } from '../reading/refusal.ts';
import type { Published, PublishOptions } from './publish.ts';
import type { SdkExamples } from './sdk-fitting.ts';

const EXAMPLE = fieldsOf<{ readonly name: string; readonly answer: Value }>({ name: TEXT, answer: VALUE });

const EXAMPLES = fieldsOf<SdkExamples>({
  given: VALUES,
  answers: mapped(
    listOf(EXAMPLE),
    (answers) => Array.from(answers, ([name, answer]) => ({ name, answer })),
    (examples) => new Map(examples.map(({ name, answer }) => [name, answer])),
  ),
});

export const PUBLISH_OPTIONS: Field<PublishOptions> = fieldsOf<PublishOptions>({
  kind: oneOf(COMPONENT_KINDS),
  limits: fieldsOf<ComponentLimits>({ componentBytesMax: VARINT, memoryBytesMax: VARINT, tableElementsMax: VARINT }),
  smoke: fieldsOf<Limited>(LIMITED),
  functionName: optional(TEXT),
  sample: optional(VALUES),
  sdk: optional(EXAMPLES),
});

export function publishedValue(result: Result<Published, Refusal>): Value {
  return result.kind === 'failure' ? tagged('err', { ...result.reason }) : tagged('ok', result.value.artifact);
}

/** Decodes the answer of a process that read a hostile component; undefined when it is malformed. */
export function publishedFrom(value: Value): Result<Published, Refusal> | undefined {
  if (!isRecord(value)) return undefined;
  const { tag, val } = value;
  if (tag === 'err') return refusalFrom(val);
  const artifact = tag === 'ok' && val instanceof Uint8Array ? decodeArtifact(val) : undefined;
  if (!(val instanceof Uint8Array) || artifact === undefined) return undefined;
  return ok({ digest: artifact.digest, binding: artifact.binding, artifact: val });
}

function refusalFrom(value: Value): Result<never, Refusal> | undefined {
  if (!isRecord(value)) return undefined;
  const { code, message, offset } = value;
  const known = REFUSAL_CODES.find((each) => each === code);
  if (known === undefined || typeof message !== 'string' || typeof offset !== 'number') return undefined;
  return failure({ code: known, message, offset });
}

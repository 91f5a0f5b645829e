/**
 * Messages of publishing between processes.
 *
 *   options   u8 kind   limits, 8 varints   limits and time of the smoke call   function name, sample, examples: values
 *   answer    a value: ok with the artifact; err with the refusal
 */
import { type ByteReader, type ByteWriter, failure, ok, type Result } from '#base';
import { fail, readValue, writeValue } from '../abi/value-codec.ts';
import { isList, isRecord, tagged, type Value } from '../abi/values.ts';
import { decodeArtifact } from '../guest/artifact.ts';
import { readLimited, writeLimited } from '../guest/limited-codec.ts';
import { componentLimits } from '../limits.ts';
import type { ComponentKind } from '../reading/allowed-imports.ts';
import { REFUSAL_CODES, type Refusal } from '../reading/refusal.ts';
import type { Published, PublishOptions } from './publish.ts';
import type { SdkExamples } from './sdk-fitting.ts';

const KINDS: readonly ComponentKind[] = ['state-view', 'state-change', 'presenter'];

export function writePublishOptions(writer: ByteWriter, options: PublishOptions): void {
  const { kind, limits, functionName, sample, smoke, sdk } = options;
  writer.u8(KINDS.indexOf(kind));
  for (const limit of Object.values<number>({ ...componentLimits((name) => limits[name]) })) writer.varint(limit);
  writeLimited(writer, smoke);
  writeValue(writer, functionName);
  writeValue(writer, sample);
  writeValue(writer, sdk === undefined ? undefined : [sdk.given, Array.from(sdk.answers)]);
}

export function readPublishOptions(reader: ByteReader): PublishOptions {
  const kind = KINDS[reader.u8()];
  if (kind === undefined) fail(reader);
  const limits = componentLimits(() => reader.varint());
  const smoke = readLimited(reader);
  const [functionName, sample] = [readValue(reader), readValue(reader)];
  const sdk = examplesFrom(readValue(reader));
  return {
    kind: kind ?? 'state-view',
    limits,
    smoke,
    ...(typeof functionName === 'string' ? { functionName } : {}),
    ...(isList(sample) ? { sample } : {}),
    ...(sdk === undefined ? {} : { sdk }),
  };
}

function examplesFrom(value: Value): SdkExamples | undefined {
  const [given, answers] = isList(value) ? value : [];
  if (!isList(given) || !isList(answers)) return undefined;
  return { given, answers: new Map(answers.flatMap((pair) => answerFrom(pair))) };
}

function answerFrom(pair: Value): readonly (readonly [string, Value])[] {
  const [name, answer] = isList(pair) ? pair : [];
  return typeof name === 'string' ? [[name, answer]] : [];
}

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

/**
 * What publishing is asked and answers, between processes.
 *
 *   options   u8 kind   limits, 8 varints   limits and time of the smoke call   function name, sample, examples: values
 *   answer    a value: ok with the artifact, imports and exports; err with the refusal
 */
import { type ByteReader, type ByteWriter, failure, ok, type Result } from '#base';
import { isList, isRecord, tagged, type Value } from '../abi/values.ts';
import { readLimited, writeLimited } from '../executors/limited-codec.ts';
import { fail, readValue, writeValue } from '../executors/value-codec.ts';
import type { ComponentLimits } from '../limits.ts';
import type { ComponentKind, ImportedInterface } from '../reading/allowed-imports.ts';
import { REFUSAL_CODES, type Refusal } from '../reading/refusal.ts';
import type { ExportedFunction } from '../reading/worlds.ts';
import { decodeArtifact } from './artifact.ts';
import type { Published, PublishOptions } from './publish.ts';
import type { SdkExamples } from './sdk-fitting.ts';

const KINDS: readonly ComponentKind[] = ['state-view', 'state-change', 'presenter'];

export function writePublishOptions(writer: ByteWriter, options: PublishOptions): void {
  const { kind, limits, functionName, sample, smoke, sdk } = options;
  writer.u8(KINDS.indexOf(kind));
  for (const limit of listed(limits)) writer.varint(limit);
  writeLimited(writer, smoke);
  writeValue(writer, functionName);
  writeValue(writer, sample);
  writeValue(writer, sdk === undefined ? undefined : [sdk.given, Array.from(sdk.answers)]);
}

function listed(limits: ComponentLimits): readonly number[] {
  return [
    limits.componentBytesMax,
    limits.memoryBytesMax,
    limits.tableElementsMax,
    limits.coreModulesMax,
    limits.coreInstancesMax,
    limits.nestedComponentsMax,
    limits.functionBytesMax,
    limits.localsMax,
  ];
}

export function readPublishOptions(reader: ByteReader): PublishOptions {
  const kind = KINDS[reader.u8()];
  if (kind === undefined) fail(reader);
  const limits: ComponentLimits = {
    componentBytesMax: reader.varint(),
    memoryBytesMax: reader.varint(),
    tableElementsMax: reader.varint(),
    coreModulesMax: reader.varint(),
    coreInstancesMax: reader.varint(),
    nestedComponentsMax: reader.varint(),
    functionBytesMax: reader.varint(),
    localsMax: reader.varint(),
  };
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
  if (result.kind === 'failure') return tagged('err', { ...result.reason });
  const { artifact, imports, exports } = result.value;
  // What is long comes last, so that nothing behind it makes the writer grow.
  return tagged('ok', [imports.map((each) => ({ ...each })), exports.map((each) => ({ ...each })), artifact]);
}

/** Of a process that looked at a hostile component: undefined where it makes no sense. */
export function publishedFrom(value: Value): Result<Published, Refusal> | undefined {
  if (!isRecord(value)) return undefined;
  const { tag, val } = value;
  if (tag === 'err') return refusalFrom(val);
  if (tag !== 'ok' || !isList(val)) return undefined;
  const [importList, exportList, bytes] = val;
  const artifact = bytes instanceof Uint8Array ? decodeArtifact(bytes) : undefined;
  const [imports, exports] = [every(importList, importedFrom), every(exportList, exportedFrom)];
  if (!(bytes instanceof Uint8Array) || artifact === undefined || imports === undefined || exports === undefined) {
    return undefined;
  }
  return ok({ digest: artifact.digest, binding: artifact.binding, imports, exports, artifact: bytes });
}

function refusalFrom(value: Value): Result<never, Refusal> | undefined {
  if (!isRecord(value)) return undefined;
  const { code, message, offset } = value;
  const known = REFUSAL_CODES.find((each) => each === code);
  if (known === undefined || typeof message !== 'string' || typeof offset !== 'number') return undefined;
  return failure({ code: known, message, offset });
}

function importedFrom(value: Value): ImportedInterface | undefined {
  if (!isRecord(value)) return undefined;
  const { name } = value;
  const [functions, resources] = [every(value['functions'], textFrom), every(value['resources'], textFrom)];
  if (typeof name !== 'string' || functions === undefined || resources === undefined) return undefined;
  return { name, functions, resources };
}

function exportedFrom(value: Value): ExportedFunction | undefined {
  if (!isRecord(value)) return undefined;
  const { name, shape, interface: interfaceName } = value;
  if (typeof name !== 'string' || typeof shape !== 'string') return undefined;
  return typeof interfaceName === 'string' ? { name, shape, interface: interfaceName } : { name, shape };
}

function textFrom(value: Value): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** All of them, or nothing. */
function every<Part>(value: Value, from: (each: Value) => Part | undefined): readonly Part[] | undefined {
  if (!isList(value)) return undefined;
  const parts = value.map((each) => from(each)).filter((part) => part !== undefined);
  return parts.length === value.length ? parts : undefined;
}

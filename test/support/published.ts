/** Components in the form that a publisher sends: their bytes, and the log entries that define them. */
import { createHash } from 'node:crypto';
import {
  BLOB_PART_BYTES,
  type ComponentReference,
  type Definition,
  type DefinitionEntry,
  definitionFromJson,
  encodeDefinitionEntry,
  Faults,
  isComponentDigest,
} from '#model';

function referenceOf(bytes: Uint8Array): ComponentReference {
  const digest: string = createHash('sha256').update(bytes).digest('hex');
  if (!isComponentDigest(digest)) throw new Error(`no digest: ${digest}`);
  return { digest, size: bytes.length };
}

/** A State View with this metadata, in the JSON of a publication. */
export function viewOf(metadata: Readonly<Record<string, unknown>>): Definition {
  const view = { content_type: 'application/json', query_temporality: 'revision', ...metadata };
  return definitionOf('state-view', view);
}

export function definitionOf(kind: Definition['kind'], metadata: object): Definition {
  const faults = new Faults();
  const definition = definitionFromJson(kind, new TextEncoder().encode(JSON.stringify(metadata)), faults);
  if (definition === undefined || !faults.none) throw faults.toError('The metadata of the test');
  return definition;
}

/** Payloads that transfer a component and define it. */
export function definingPayloads(definition: Definition, bytes: Uint8Array): readonly Uint8Array[] {
  const blob = referenceOf(bytes);
  const parts: DefinitionEntry[] = [];
  for (let at = 0; at < bytes.length; at += BLOB_PART_BYTES) {
    parts.push({ kind: 'part', blob, part: parts.length, bytes: bytes.subarray(at, at + BLOB_PART_BYTES) });
  }
  return [...parts, { kind: 'define' as const, blob, definition, isInactive: false }].map(encodeDefinitionEntry);
}

/** The same component, enlarged by an ignored section. */
export function padded(component: Uint8Array, bytes: number): Uint8Array {
  const name = Uint8Array.of(3, 0x70, 0x61, 0x64);
  const size = name.length + bytes;
  const length = Array.from({ length: 5 }, (_, at) => ((size >>> (7 * at)) & 0x7f) | (at < 4 ? 0x80 : 0));
  return Buffer.concat([component, Uint8Array.of(0, ...length), name, new Uint8Array(bytes)]);
}

/** The same component, enlarged by an unused core module with these bytes, which its artifact keeps. */
export function filled(component: Uint8Array, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const segment = [Uint8Array.of(1, 1), leb(bytes.length), bytes];
  const head = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  const module = [head, Uint8Array.of(11), leb(lengthOf(segment)), ...segment];
  return joined([component, Uint8Array.of(1), leb(lengthOf(module)), ...module]);
}

/** An unsigned 32-bit number in five bytes, using the padding that LEB128 allows. */
function leb(value: number): Uint8Array {
  return Uint8Array.from({ length: 5 }, (_, at) => ((value >>> (7 * at)) & 0x7f) | (at < 4 ? 0x80 : 0));
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

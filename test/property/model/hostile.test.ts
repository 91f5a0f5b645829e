// Goal: no input of a client makes a parser of the model throw: it returns a value or faults. Method: random bytes, and
// random JSON with the members that the parsers know, for every entry point.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, encodeUtf8 } from '#base';
import {
  acceptCloudEvent,
  acceptEvent,
  acceptJsonEvent,
  collectionQueryFromJson,
  constraintsFromJson,
  decodeConstraint,
  decodeSelection,
  decodeTransactionOptions,
  Faults,
  type JsonNode,
  optionsFromJson,
  parseJson,
  parseTransactionId,
  queryFromParameter,
  RAW_DATA,
  scopedQueryFromJson,
  selectorFromJson,
} from '#model';
import { constraintFromJson } from '../../../src/model/constraint-json.ts';
import { selectionFromJson } from '../../../src/model/selector-json.ts';
import { decodeSelector } from '../../../src/model/selector-wire.ts';
import { runs } from '../../support/runs.ts';

type Way<Input> = (input: Input, faults: Faults) => unknown;

/** Bytes that resemble protobuf more often than random ones. */
const field = fc
  .tuple(fc.integer({ min: 1, max: 20 }), fc.constantFrom(0, 1, 2, 3, 4, 5), fc.uint8Array({ maxLength: 12 }))
  .map(([number, wireType, content]) => {
    const tag = number * 8 + wireType;
    const tagBytes = tag > 0x7f ? [(tag & 0x7f) | 0x80, tag >>> 7] : [tag];
    return Uint8Array.from(wireType === 2 ? [...tagBytes, content.length, ...content] : [...tagBytes, ...content]);
  });
const nested = fc.array(field, { maxLength: 4 }).map(concatBytes);
const wrapped = fc
  .tuple(nested, nested)
  .map(([inner, rest]) =>
    concatBytes([Uint8Array.of(0x0a, Math.min(inner.length, 127)), inner.subarray(0, 127), rest]),
  );
const someBytes = fc.oneof(fc.uint8Array({ maxLength: 40 }), nested, wrapped);

const BYTES: Record<string, Way<Uint8Array>> = {
  acceptEvent: (bytes, faults) => acceptEvent(bytes, 0, bytes.length, { faults, list: 'e', index: 0 }),
  acceptCloudEvent: (bytes, faults) => acceptCloudEvent(bytes, 0, bytes.length, { faults, list: 'e', index: 0 }),
  decodeSelector: (bytes, faults) => decodeSelector(bytes, 's', faults),
  decodeSelection: (bytes, faults) => decodeSelection(bytes, 's', faults),
  decodeConstraint: (bytes, faults) => decodeConstraint(bytes, 'c', faults),
  decodeTransactionOptions: (bytes, faults) => decodeTransactionOptions(bytes, 'o', faults),
};

const NAMES =
  'id source specversion type subject time datacontenttype dataschema data data_base64 equals startsWith and or attr ' +
  'selectors left right stream eventType hasValue value min max range revision start end selector direction limit ' +
  'after effectiveTime endAt endAtNow noSubject byType principal_attributes commit_message __proto__ x X';
const name = fc.constantFrom(...NAMES.split(' '), '');
const TEXTS = ' a 1.0 equals or FORWARD 2026-01-01T00:00:00Z \ud800'.split(' ');
const leaf = fc.constantFrom<unknown>(...TEXTS, 0, 1, -1, 1.5, 1e300, true, false, null);
const someJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map((members) => new Map(members)),
  ),
})).value;

/** Maps as objects, so that names like __proto__ are ordinary here. */
function textOf(value: unknown): string {
  if (value instanceof Map) {
    return `{${Array.from(value, ([key, part]) => `${JSON.stringify(key)}:${textOf(part)}`).join(',')}}`;
  }
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  return JSON.stringify(value);
}

const JSON_WAYS: Record<string, Way<JsonNode>> = {
  acceptJsonEvent: (node, faults) => acceptJsonEvent(node, { faults, list: 'e', index: 0 }),
  selectorFromJson: (node, faults) => selectorFromJson(node, 's', faults),
  selectionFromJson: (node, faults) => selectionFromJson(node, 's', faults),
  constraintFromJson: (node, faults) => constraintFromJson(node, 'c', faults),
  constraintsFromJson: (node, faults) => constraintsFromJson(node, 'c', faults),
  scopedQueryFromJson: (node, faults) => scopedQueryFromJson(node, 'q', faults),
  collectionQueryFromJson: (node, faults) => collectionQueryFromJson(node, faults),
  optionsFromJson: (node, faults) =>
    node.kind === 'object' ? optionsFromJson(node, { field: '', faults }) : faults.add('body', 'must be an object'),
};

const TEXT_WAYS: Record<string, Way<string>> = {
  queryFromParameter: (text, faults) => queryFromParameter(text, faults)?.query,
  parseTransactionId: (text, faults) => parseTransactionId(text, 't', faults),
};

interface Outcome {
  readonly hasValue: boolean;
  readonly hasFaults: boolean;
}

function outcomeOf<Input>(way: Way<Input>, input: Input): Outcome {
  const faults = new Faults();
  const hasValue = way(input, faults) !== undefined;
  return { hasValue, hasFaults: !faults.none };
}

/** A value without faults, or faults without a value. */
const SOUND: readonly Outcome[] = [
  { hasValue: true, hasFaults: false },
  { hasValue: false, hasFaults: true },
];

describe('hostile input', () => {
  it.each(Object.entries(BYTES))('gives %s a value or faults: bytes', (_name, way) => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        expect(SOUND).toContainEqual(outcomeOf(way, bytes));
      }),
      { numRuns: runs(1500) },
    );
  });

  it.each(Object.entries(JSON_WAYS))('gives %s a value or faults: JSON', (_name, way) => {
    fc.assert(
      fc.property(someJson, (value) => {
        const node = parseJson(encodeUtf8(textOf(value)), { raw: RAW_DATA });
        // The JSON parser refuses objects with repeated names.
        expect(SOUND).toContainEqual(node.kind === 'fault' ? SOUND[0] : outcomeOf(way, node));
      }),
      { numRuns: runs(1500) },
    );
  });

  it.each(Object.entries(TEXT_WAYS))('gives %s a value or faults: text', (_name, way) => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.uuid()), (text) => {
        expect(SOUND).toContainEqual(outcomeOf(way, text));
      }),
    );
  });
});

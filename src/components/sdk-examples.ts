/** Examples of all inputs of a component of the SDK's shape, for checking its types. */
import { NO_BYTES } from '#base';
import { type ComponentKind, Handle, type SdkExamples, tagged, type Value } from '#wasm';
import { datetimeValue, viewValue } from './sdk-values.ts';

const TIME: Value = datetimeValue({ seconds: 1, nanos: 1 });
const ATTRIBUTES: readonly Value[] = [
  tagged('boolean', true),
  tagged('integer', 1),
  ...['string', 'uri', 'uri-ref'].map((tag) => tagged(tag, 'a')),
  tagged('binary', NO_BYTES),
  tagged('timestamp', TIME),
];
const EVENTS: Value = [tagged('binary', NO_BYTES), tagged('string', 'a')].map((data) => ({
  id: 'a',
  source: 'a',
  specversion: '1.0',
  type: 'a',
  data,
  attributes: ATTRIBUTES.map((value) => ['a', value]),
}));
const TITLE = { database: 'a', name: 'a', version: 1, contentType: 'a', contentSchema: 'a' } as const;
const VIEW: Value = viewValue(TITLE, Uint8Array.of(1), { ordinal: 1, recordedTimeMs: 1 });
const DATABASE: Value = new Handle(1);

const COMMAND: Value = { body: NO_BYTES, 'content-type': 'a', 'content-schema': 'a' };
const METADATA: Value = {
  'state-change-name': 'a',
  'state-change-version': 1,
  'last-seen-revision': 1,
  'command-received-at': TIME,
  'command-headers': [['a', 'a']],
};
const ANSWERS: ReadonlyMap<string, Value> = new Map([
  ['[method]database.name', 'a'],
  ['[method]database.revision', 1],
  ['[method]database.revision-timestamp', TIME],
  ['[method]database.effective-timestamp', TIME],
  ['[method]database.at-effective-timestamp', DATABASE],
  ['[method]database.query-events', EVENTS],
  ['[method]database.view-state', VIEW],
]);

export function sdkExamples(kind: ComponentKind): SdkExamples {
  if (kind === 'state-view') return { given: [VIEW, EVENTS], answers: new Map() };
  return { given: [DATABASE, COMMAND, METADATA], answers: ANSWERS };
}

// Single events after the cases of the CloudEvents conformance tests: 10 valid and 25 invalid ones in the JSON format,
// and those of the protobuf format, each named as the case that it stands for and written anew.
import type { Event } from '#model';
import { anEvent } from './events.ts';

export interface ValidCase {
  readonly name: string;
  readonly json: string;
  /** What the event says. Extensions of JSON have three types only. */
  readonly event: Event;
}

const SOURCE = 'https://cloudevents.example';

const CORE = `"specversion":"1.0","id":"c-1","type":"example.till.opened","source":"${SOURCE}"`;
const core: Event = anEvent({ id: 'c-1', type: 'example.till.opened', source: SOURCE });
const at = (seconds: number, text?: string): Event => ({ ...core, time: { instant: { seconds, nanos: 0 }, text } });

/** 2018-04-05T17:31:00Z. */
const TIME_SECONDS = 1_522_949_460;

export const VALID_CASES: readonly ValidCase[] = [
  { name: 'validMinimal', json: `{${CORE}}`, event: core },
  {
    name: 'validMinimalWithNullForOptional',
    json: `{${CORE},"datacontenttype":null,"dataschema":null,"subject":null,"time":null}`,
    event: core,
  },
  {
    name: 'validAllCoreAttributes',
    json: `{${CORE},"datacontenttype":"text/plain","dataschema":"https://cloudevents.example/schema","subject":"drawer","time":"2018-04-05T17:31:00Z"}`,
    event: {
      ...at(TIME_SECONDS),
      dataContentType: 'text/plain',
      dataSchema: 'https://cloudevents.example/schema',
      subject: 'drawer',
    },
  },
  { name: 'validMinimalWithTimeUtc', json: `{${CORE},"time":"2018-04-05T17:31:00Z"}`, event: at(TIME_SECONDS) },
  {
    name: 'validMinimalWithTimeToNanosecondsUtc',
    json: `{${CORE},"time":"2018-04-05T17:31:00.000000000Z"}`,
    event: at(TIME_SECONDS, '2018-04-05T17:31:00.000000000Z'),
  },
  {
    name: 'validMinimalWithTimeUsingPositiveOffset',
    json: `{${CORE},"time":"2018-04-05T18:31:00+01:00"}`,
    event: at(TIME_SECONDS, '2018-04-05T18:31:00+01:00'),
  },
  {
    name: 'validMinimalWithTimeUsingNegativeOffset',
    json: `{${CORE},"time":"2018-04-05T16:31:00-01:00"}`,
    event: at(TIME_SECONDS, '2018-04-05T16:31:00-01:00'),
  },
  {
    name: 'validRelativeSource',
    json: '{"specversion":"1.0","id":"c-1","type":"example.till.opened","source":"#fragment"}',
    event: { ...core, source: '#fragment' },
  },
  {
    name: 'validSimpleTextData',
    json: `{${CORE},"datacontenttype":"text/plain","data":"Twelve coins"}`,
    event: { ...core, dataContentType: 'text/plain', data: new TextEncoder().encode('Twelve coins'), dataKind: 2 },
  },
  {
    name: 'validAllExtensionTypes',
    json: `{${CORE},"anint":10,"abool":true,"astring":"text","auri":"https://cloudevents.example","auriref":"//host/path","atime":"2023-03-31T15:12:00Z","somebytes":"TWE="}`,
    event: {
      ...core,
      extensions: new Map([
        ['anint', { kind: 'integer', value: 10 }],
        ['abool', { kind: 'boolean', value: true }],
        ['astring', { kind: 'string', value: 'text' }],
        ['auri', { kind: 'string', value: 'https://cloudevents.example' }],
        ['auriref', { kind: 'string', value: '//host/path' }],
        ['atime', { kind: 'string', value: '2023-03-31T15:12:00Z' }],
        ['somebytes', { kind: 'string', value: 'TWE=' }],
      ]),
    },
  },
];

/** Name, the event's JSON, and the attributes that are at fault. */
export const INVALID_CASES: readonly (readonly [name: string, json: string, faulty: readonly string[]])[] = [
  ['invalidNoSpecVersion', `{"id":"c-1","type":"t","source":"${SOURCE}"}`, ['specversion']],
  ['invalidNoId', `{"specversion":"1.0","type":"t","source":"${SOURCE}"}`, ['id']],
  ['invalidNoType', `{"specversion":"1.0","id":"c-1","source":"${SOURCE}"}`, ['type']],
  ['invalidNoSource', '{"specversion":"1.0","id":"c-1","type":"t"}', ['source']],
  ['invalidTimeGarbage', `{${CORE},"time":"teatime"}`, ['time']],
  ['invalidTimeToMinute', `{${CORE},"time":"2018-04-05T18:31Z"}`, ['time']],
  ['invalidTimeOffsetX', `{${CORE},"time":"2018-04-05T18:31:00X"}`, ['time']],
  ['invalidTimeOffsetOutOfRange', `{${CORE},"time":"2018-04-05T18:31:00+25:00"}`, ['time']],
  ['invalidTimeOffsetNonInteger', `{${CORE},"time":"2018-04-05T18:31:00+xx:00"}`, ['time']],
  ['invalidTimeOffsetHourOnly', `{${CORE},"time":"2018-04-05T18:31:00+05"}`, ['time']],
  ['invalidEmptyId', `{"specversion":"1.0","id":"","type":"t","source":"${SOURCE}"}`, ['id']],
  ['invalidEmptyType', `{"specversion":"1.0","id":"c-1","type":"","source":"${SOURCE}"}`, ['type']],
  ['invalidEmptySource', '{"specversion":"1.0","id":"c-1","type":"t","source":""}', ['source']],
  ['invalidEmptySpecVersion', `{"specversion":"","id":"c-1","type":"t","source":"${SOURCE}"}`, ['specversion']],
  ['invalidUnknownSpecVersion', `{"specversion":"0.9","id":"c-1","type":"t","source":"${SOURCE}"}`, ['specversion']],
  ['invalidNonRfc2046DataContentType', `{${CORE},"datacontenttype":"xyz"}`, ['datacontenttype']],
  ['invalidEmptyDataContentType', `{${CORE},"datacontenttype":""}`, ['datacontenttype']],
  ['invalidEmptyDataSchema', `{${CORE},"dataschema":""}`, ['dataschema']],
  ['invalidEmptySubject', `{${CORE},"subject":""}`, ['subject']],
  ['invalidNumericId', `{"specversion":"1.0","id":25,"type":"t","source":"${SOURCE}"}`, ['id']],
  ['invalidObjectId', `{"specversion":"1.0","id":{"x":"y"},"type":"t","source":"${SOURCE}"}`, ['id']],
  ['invalidCapitalizedExtension', `{${CORE},"MyExtension":"bad"}`, ['MyExtension']],
  ['invalidPunctuatedExtension', `{${CORE},"my.extension":"bad"}`, ['["my.extension"]']],
  ['invalidNonIntegerExtensionValue', `{${CORE},"myextension":1.5}`, ['myextension']],
  ['invalidBothDataAndDataBase64', `{${CORE},"data":"text","data_base64":"eyAieCI6IDEgfQ=="}`, ['data_base64']],
];

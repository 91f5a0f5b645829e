// Events for the cases of the CloudEvents conformance tests: 10 valid and 25 invalid ones in the JSON format, and those
// of the protobuf format. Each has the name of its case, with content written for this repository.
import type { Event } from '#model';
import { anEvent } from './events.ts';

const SOURCE = 'https://cloudevents.example';

const CORE = `"specversion":"1.0","id":"c-1","type":"example.till.opened","source":"${SOURCE}"`;
const core: Event = anEvent({ id: 'c-1', type: 'example.till.opened', source: SOURCE });
const at = (seconds: number, text?: string): Event => ({ ...core, time: { instant: { seconds, nanos: 0 }, text } });

/** 2018-04-05T17:31:00Z. */
const TIME_SECONDS = 1_522_949_460;

/** Name, JSON, and the resulting event. Extensions in JSON have only three types. */
export const VALID_CASES: readonly (readonly [name: string, json: string, event: Event])[] = [
  ['validMinimal', `{${CORE}}`, core],
  [
    'validMinimalWithNullForOptional',
    `{${CORE},"datacontenttype":null,"dataschema":null,"subject":null,"time":null}`,
    core,
  ],
  [
    'validAllCoreAttributes',
    `{${CORE},"datacontenttype":"text/plain","dataschema":"${SOURCE}/schema","subject":"drawer","time":"2018-04-05T17:31:00Z"}`,
    { ...at(TIME_SECONDS), dataContentType: 'text/plain', dataSchema: `${SOURCE}/schema`, subject: 'drawer' },
  ],
  ['validMinimalWithTimeUtc', `{${CORE},"time":"2018-04-05T17:31:00Z"}`, at(TIME_SECONDS)],
  timed('validMinimalWithTimeToNanosecondsUtc', '2018-04-05T17:31:00.000000000Z'),
  timed('validMinimalWithTimeUsingPositiveOffset', '2018-04-05T18:31:00+01:00'),
  timed('validMinimalWithTimeUsingNegativeOffset', '2018-04-05T16:31:00-01:00'),
  ['validRelativeSource', `{${CORE.replace(SOURCE, '#fragment')}}`, { ...core, source: '#fragment' }],
  [
    'validSimpleTextData',
    `{${CORE},"datacontenttype":"text/plain","data":"Twelve coins"}`,
    { ...core, dataContentType: 'text/plain', data: new TextEncoder().encode('Twelve coins'), dataKind: 2 },
  ],
  [
    'validAllExtensionTypes',
    `{${CORE},"anint":10,"abool":true,"astring":"text","auri":"${SOURCE}","auriref":"//host/path","atime":"2023-03-31T15:12:00Z","somebytes":"TWE="}`,
    {
      ...core,
      extensions: new Map([
        ['anint', { kind: 'integer', value: 10 }],
        ['abool', { kind: 'boolean', value: true }],
        ['astring', { kind: 'string', value: 'text' }],
        ['auri', { kind: 'string', value: SOURCE }],
        ['auriref', { kind: 'string', value: '//host/path' }],
        ['atime', { kind: 'string', value: '2023-03-31T15:12:00Z' }],
        ['somebytes', { kind: 'string', value: 'TWE=' }],
      ]),
    },
  ],
];

/** An event at TIME_SECONDS with another spelling of the time, which is preserved. */
function timed(name: string, text: string): readonly [string, string, Event] {
  return [name, `{${CORE},"time":"${text}"}`, at(TIME_SECONDS, text)];
}

/** Name, JSON, and the invalid attributes. */
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

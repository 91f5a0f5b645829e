/** Schemas of events, selectors and transactions. */
import { ANYTHING, answer, FLAG, list, members, REVISION, ref, request, type Schema, TIME, text } from './schema.ts';

const EVENT_ATTRIBUTES = {
  id: text('Unique in its stream.', { minLength: 1, maxLength: 255 }),
  source: text('A URI-reference, whose last segment names the stream.', { minLength: 1 }),
  specversion: { const: '1.0' },
  type: text('The event type.', { minLength: 1, maxLength: 255 }),
};
const OPTIONAL_ATTRIBUTES = {
  ...members('subject time datacontenttype dataschema'),
  data: ANYTHING,
  data_base64: text('Instead of data: bytes.', { contentEncoding: 'base64' }),
};
const EXTENSION = { type: ['string', 'integer', 'boolean', 'null'] };

const OWN_NAME = 'A term of a selector: the events that have the value.';
const EQUALS = {
  stream: text(),
  eventType: text(),
  source: text(),
  subject: request({ hasValue: FLAG }, { value: text() }),
};
const PREFIXES = { stream: text(), eventType: text(), subject: text() };

function oneOf(terms: Readonly<Record<string, Schema>>): Schema {
  return { ...request({}, terms), minProperties: 1, maxProperties: 1 };
}

const TRANSACTION_PARTS = {
  transaction_id: text('Makes a repeat safe: it is answered with what was recorded.', { format: 'uuid' }),
  last_read_revision: REVISION,
  principal_attributes: { type: 'object', additionalProperties: text() },
  ...members('commit_message correlation_id causation_id'),
};

const RECORDED = members('database database_id transaction_id revision basis transaction_timestamp event_count');
const REPLIED = { transaction: answer({ ...RECORDED, replayed: FLAG }) };
const MAPPINGS = { event_id_mappings: list(answer(members('client_event_id stored_event_id'))) };

export const EVENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  NewEvent: {
    type: 'object',
    description: 'A CloudEvent, as it is written.',
    properties: { ...EVENT_ATTRIBUTES, ...OPTIONAL_ATTRIBUTES },
    required: Object.keys(EVENT_ATTRIBUTES),
    additionalProperties: EXTENSION,
  },
  Event: {
    type: 'object',
    description: 'A CloudEvent, as it is stored, with its place in the database.',
    properties: { ...EVENT_ATTRIBUTES, ...OPTIONAL_ATTRIBUTES, ...members('revision index recordedtime') },
    required: [...Object.keys(EVENT_ATTRIBUTES), 'revision', 'index', 'recordedtime'],
    additionalProperties: EXTENSION,
  },
  Selector: {
    description: 'Which events; {} is all of them.',
    anyOf: [
      request({}),
      request({ equals: { ...oneOf(EQUALS), description: OWN_NAME } }),
      request({ startsWith: oneOf(PREFIXES) }),
      request({ and: list(ref('Selector')) }),
      request({ or: list(ref('Selector')) }),
      request({}, { stream: text(), event_type: text(), subject: text(), source: text() }),
    ],
  },
  Condition: {
    description:
      'What must hold of the latest event that the selector selects, or of the database where it is left out.',
    anyOf: [
      request({ min_revision: request({ revision: REVISION }, { selector: ref('Selector') }) }),
      request({ max_revision: request({}, { revision: REVISION, selector: ref('Selector') }) }),
      request({ max: request({}, { revision: REVISION, selector: ref('Selector') }) }),
      request({ revision_range: request({}, { start: REVISION, end: REVISION, selector: ref('Selector') }) }),
    ],
  },
  NewTransaction: request(
    { events: list(ref('NewEvent'), { minItems: 1, maxItems: 1000 }) },
    { ...TRANSACTION_PARTS, conditions: list(ref('Condition')), constraints: list(ref('Condition')) },
  ),
  TransactionRecord: answer({ ...REPLIED, ...MAPPINGS }),
  TransactionReceipt: answer({ ...members('revision events_count transaction_id replayed'), ...MAPPINGS }),
  AcceptedTransaction: answer({ transaction: answer(members('database database_id transaction_id')) }),
  StoredTransaction: answer({
    transaction: answer({ ...RECORDED, origin: text(), chain_hash: text() }, TRANSACTION_PARTS),
    ...MAPPINGS,
    events: list(ref('Event')),
  }),
  CommandRecord: answer(members('revision'), { ...REPLIED, ...MAPPINGS }),
  DryRun: answer({ dry_run: { const: true }, revision: REVISION, events: list(ref('NewEvent')) }),
  EventPage: answer(
    { ...members('database revision'), events: list(ref('Event')), has_more: FLAG },
    { ...members('stream subject event_type'), effective_time_end_at: TIME, next: text() },
  ),
  LogPage: answer({ events: list(ref('Event')), has_more: FLAG }, { next_cursor: text() }),
  Query: request(
    {},
    {
      selectors: list(ref('Selector')),
      revision_range: request({}, { start: REVISION, end: REVISION }),
      effective_time_range: request({ end: TIME }, { start: TIME }),
      direction: text('forward or reverse', {
        pattern: '^([Ff][Oo][Rr][Ww][Aa][Rr][Dd]|[Rr][Ee][Vv][Ee][Rr][Ss][Ee])$',
      }),
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      after: {
        anyOf: [text('The next_cursor of the page before.'), request(members('revision'), members('index'))],
      },
    },
  ),
};

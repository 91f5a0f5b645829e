/**
 * Renders docs/limits.md: every limit that a client can reach, with the value in the code. A row names its constants,
 * so that a test finds constants without a row.
 */
import { MEMORY_SHARES } from '../../src/main/process/memory-limit.ts';
import { SETTINGS } from '../../src/main/settings/settings.ts';
import * as model from '../../src/model/limits.ts';
import { SERVICE_LIMITS } from '../../src/service/limits.ts';
import { RATE_BUCKETS_MAX } from '../../src/service/rate-limit/rate-limiter.ts';
import { callPlaces, GRPC_LIMITS, OPEN_REQUEST_BYTES_MAX } from '../../src/transport/grpc/limits.ts';
import { REFLECTION_LIMITS } from '../../src/transport/grpc/reflection.ts';
import { INVALID_FRAMES_MAX } from '../../src/transport/grpc/wire/connections.ts';
import { HEAD_LIMITS } from '../../src/transport/grpc/wire/request-headers.ts';
import {
  FEW_PIECES,
  SMALL_PIECE_BYTES,
  STREAM_WASTE,
  WASTE_PER_SECOND,
  WASTE_PER_STREAM,
} from '../../src/transport/grpc/wire/stream-limits.ts';
import * as http from '../../src/transport/http/limits.ts';
import { KEEP_ALIVE_TIMEOUT_MS, STALLED_ANSWER_MS, TIMEOUT_LOOK_MS } from '../../src/transport/http-connections.ts';

export interface LimitRow {
  readonly what: string;
  readonly value: string;
  /** Effect of exceeding it. */
  readonly beyond: string;
  /** Names of the constants that it shows. */
  readonly names: readonly string[];
}

export interface LimitTable {
  readonly title: string;
  readonly rows: readonly LimitRow[];
}

/** Constants in the modules of limits that no client can reach, with the reason. */
export const NOT_MET: Readonly<Record<string, string>> = {
  ITEM_ANSWER_BYTES: 'what is reserved for an answer',
  PAGE_ANSWER_BYTES: 'what is reserved for a page',
  PIECE_BYTES: 'how much is processed at once',
  PRESENCE_ASK_MS: 'how often a client is asked whether it is there',
  readWaitMs: 'the setting --read-wait-ms',
  tailEventsMax: 'how many events a subscription passes on at once',
  tailBytesMax: 'the cache that subscribers share',
  tailGapMax: 'subscribers that read together',
  viewPollMs: 'how soon a change of the maintained views is noticed',
  viewsPerPollMax: 'databases per check',
  maintainedMax: 'beyond it a read folds by itself',
};

const INVALID = '400, INVALID_ARGUMENT';
const TOO_LARGE = '413, RESOURCE_EXHAUSTED (`too_large`)';
const RATE_LIMITED = '429, RESOURCE_EXHAUSTED (`rate_limited`)';
const BUSY = '503, UNAVAILABLE (`busy`)';

function row(what: string, value: string, beyond: string, ...names: readonly string[]): LimitRow {
  return { what, value, beyond, names };
}

/**
 * Limits of nghttp2, under node:http2, on encoded names and values: of one header, and of all headers, which take at
 * most nine frames. A test checks them.
 */
export const SENT_HEADER_LIMITS: { readonly oneBytes: number; readonly allBytes: number } = {
  oneBytes: 64 * 1024,
  allBytes: 9 * 16 * 1024,
};

const CALLS = callPlaces(MEMORY_SHARES.requestMemoryBytes.max);

export const LIMIT_TABLES: readonly LimitTable[] = [
  {
    title: 'Transactions and events',
    rows: [
      row('Events of a transaction', count(model.TRANSACTION_EVENTS_MAX), TOO_LARGE, 'TRANSACTION_EVENTS_MAX'),
      row('Bytes of its stored events', count(model.TRANSACTION_BYTES_MAX), TOO_LARGE, 'TRANSACTION_BYTES_MAX'),
      row(
        'UTF-8 bytes in an id, a type, a subject, a stream, a `correlation_id`, a `causation_id`, the name of a principal attribute, a prefix',
        `1 to ${count(model.NAME_BYTES_MAX)} (a prefix: 0)`,
        INVALID,
        'NAME_BYTES_MAX',
      ),
      row('Bytes of `source` and `dataschema`', count(model.URI_BYTES_MAX), INVALID, 'URI_BYTES_MAX'),
      row('Bytes of `datacontenttype`', count(model.CONTENT_TYPE_BYTES_MAX), INVALID, 'CONTENT_TYPE_BYTES_MAX'),
      row('Extension attributes of an event', count(model.EXTENSIONS_MAX), INVALID, 'EXTENSIONS_MAX'),
      row(
        'Length of the name of an extension attribute',
        count(model.EXTENSION_NAME_BYTES_MAX),
        INVALID,
        'EXTENSION_NAME_BYTES_MAX',
      ),
      row('Times', 'years 0001 to 9999, to the nanosecond', INVALID),
      row('Principal attributes', count(model.PRINCIPAL_ATTRIBUTES_MAX), INVALID, 'PRINCIPAL_ATTRIBUTES_MAX'),
      row(
        'Bytes in the value of a principal attribute',
        count(model.PRINCIPAL_VALUE_BYTES_MAX),
        INVALID,
        'PRINCIPAL_VALUE_BYTES_MAX',
      ),
      row('Bytes of a commit message', count(model.COMMIT_MESSAGE_BYTES_MAX), INVALID, 'COMMIT_MESSAGE_BYTES_MAX'),
      row('`last_read_revision`', 'up to 2^53 - 1', INVALID),
      row('Name of a database', 'a DNS label: 63 characters', INVALID),
    ],
  },
  {
    title: 'Constraints, selectors and queries',
    rows: [
      row('Constraints of a transaction', count(model.CONSTRAINTS_MAX), INVALID, 'CONSTRAINTS_MAX'),
      row(
        'Alternatives of all constraints of a transaction together',
        count(model.CONSTRAINT_CONJUNCTIONS_MAX),
        INVALID,
        'CONSTRAINT_CONJUNCTIONS_MAX',
      ),
      row(
        'Rows searched by a constraint over a prefix',
        'see [ADR 0008](adr/0008-constraints-are-decided-at-apply.md)',
        `${TOO_LARGE}, reason \`ConstraintTooBroad\``,
      ),
      row(
        'Fields of a gRPC message except a transaction, and of a selector including nested ones',
        count(model.MESSAGE_FIELDS_MAX),
        'INVALID_ARGUMENT',
        'MESSAGE_FIELDS_MAX',
      ),
      row('Levels of And and Or in a selector', count(model.SELECTOR_DEPTH_MAX), INVALID, 'SELECTOR_DEPTH_MAX'),
      row('Selectors in a selector, itself included', count(model.SELECTOR_NODES_MAX), INVALID, 'SELECTOR_NODES_MAX'),
      row(
        'Alternatives of a selector in disjunctive normal form',
        count(model.SELECTOR_CONJUNCTIONS_MAX),
        INVALID,
        'SELECTOR_CONJUNCTIONS_MAX',
      ),
      row(
        'Events or names in an HTTP page',
        `${count(http.JSON_SIZES.itemsMax)}, default ${count(http.JSON_SIZES.itemsDefault)}`,
        INVALID,
        'JSON_SIZES',
        'QUERY_LIMIT_MAX',
        'namesPerPageMax',
      ),
      row(
        'Bytes of the events in a page',
        bytes(http.PAGE_BYTES_MAX),
        'the page ends, with one event at least',
        'PAGE_BYTES_MAX',
      ),
      row(
        'Events or names in a TOON page, and their bytes',
        sizes(http.TOON_SIZES),
        'the page ends, with one event at least',
        'TOON_SIZES',
      ),
      row(
        'Events or names in an HTML page, and their bytes',
        sizes(http.HTML_SIZES),
        'the page ends, with one event at least',
        'HTML_SIZES',
      ),
      row(
        'Events searched for names that changed since a revision',
        `${count(http.CHANGED_EVENTS_MAX)}, and ${bytes(http.PAGE_BYTES_MAX)}`,
        'the answer has the number of searched events',
        'CHANGED_EVENTS_MAX',
      ),
      row('Bytes of a state on an HTML page', bytes(http.STATE_SHOWN_BYTES_MAX), TOO_LARGE, 'STATE_SHOWN_BYTES_MAX'),
      row(
        'Milliseconds between heartbeats of a subscription',
        `${count(SERVICE_LIMITS.heartbeatMsMin)} to ${count(SERVICE_LIMITS.heartbeatMsMax)}`,
        'INVALID_ARGUMENT',
        'heartbeatMsMin',
        'heartbeatMsMax',
      ),
      row(
        'Streaming reads of a node; subscriptions',
        `${count(SERVICE_LIMITS.streamsMax)} and ${count(SERVICE_LIMITS.tailsMax)}`,
        BUSY,
        'streamsMax',
        'tailsMax',
      ),
    ],
  },
  {
    title: 'Components, commands and presentations',
    rows: [
      row('Bytes of a component', bytes(model.COMPONENT_BYTES_MAX), TOO_LARGE, 'COMPONENT_BYTES_MAX'),
      row('Bytes of the metadata in a publication', bytes(model.METADATA_BYTES_MAX), INVALID, 'METADATA_BYTES_MAX'),
      row('Bytes of a component description', count(model.DESCRIPTION_BYTES_MAX), INVALID, 'DESCRIPTION_BYTES_MAX'),
      row('Bytes of a schema in a definition', bytes(model.SCHEMA_BYTES_MAX), INVALID, 'SCHEMA_BYTES_MAX'),
      row('Content types that a presenter offers', count(model.OFFERS_MAX), INVALID, 'OFFERS_MAX'),
      row(
        'Settings of a presenter, and bytes of each',
        `${count(model.PRESENTER_SETTINGS_MAX)}, of ${count(model.PRESENTER_SETTING_BYTES_MAX)}`,
        INVALID,
        'PRESENTER_SETTINGS_MAX',
        'PRESENTER_SETTING_BYTES_MAX',
      ),
      row('State Views that a State Change names', count(model.STATE_VIEW_NAMES_MAX), INVALID, 'STATE_VIEW_NAMES_MAX'),
      row(
        'Bytes of the body of a command for its component',
        count(model.COMMAND_BODY_BYTES_MAX),
        INVALID,
        'COMMAND_BODY_BYTES_MAX',
      ),
      row(
        'Query parameters and headers of a command, and bytes of each',
        `${count(model.COMMAND_PAIRS_MAX)} each, of ${count(model.COMMAND_VALUE_BYTES_MAX)}`,
        INVALID,
        'COMMAND_PAIRS_MAX',
        'COMMAND_VALUE_BYTES_MAX',
      ),
      row(
        'Memory of a component, by `--guest-memory-bytes`',
        bytes(SETTINGS.guestMemoryBytes.default),
        'the call fails: out of memory, or a trap',
      ),
      row(
        'Part of a presentation that is collected before it is sent in chunks',
        `${bytes(http.BODY_HEAD_BYTES)}, then until a pause of ${ms(http.BODY_PAUSE_MS)}; in total ${ms(http.BODY_SETTLE_MS)} or ${bytes(http.BODY_SETTLING_BYTES)}`,
        'chunks',
        'BODY_HEAD_BYTES',
        'BODY_PAUSE_MS',
        'BODY_SETTLE_MS',
        'BODY_SETTLING_BYTES',
      ),
      row(
        'Bytes and duration of a presentation',
        `${bytes(http.STREAMED_BYTES_MAX)}, ${ms(http.STREAMED_MS_MAX)}`,
        'ends without its last chunk',
        'STREAMED_BYTES_MAX',
        'STREAMED_MS_MAX',
      ),
      row(
        'Bytes and duration of a presentation over HTTP/1.0',
        `${bytes(http.BUFFERED_BYTES_MAX)}, ${ms(http.BUFFERED_MS_MAX)}`,
        '400 or 503',
        'BUFFERED_BYTES_MAX',
        'BUFFERED_MS_MAX',
      ),
    ],
  },
  {
    title: 'Rate limits',
    rows: [
      row(
        'Requests of a client at a node, over HTTP, gRPC and MCP, by `--rate-limit-per-second` and `--rate-limit-burst`',
        'off',
        RATE_LIMITED,
      ),
      row('Principals, and addresses, with an own rate count', count(RATE_BUCKETS_MAX), 'further ones share a count'),
    ],
  },
  {
    title: 'HTTP requests',
    rows: [
      row('Bytes of a transaction body', bytes(http.TRANSACT_BODY_BYTES_MAX), TOO_LARGE, 'TRANSACT_BODY_BYTES_MAX'),
      row('Bytes of a command body', bytes(http.COMMAND_REQUEST_BYTES_MAX), TOO_LARGE, 'COMMAND_REQUEST_BYTES_MAX'),
      row('Bytes of any other body', bytes(http.BODY_BYTES_MAX), TOO_LARGE, 'BODY_BYTES_MAX'),
      row('Bytes of a form', bytes(http.FORM_BYTES_MAX), TOO_LARGE, 'FORM_BYTES_MAX'),
      row('Fields of a form', count(http.FORM_FIELDS_MAX), INVALID, 'FORM_FIELDS_MAX'),
      row('Values in a JSON body; `data` counts as one', count(model.JSON_VALUES_MAX), TOO_LARGE, 'JSON_VALUES_MAX'),
      row('Nesting levels of JSON, including `data`', count(model.JSON_DEPTH_MAX), INVALID, 'JSON_DEPTH_MAX'),
      row('Bytes of request line and headers', bytes(http.HEADER_BYTES_MAX), INVALID, 'HEADER_BYTES_MAX'),
      row('Headers', count(http.HEADERS_MAX), INVALID, 'HEADERS_MAX'),
      row(
        'Time to receive a request; its headers; interval of the check',
        `${ms(http.REQUEST_TIMEOUT_MS)}, ${ms(http.HEADERS_TIMEOUT_MS)}; ${ms(TIMEOUT_LOOK_MS)}`,
        INVALID,
        'REQUEST_TIMEOUT_MS',
        'HEADERS_TIMEOUT_MS',
      ),
      row('Time to receive a body of up to 16 KiB', ms(http.SMALL_BODY_MS), INVALID, 'SMALL_BODY_MS'),
      row(
        'Time in which something is taken of an answer that waits for its reader',
        ms(STALLED_ANSWER_MS),
        'the connection is closed',
      ),
      row(
        'Minimum rate of a body of more than 16 KiB',
        `${bytes(http.BODY_PACE_BYTES)} in every ${ms(http.BODY_PACE_MS)}`,
        INVALID,
        'BODY_PACE_BYTES',
        'BODY_PACE_MS',
      ),
      row(
        'Chunks of a body with a small average size',
        `${count(http.BODY_SMALL_PIECES_MAX)}, of less than ${count(http.BODY_PIECE_BYTES)}`,
        INVALID,
        'BODY_PIECE_BYTES',
        'BODY_SMALL_PIECES_MAX',
      ),
      row(
        'Pipelined requests of a connection',
        count(http.PIPELINED_MAX),
        'the connection ends after them; later requests were not processed',
        'PIPELINED_MAX',
      ),
      row(
        'Connections of a node',
        count(http.CONNECTIONS_MAX),
        'the connection with the longest wait for a whole request is closed',
        'CONNECTIONS_MAX',
      ),
      row('Idle time of a connection', ms(KEEP_ALIVE_TIMEOUT_MS), 'it is closed'),
      row(
        'Unread request data after a response that ends its connection',
        `${bytes(http.LINGER_BYTES_MAX)}, ${ms(http.LINGER_MS)}`,
        'the connection is reset',
        'LINGER_BYTES_MAX',
        'LINGER_MS',
      ),
      row(
        'Bytes of a response that need not wait for memory',
        bytes(http.SMALL_ANSWER_BYTES),
        'it waits, then 503',
        'SMALL_ANSWER_BYTES',
      ),
    ],
  },
  {
    title: 'gRPC calls',
    rows: [
      row(
        'Bytes of a request',
        bytes(GRPC_LIMITS.requestBytesMax),
        'RESOURCE_EXHAUSTED (`too_large`)',
        'requestBytesMax',
      ),
      row(
        'Headers with different names, including those of HTTP/2; bytes of their names and values',
        `${count(HEAD_LIMITS.headersMax)}; ${bytes(HEAD_LIMITS.headerBytesMax)}`,
        'RESOURCE_EXHAUSTED (`too_large`)',
        'headersMax',
        'headerBytesMax',
      ),
      row(
        'Headers, including repeated ones',
        count(HEAD_LIMITS.headerPairsMax),
        'the connection is closed with ENHANCE_YOUR_CALM',
        'headerPairsMax',
      ),
      row(
        'Bytes of all headers of a flood',
        bytes(HEAD_LIMITS.floodBytesMax),
        'the connection is closed with ENHANCE_YOUR_CALM',
        'floodBytesMax',
      ),
      row(
        'HPACK bytes of one header; of all headers',
        `${bytes(SENT_HEADER_LIMITS.oneBytes)}; ${bytes(SENT_HEADER_LIMITS.allBytes)}`,
        'the connection is closed without a reason',
      ),
      row(
        'Requests of a connection that violate HTTP/2, such as a repeated pseudo-header',
        count(INVALID_FRAMES_MAX),
        'the connection is closed',
      ),
      row(
        'Calls of a connection at a time',
        `${count(GRPC_LIMITS.streamsPerConnectionMax)}, and ${count(GRPC_LIMITS.lastingStreamsMax)} once half of them wait or stream`,
        'they wait at the client',
        'streamsPerConnectionMax',
        'lastingStreamsMax',
      ),
      row(
        'Calls of a node at a time that wait, and that stream',
        `${[CALLS.waiting, CALLS.reading].map(count).join('; ')}, by \`--request-memory-bytes\``,
        'RESOURCE_EXHAUSTED',
      ),
      row(
        'Time to receive a request',
        ms(GRPC_LIMITS.receiveMs),
        'the stream is reset, which clients report as CANCELLED',
        'receiveMs',
      ),
      row(
        'Calls of a connection that are cancelled or refused, beyond as many as are answered',
        `${count(WASTE_PER_STREAM / STREAM_WASTE)} for each of its calls at a time, and ${count(WASTE_PER_SECOND / STREAM_WASTE)} more each second`,
        'the connection is closed',
      ),
      row(
        `DATA frames of a connection of less than ${count(SMALL_PIECE_BYTES)} bytes, from the ${FEW_PIECES + 1}th of a request on`,
        `${count(WASTE_PER_STREAM)} for each of its calls at a time, and ${count(WASTE_PER_SECOND)} more each second`,
        'the connection is closed',
      ),
      row('Time until a client has read a unary reply', ms(GRPC_LIMITS.lingerMs), 'the stream is reset', 'lingerMs'),
      row(
        'Time to answer a ping; interval of pings',
        `${ms(GRPC_LIMITS.pingTimeoutMs)}; ${ms(GRPC_LIMITS.pingEveryMs)}`,
        'the connection is closed',
        'pingTimeoutMs',
        'pingEveryMs',
      ),
      row(
        'Connections of a node',
        count(GRPC_LIMITS.connectionsMax),
        'the connection with the longest wait for a whole request is closed',
        'connectionsMax',
      ),
      row('Time to acknowledge HTTP/2 settings', ms(GRPC_LIMITS.openingMs), 'the connection is closed', 'openingMs'),
      row(
        'Reflection streams; bytes of a request of reflection or health; of all requests of a stream',
        `${count(REFLECTION_LIMITS.streamsMax)}; ${bytes(OPEN_REQUEST_BYTES_MAX)}; ${bytes(REFLECTION_LIMITS.streamBytesMax)}`,
        'RESOURCE_EXHAUSTED',
      ),
    ],
  },
  {
    title: 'Error messages',
    rows: [
      row('Described faults of a request', count(model.FAULTS_MAX), 'the message has their number', 'FAULTS_MAX'),
      row('Length of an offending value', count(model.FAULT_VALUE_LENGTH_MAX), 'it is cut', 'FAULT_VALUE_LENGTH_MAX'),
      row('Length of the path to it', count(model.FAULT_FIELD_LENGTH_MAX), 'it is cut', 'FAULT_FIELD_LENGTH_MAX'),
    ],
  },
];

export function renderLimitsReference(): string {
  const tables = LIMIT_TABLES.map(({ title, rows }) => {
    const lines = rows.map(({ what, value, beyond }) => `| ${what} | ${value} | ${beyond} |`);
    return `## ${title}\n\n| limit | maximum | beyond it |\n|---|---|---|\n${lines.join('\n')}`;
  });
  return `# Limits

Limits that a client can reach, and the HTTP status and gRPC code beyond them. The settings \`--request-memory-bytes\` and
\`--unsent-memory-bytes\` limit the memory of all clients together; the number of open files limits connections
([configuration.md](configuration.md)). Only the sizes of transactions and pages are part of the specification.

${tables.join('\n\n')}

This page is generated from the limits in the code by \`npm run docs\`.
`;
}

/** Formats a number with commas between thousands. */
function count(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}

function sizes({ itemsMax, itemsDefault, bytesMax }: http.ListSizes): string {
  return `${count(itemsMax)}, default ${count(itemsDefault)}; ${bytes(bytesMax)}`;
}

function bytes(value: number): string {
  if (value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
  if (value % 2 ** 10 === 0) return `${value / 2 ** 10} KiB`;
  return `${count(value)} bytes`;
}

function ms(value: number): string {
  return `${value / 1000} s`;
}

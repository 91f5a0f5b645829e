/**
 * The metadata of a component that is published over HTTP or MCP, as JSON.
 *
 * ```
 * State View     {"state_view_name", "content_type", "event_selector", "query_temporality", "description"?,
 *                 "content_schema"?, "source_code_uri"?, "priority"?, "presenter"?, "key_type"?, "reduce_fn"?, "events"?}
 * State Change   {"state_change_name", "description"?, "source_code_uri"?, "state_view_names"?}
 * presenter      {"presenter_name", "content_types": [type or {"content_type", "schema"?}], "description"?,
 *                 "source_code_uri"?, "settings"?}
 * ```
 * `content_schema` is a URI, or the JSON Schema itself, kept as written. `events` is a list of event types, each of
 * which is selected; with it `event_selector` may be omitted. `presenter` is a name, or {"name", "version"?}.
 */
import { unreachable } from '#base';
import {
  type ComponentKind,
  type ContentSchema,
  type Definition,
  type FoldOrder,
  KEY_TYPES,
  type KeyType,
  type OfferedContent,
  PRIORITIES,
  type PresenterReference,
  type Priority,
  toVersionNumber,
  type VersionNumber,
} from './definition.ts';
import { canonicalNames, checkedDefinition, stateViewOf } from './definition-rules.ts';
import type { FaultPlace, Faults } from './faults.ts';
import { type JsonNode, type JsonObject, parseJson, textOfRaw } from './json.ts';
import {
  describe,
  inside,
  integerFrom,
  isPresent,
  item,
  itemsFrom,
  objectFrom,
  readMember,
  refuseOthers,
  textFrom,
  textsFrom,
} from './json-read.ts';
import { METADATA_BYTES_MAX } from './limits.ts';
import { type ComponentName, parseComponentName, parseName } from './names.ts';
import { and, or, type SelectorTemplate, term } from './selector.ts';
import { templateFromJson } from './selector-json.ts';

const SCHEMA_RULE = 'a JSON Schema: an object, true or false';
/** Members whose values keep their bytes. */
const SCHEMA = ['content_schema', 'contentSchema'] as const;
const RAW: ReadonlySet<string> = new Set(SCHEMA);

/** The definition in the metadata of a publication, with faults added; undefined when it cannot be read. */
export function definitionFromJson(kind: ComponentKind, text: Uint8Array, faults: Faults): Definition | undefined {
  if (text.length > METADATA_BYTES_MAX) {
    return faults.add('metadata', `must have at most ${METADATA_BYTES_MAX} bytes`, text.length);
  }
  const node = parseJson(text, { raw: RAW });
  if (node.kind === 'fault') return faults.add('metadata', `must be JSON: ${node.message}`);
  const place = { field: 'metadata', faults };
  const object = objectFrom(node, place);
  if (object === undefined) return undefined;
  const countBefore = faults.count;
  const reading = new MetadataReading(object, place);
  const definition = readDefinition(kind, reading);
  reading.refuseUnread();
  return faults.count === countBefore ? checkedDefinition(definition, place) : undefined;
}

function readDefinition(kind: ComponentKind, reading: MetadataReading): Definition | undefined {
  switch (kind) {
    case 'state-view':
      return readStateView(reading);
    case 'state-change':
      return readStateChange(reading);
    case 'presenter':
      return readPresenter(reading);
    default:
      return unreachable(kind);
  }
}

function readStateView(reading: MetadataReading): Definition | undefined {
  return stateViewOf({
    name: reading.name('state_view_name'),
    contentType: reading.required('content_type', textFrom),
    order: reading.required('query_temporality', wordFrom(ORDERS)),
    keyType: reading.optional('key_type', wordFrom(KEY_TYPE_WORDS)) ?? 'none',
    selector: readSelected(reading),
    ...reading.head(),
    reduceFunction: reading.optional('reduce_fn', textFrom),
    schema: reading.optional('content_schema', schemaFrom),
    priority: reading.optional('priority', wordFrom(PRIORITY_WORDS)) ?? 'normal',
    presenter: reading.optional('presenter', presenterFrom),
  });
}

function readSelected(reading: MetadataReading): SelectorTemplate | undefined {
  const types = reading.optional('events', typesFrom);
  if (types !== undefined && !reading.has('event_selector')) return types;
  const selector = reading.required('event_selector', (node, { field, faults }) =>
    templateFromJson(node, field, faults),
  );
  return selector === undefined || types === undefined ? selector : and([selector, types]);
}

function readStateChange(reading: MetadataReading): Definition | undefined {
  const name = reading.name('state_change_name');
  const stateViews = canonicalNames(reading.optional('state_view_names', namesFrom) ?? []);
  const head = reading.head();
  return name && { kind: 'state-change', name, stateViews, ...head };
}

function readPresenter(reading: MetadataReading): Definition | undefined {
  const name = reading.name('presenter_name');
  const offers = reading.required('content_types', offersFrom);
  const settings = reading.optional('settings', textsFrom) ?? new Map<string, string>();
  const head = reading.head();
  return name && offers && { kind: 'presenter', name, offers, settings, ...head };
}

type Read<Value> = (node: JsonNode, place: FaultPlace) => Value | undefined;

/** The members of the metadata, in snake case or camel case; unknown members are refused. */
class MetadataReading {
  readonly #object: JsonObject;
  readonly #place: FaultPlace;
  readonly #read: string[] = [];

  constructor(object: JsonObject, place: FaultPlace) {
    this.#object = object;
    this.#place = place;
  }

  has(name: string): boolean {
    return spellings(name).some((spelling) => isPresent(this.#object.members.get(spelling)));
  }

  optional<Value>(name: string, read: Read<Value>): Value | undefined {
    this.#read.push(...spellings(name));
    return readMember(this.#object, spellings(name), this.#place, read);
  }

  required<Value>(name: string, read: Read<Value>): Value | undefined {
    if (!this.has(name)) this.#place.faults.add(inside(this.#place, name).field, 'is required');
    return this.optional(name, read);
  }

  name(name: string): ComponentName | undefined {
    return this.required(name, nameFrom);
  }

  head(): Pick<Definition, 'description' | 'sourceCodeUri'> {
    return {
      description: this.optional('description', textFrom),
      sourceCodeUri: this.optional('source_code_uri', textFrom),
    };
  }

  refuseUnread(): void {
    refuseOthers(this.#object, this.#read, this.#place);
  }
}

function spellings(name: string): readonly string[] {
  const camel = name.replaceAll(/_(?<letter>[a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return camel === name ? [name] : [name, camel];
}

function nameFrom(node: JsonNode, place: FaultPlace): ComponentName | undefined {
  const text = textFrom(node, place);
  return text === undefined ? undefined : parseComponentName(text, place.field, place.faults);
}

function namesFrom(node: JsonNode, place: FaultPlace): readonly ComponentName[] | undefined {
  const names = itemsFrom(node, place)?.map((each, index) => nameFrom(each, item(place, index)));
  return names?.filter((name) => name !== undefined);
}

/** Selects any of the event types; an empty list counts as absent. */
function typesFrom(node: JsonNode, place: FaultPlace): SelectorTemplate | undefined {
  const texts = itemsFrom(node, place)?.map((each, index) => textFrom(each, item(place, index)));
  if (texts === undefined || texts.includes(undefined)) return undefined;
  if (texts.length === 0) return place.faults.add(place.field, 'must name at least one event type');
  return typesTemplate(
    texts.filter((text) => text !== undefined),
    place,
  );
}

/** Any of the event types, or undefined with faults added. */
export function typesTemplate(texts: readonly string[], place: FaultPlace): SelectorTemplate | undefined {
  const types = texts.map((text, index) => parseName(text, item(place, index).field, place.faults));
  const read = types.filter((type) => type !== undefined);
  return read.length === texts.length ? or(read.map((type) => term('by-type', type))) : undefined;
}

const ORDERS: ReadonlyMap<string, FoldOrder> = new Map([
  ['revision', 'revision'],
  ['effective_timestamp', 'effective-time'],
]);

const KEY_TYPE_WORDS: ReadonlyMap<string, KeyType> = new Map(
  KEY_TYPES.map((type) => [`${type.charAt(0).toUpperCase()}${type.slice(1)}`, type]),
);

const PRIORITY_WORDS: ReadonlyMap<string, Priority> = new Map(PRIORITIES.map((priority) => [priority, priority]));

function wordFrom<Value>(words: ReadonlyMap<string, Value>): Read<Value> {
  return (node, place) => {
    const text = textFrom(node, place);
    if (text === undefined) return undefined;
    return words.get(text) ?? place.faults.add(place.field, `must be one of ${[...words.keys()].join(', ')}`, text);
  };
}

function schemaFrom(node: JsonNode, place: FaultPlace): ContentSchema | undefined {
  if (node.kind !== 'raw') return undefined;
  const uri = textOfRaw(node);
  if (uri !== undefined) return { kind: 'uri', uri };
  const [first] = node.bytes;
  const isSchema = first === 0x7b || first === 0x74 || first === 0x66;
  if (isSchema) return { kind: 'held', bytes: node.bytes.slice() };
  return place.faults.add(place.field, `must be a URI, or ${SCHEMA_RULE}`, describe(node));
}

/** The bytes of a JSON Schema without surrounding blanks, so that they equal those in metadata. */
export function heldSchema(bytes: Uint8Array, { field, faults }: FaultPlace): ContentSchema | undefined {
  const node = parseJson(bytes);
  if (node.kind === 'fault') return faults.add(field, `must be ${SCHEMA_RULE}: ${node.message}`);
  if (node.kind !== 'object' && node.kind !== 'boolean') {
    return faults.add(field, `must be ${SCHEMA_RULE}`, describe(node));
  }
  const start = bytes.findIndex(isNotBlank);
  return { kind: 'held', bytes: bytes.slice(start, bytes.findLastIndex(isNotBlank) + 1) };
}

function isNotBlank(byte: number): boolean {
  return byte > 0x20;
}

function presenterFrom(node: JsonNode, place: FaultPlace): PresenterReference | undefined {
  if (node.kind === 'string') {
    const only = nameFrom(node, place);
    return only && { name: only, version: undefined };
  }
  const object = objectFrom(node, place, 'must be the name of a presenter, or {"name": …, "version": …}');
  if (object === undefined) return undefined;
  const reading = new MetadataReading(object, place);
  const name = reading.name('name');
  const version = reading.optional('version', versionFrom);
  reading.refuseUnread();
  return name && { name, version };
}

function versionFrom(node: JsonNode, place: FaultPlace): VersionNumber | undefined {
  const version = integerFrom(node, { min: 1, max: Number.MAX_SAFE_INTEGER }, place);
  return version === undefined ? undefined : toVersionNumber(version);
}

function offersFrom(node: JsonNode, place: FaultPlace): readonly OfferedContent[] | undefined {
  const offers = itemsFrom(node, place)?.map((each, index) => offerFrom(each, item(place, index)));
  return offers?.filter((offer) => offer !== undefined);
}

function offerFrom(node: JsonNode, place: FaultPlace): OfferedContent | undefined {
  if (node.kind === 'string') return { contentType: node.value, schema: undefined };
  const object = objectFrom(node, place, 'must be a content type, or {"content_type": …, "schema": …}');
  if (object === undefined) return undefined;
  const reading = new MetadataReading(object, place);
  const contentType = reading.required('content_type', textFrom);
  const schema = reading.optional('schema', textFrom);
  reading.refuseUnread();
  return contentType === undefined ? undefined : { contentType, schema };
}

/**
 * Reads the requests that publish components by walking their bytes: components are views of the request, and faults of
 * a definition are collected for the service.
 */
import { NO_BYTES } from '#base';
import {
  ALL,
  and,
  type ContentSchema,
  canonicalNames,
  checkedDefinition,
  type Definition,
  decodeTemplateSelection,
  type FaultPlace,
  Faults,
  type FoldOrder,
  fieldBelow,
  heldSchema,
  isVersionNumber,
  type KeyType,
  METADATA_BYTES_MAX,
  type PresenterReference,
  type Priority,
  parseComponentName,
  type SelectorTemplate,
  stateViewOf,
  typesTemplate,
} from '#model';
import type { PublishComponentRequest } from '#service';
import type { Requests } from '../../../proto/gen/requests.ts';
import { notTheMessage, readRequest } from '../request-reader.ts';

export type PublishRequest = Pick<
  PublishComponentRequest,
  'databaseName' | 'definition' | 'component' | 'componentField' | 'faults' | 'isInactive'
>;

/** Orders by the number of the enum; the unspecified one means by revision. */
const ORDERS: readonly FoldOrder[] = ['revision', 'revision', 'effective-time'];
const PRIORITIES: readonly Priority[] = ['normal', 'low', 'normal', 'high'];
const KEY_TYPES: readonly KeyType[] = ['none', 'none', 'string', 'int64'];
const PRESENTER_VERSION = 'presenter_version';

export function parsePublishStateView(message: Uint8Array): PublishRequest {
  return published('cairn.v1.PublishStateViewRequest', message, (sent, faults) =>
    stateViewOf({
      name: parseComponentName(sent.stateViewName, 'state_view_name', faults),
      contentType: sent.contentType,
      schema: schemaFrom(sent, faults),
      order: enumFrom(sent.queryTemporality, ORDERS, { field: 'query_temporality', faults }),
      keyType: enumFrom(sent.keyType, KEY_TYPES, { field: 'key_type', faults }),
      presenter: presenterFrom(sent, faults),
      reduceFunction: sent.reduceFn || undefined,
      priority: enumFrom(sent.priority, PRIORITIES, { field: 'priority', faults }),
      selector: selectorFrom(sent, sent.eventTypes, { field: '', faults }),
      ...headOf(sent),
    }),
  );
}

export function parsePublishStateChange(message: Uint8Array): PublishRequest {
  return published('cairn.v1.PublishStateChangeRequest', message, (sent, faults) => {
    const name = parseComponentName(sent.stateChangeName, 'state_change_name', faults);
    const views = sent.stateViewNames.map((view, at) => parseComponentName(view, `state_view_names[${at}]`, faults));
    const stateViews = canonicalNames(views.filter((view) => view !== undefined));
    return name && { kind: 'state-change', name, stateViews, ...headOf(sent) };
  });
}

export function parsePublishPresenter(message: Uint8Array): PublishRequest {
  return published('cairn.v1.PublishPresenterRequest', message, (sent, faults) => {
    const { offers } = sent;
    const name = parseComponentName(sent.presenterName, 'presenter_name', faults);
    const settings = new Map(sent.settings.map(({ key, value }) => [key, value]));
    return name && { kind: 'presenter', name, offers, settings, ...headOf(sent) };
  });
}

export function parseDefineStateView(message: Uint8Array): PublishRequest {
  return defined('cairn.v1.DefineStateViewRequest', message, (sent, faults) =>
    stateViewOf({
      name: parseComponentName(sent.name, 'definition.name', faults),
      contentType: sent.contentType,
      schema: sent.schemaId === '' ? undefined : { kind: 'uri', uri: sent.schemaId },
      order: 'revision',
      keyType: 'none',
      presenter: undefined,
      reduceFunction: undefined,
      priority: enumFrom(sent.priority, PRIORITIES, { field: 'definition.priority', faults }),
      selector: selectorFrom(sent, [], { field: 'definition', faults }),
      ...headOf(sent),
    }),
  );
}

export function parseDefineStateChange(message: Uint8Array): PublishRequest {
  return defined('cairn.v1.DefineStateChangeRequest', message, (sent, faults) => {
    const { stateViewName: view } = sent;
    const name = parseComponentName(sent.name, 'definition.name', faults);
    const viewName = view === '' ? undefined : parseComponentName(view, 'definition.state_view_name', faults);
    const stateViews = viewName === undefined ? [] : canonicalNames([viewName]);
    return name && { kind: 'state-change', name, stateViews, ...headOf(sent) };
  });
}

type Publication =
  | 'cairn.v1.PublishStateViewRequest'
  | 'cairn.v1.PublishStateChangeRequest'
  | 'cairn.v1.PublishPresenterRequest';

/** A request whose component is a field of its own. */
function published<Name extends Publication>(
  type: Name,
  message: Uint8Array,
  define: (sent: Requests[Name], faults: Faults) => Definition | undefined,
): PublishRequest {
  const faults = new Faults();
  const sent = readRequest(type, message, faults);
  const { databaseName, wasmBytes: component, inactive: isInactive } = sent;
  assertShort(type, message, component);
  const definition = checkedDefinition(define(sent, faults), { field: '', faults });
  return { databaseName, definition, component, componentField: 'wasm_bytes', faults, isInactive };
}

/** A request whose component is a field of its definition. */
function defined<Name extends 'cairn.v1.DefineStateViewRequest' | 'cairn.v1.DefineStateChangeRequest'>(
  type: Name,
  message: Uint8Array,
  define: (sent: Requests[Name]['definition'], faults: Faults) => Definition | undefined,
): PublishRequest {
  const faults = new Faults();
  const { databaseName, definition: sent } = readRequest(type, message, faults);
  const { wasmComponent: component } = sent;
  assertShort(type, message, component);
  const definition = checkedDefinition(define(sent, faults), { field: 'definition', faults });
  return { databaseName, definition, component, componentField: 'definition.wasm_component', faults };
}

/** Limits the part of the request that is read in one event-loop turn. */
function assertShort(type: string, message: Uint8Array, component: Uint8Array): void {
  const length = message.length - component.length;
  if (length <= METADATA_BYTES_MAX) return;
  throw notTheMessage(type, `it has ${length} bytes beside its component; the limit is ${METADATA_BYTES_MAX}`);
}

/** The same as in HTTP metadata: the selection, the event types, or both. */
function selectorFrom(
  { eventSelection }: { readonly eventSelection: Uint8Array | undefined },
  eventTypes: readonly string[],
  place: FaultPlace,
): SelectorTemplate | undefined {
  const { faults } = place;
  const types =
    eventTypes.length === 0 ? ALL : typesTemplate(eventTypes, { field: fieldBelow(place, 'event_types'), faults });
  if (types !== ALL && (types === undefined || eventSelection === undefined)) return types;
  const selector = decodeTemplateSelection(eventSelection ?? NO_BYTES, fieldBelow(place, 'event_selection'), faults);
  return selector === undefined || types === ALL ? selector : and([selector, types]);
}

function presenterFrom(
  { presenterName: name, presenterVersion: version }: Requests['cairn.v1.PublishStateViewRequest'],
  faults: Faults,
): PresenterReference | undefined {
  if (name === undefined) {
    return version === undefined ? undefined : faults.add(PRESENTER_VERSION, 'needs presenter_name', version);
  }
  const presenter = parseComponentName(name, 'presenter_name', faults);
  if (version === undefined) return presenter && { name: presenter, version };
  if (typeof version === 'number' && isVersionNumber(version)) return presenter && { name: presenter, version };
  return faults.add(PRESENTER_VERSION, 'must be from 1 to 2^53 - 1', version);
}

interface SentHead {
  readonly description: string | undefined;
  readonly sourceCodeUri?: string | undefined;
}

/** An empty text is the value of an unset field. */
function headOf({ description, sourceCodeUri }: SentHead): Pick<Definition, 'description' | 'sourceCodeUri'> {
  return { description: description || undefined, sourceCodeUri: sourceCodeUri || undefined };
}

function schemaFrom(
  { contentSchema: uri, contentSchemaJson: json }: Requests['cairn.v1.PublishStateViewRequest'],
  faults: Faults,
): ContentSchema | undefined {
  if (json === undefined) return uri ? { kind: 'uri', uri } : undefined;
  const field = 'content_schema_json';
  return uri ? faults.add(field, 'must not be sent beside content_schema') : heldSchema(json, { field, faults });
}

function enumFrom<Value>(
  number: number | bigint,
  values: readonly Value[],
  { field, faults }: FaultPlace,
): Value | undefined {
  const value = typeof number === 'number' ? values[number] : undefined;
  return value ?? faults.add(field, `must be from 0 to ${values.length - 1}`, number);
}

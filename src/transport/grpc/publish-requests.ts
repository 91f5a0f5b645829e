/**
 * Reads the requests that publish components by walking their bytes: components are views of the request, and faults of
 * a definition are collected for the service.
 */
import { NO_BYTES } from '#base';
import {
  ALL,
  and,
  type ComponentName,
  type ContentSchema,
  canonicalNames,
  checkDefinition,
  type Definition,
  decodeTemplateSelection,
  Faults,
  type FoldOrder,
  heldSchema,
  isVersionNumber,
  type KeyType,
  keyedTemplate,
  METADATA_BYTES_MAX,
  type PresenterReference,
  type Priority,
  parseComponentName,
  REDUCE_FUNCTION,
  refuseUnservable,
  type SelectorTemplate,
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
/** Name of the member in faults. */
const PRESENTER_VERSION = 'presenter_version';
const DEFINED_COMPONENT = 'definition.wasm_component';

export function parsePublishStateView(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const place = { field: '', faults };
  const sent = readPublication('cairn.v1.PublishStateViewRequest', message, faults);
  const definition = stateViewFrom(sent, place, {
    name: parseComponentName(sent.stateViewName, 'state_view_name', faults),
    schema: schemaFrom(sent, faults),
    order: enumFrom(sent.queryTemporality, ORDERS, { field: 'query_temporality', faults }),
    keyType: enumFrom(sent.keyType, KEY_TYPES, { field: 'key_type', faults }),
    presenter: presenterFrom(sent, faults),
    reduceFunction: sent.reduceFn || REDUCE_FUNCTION,
    types: sent.eventTypes.length === 0 ? ALL : typesTemplate(sent.eventTypes, { field: 'event_types', faults }),
  });
  return publishRequest(sent, definition, faults);
}

export function parsePublishStateChange(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const sent = readPublication('cairn.v1.PublishStateChangeRequest', message, faults);
  const name = parseComponentName(sent.stateChangeName, 'state_change_name', faults);
  const views = sent.stateViewNames.map((view, at) => parseComponentName(view, `state_view_names[${at}]`, faults));
  const stateViews = canonicalNames(views.filter((view) => view !== undefined));
  const definition = name && { kind: 'state-change' as const, name, stateViews, ...headOf(sent) };
  return publishRequest(sent, checked(definition, { field: '', faults }), faults);
}

export function parsePublishPresenter(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const sent = readPublication('cairn.v1.PublishPresenterRequest', message, faults);
  const { offers } = sent;
  const name = parseComponentName(sent.presenterName, 'presenter_name', faults);
  const settings = new Map(sent.settings.map(({ key, value }) => [key, value]));
  const definition = name && { kind: 'presenter' as const, name, offers, settings, ...headOf(sent) };
  return publishRequest(sent, checked(definition, { field: '', faults }), faults);
}

export function parseDefineStateView(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const { databaseName, definition: sent } = readRequest('cairn.v1.DefineStateViewRequest', message, faults);
  const { wasmComponent, schemaId: uri } = sent;
  assertShort('cairn.v1.DefineStateViewRequest', message, wasmComponent);
  const place = { field: 'definition', faults };
  const definition = stateViewFrom(sent, place, {
    name: parseComponentName(sent.name, 'definition.name', faults),
    schema: uri === '' ? undefined : { kind: 'uri', uri },
    order: 'revision',
    keyType: 'none',
    presenter: undefined,
    reduceFunction: REDUCE_FUNCTION,
    types: ALL,
  });
  return { databaseName, definition, component: wasmComponent, componentField: DEFINED_COMPONENT, faults };
}

export function parseDefineStateChange(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const { databaseName, definition: sent } = readRequest('cairn.v1.DefineStateChangeRequest', message, faults);
  const { wasmComponent, stateViewName: view } = sent;
  assertShort('cairn.v1.DefineStateChangeRequest', message, wasmComponent);
  const name = parseComponentName(sent.name, 'definition.name', faults);
  const viewName = view === '' ? undefined : parseComponentName(view, 'definition.state_view_name', faults);
  const stateViews = viewName === undefined ? [] : canonicalNames([viewName]);
  const change = name && { kind: 'state-change' as const, name, stateViews, ...headOf(sent) };
  const definition = checked(change, { field: 'definition', faults });
  return { databaseName, definition, component: wasmComponent, componentField: DEFINED_COMPONENT, faults };
}

interface Place {
  readonly field: string;
  readonly faults: Faults;
}

type Publication =
  | 'cairn.v1.PublishStateViewRequest'
  | 'cairn.v1.PublishStateChangeRequest'
  | 'cairn.v1.PublishPresenterRequest';

function publishRequest(
  { databaseName, wasmBytes: component, inactive: isInactive }: Requests[Publication],
  definition: Definition | undefined,
  faults: Faults,
): PublishRequest {
  return { databaseName, definition, component, componentField: 'wasm_bytes', faults, isInactive };
}

/** A request whose component is a field of its own. */
function readPublication<Name extends Publication>(type: Name, message: Uint8Array, faults: Faults): Requests[Name] {
  const sent = readRequest(type, message, faults);
  assertShort(type, message, sent.wasmBytes);
  return sent;
}

/** Limits the part of the request that is read in one event-loop turn. */
function assertShort(type: string, message: Uint8Array, component: Uint8Array): void {
  const length = message.length - component.length;
  if (length <= METADATA_BYTES_MAX) return;
  throw notTheMessage(type, `it has ${length} bytes beside its component; the limit is ${METADATA_BYTES_MAX}`);
}

type SentView = SentHead &
  Pick<Requests['cairn.v1.PublishStateViewRequest'], 'eventSelection' | 'priority' | 'contentType'>;

/** Undefined `schema` or `presenter`: the view has none. Others undefined: the faults were added. */
interface ViewParts {
  readonly name: ComponentName | undefined;
  readonly schema: ContentSchema | undefined;
  readonly order: FoldOrder | undefined;
  readonly keyType: KeyType | undefined;
  readonly presenter: PresenterReference | undefined;
  readonly reduceFunction: string;
  /** Event types in addition to the selection. */
  readonly types: SelectorTemplate | undefined;
}

function stateViewFrom(
  sent: SentView,
  place: Place,
  { name, order, keyType, types, ...parts }: ViewParts,
): Definition | undefined {
  const priority = enumFrom(sent.priority, PRIORITIES, inside(place, 'priority'));
  const selector = selectorFrom(sent.eventSelection, types, inside(place, 'event_selection'));
  if (name === undefined || selector === undefined) return undefined;
  if (order === undefined || priority === undefined || keyType === undefined) return undefined;
  const { contentType } = sent;
  const view = { kind: 'state-view' as const, name, selector: keyedTemplate(selector, keyType), order, keyType };
  return checked({ ...view, contentType, priority, ...parts, ...headOf(sent) }, place);
}

/** The same as in HTTP metadata: the selection, the event types, or both. */
function selectorFrom(
  selection: Uint8Array | undefined,
  types: SelectorTemplate | undefined,
  { field, faults }: Place,
): SelectorTemplate | undefined {
  if (types !== ALL && (types === undefined || selection === undefined)) return types;
  const selector = decodeTemplateSelection(selection ?? NO_BYTES, field, faults);
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

function inside({ field, faults }: Place, name: string): Place {
  return { field: field === '' ? name : `${field}.${name}`, faults };
}

function enumFrom<Value>(
  number: number | bigint,
  values: readonly Value[],
  { field, faults }: Place,
): Value | undefined {
  const value = typeof number === 'number' ? values[number] : undefined;
  return value ?? faults.add(field, `must be from 0 to ${values.length - 1}`, number);
}

function checked(definition: Definition | undefined, place: Place): Definition | undefined {
  if (definition === undefined) return undefined;
  checkDefinition(definition, place);
  refuseUnservable(definition, place);
  return definition;
}

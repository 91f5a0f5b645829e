/**
 * The requests that publish components, by a walk over their bytes: components are views of the request, and what is
 * wrong with a definition is collected, for the service to judge in its turn.
 */
import {
  and,
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
  type OfferedContent,
  type PresenterReference,
  type Priority,
  parseComponentName,
  REDUCE_FUNCTION,
  refuseScripts,
  type SelectorTemplate,
  typesTemplate,
} from '#model';
import type { PublishComponentRequest } from '#service';
import { notTheMessage } from './messages.ts';
import { entriesOf } from './pair-fields.ts';
import {
  DATABASE_NAME,
  EVENT_TYPES,
  INACTIVE,
  OFFERED_CONTENT,
  PRESENTER_VERSION,
  PUBLISH_PRESENTER,
  PUBLISH_STATE_CHANGE,
  PUBLISH_STATE_VIEW,
  SCHEMA_JSON,
  SELECTION,
  SETTINGS,
  STATE_CHANGE_DEFINITION,
  STATE_VIEW_DEFINITION,
  STATE_VIEW_NAMES,
  WASM_BYTES,
  WASM_COMPONENT,
} from './publish-shapes.ts';
import { Fields, type MessageShape } from './request-walk.ts';

export type PublishRequest = Pick<
  PublishComponentRequest,
  'databaseName' | 'definition' | 'component' | 'componentField' | 'faults' | 'isInactive'
>;

/** By the number of the enum; none of both is given: by revision. */
const ORDERS: readonly FoldOrder[] = ['revision', 'revision', 'effective-time'];
const PRIORITIES: readonly Priority[] = ['normal', 'low', 'normal', 'high'];
const KEY_TYPES: readonly KeyType[] = ['none', 'none', 'string', 'int64'];
const SETTINGS_ENTRY = 'PublishPresenterRequest.SettingsEntry';

const NO_BYTES = new Uint8Array(0);

export function parsePublishStateView(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const place = { field: '', faults };
  const fields = publicationFields(message, PUBLISH_STATE_VIEW, place);
  const definition = stateViewFrom(fields, place, {
    names: { name: 'state_view_name', schema: 'content_schema' },
    order: enumFrom(fields, 'query_temporality', ORDERS, place),
    keyType: enumFrom(fields, 'key_type', KEY_TYPES, place),
    presenter: presenterFrom(fields, faults),
  });
  return publishRequest(fields, definition, faults);
}

export function parsePublishStateChange(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const fields = publicationFields(message, PUBLISH_STATE_CHANGE, { field: '', faults });
  const name = parseComponentName(fields.text('state_change_name') ?? '', 'state_change_name', faults);
  const views = fields
    .texts(STATE_VIEW_NAMES)
    .map((view, at) => parseComponentName(view, `${STATE_VIEW_NAMES}[${at}]`, faults));
  const stateViews = canonicalNames(views.filter((view) => view !== undefined));
  const definition = name && { kind: 'state-change' as const, name, stateViews, ...headOf(fields) };
  return publishRequest(fields, checked(definition, { field: '', faults }), faults);
}

export function parsePublishPresenter(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const place = { field: '', faults };
  const fields = publicationFields(message, PUBLISH_PRESENTER, place);
  const name = parseComponentName(fields.text('presenter_name') ?? '', 'presenter_name', faults);
  const offers = fields.all('offers').map((bytes, at): OfferedContent => {
    const offer = new Fields(bytes, OFFERED_CONTENT, { field: `offers[${at}]`, faults });
    return { contentType: offer.text('content_type') ?? '', schema: offer.text('schema') };
  });
  const settings = new Map(entriesOf(fields, SETTINGS, { type: SETTINGS_ENTRY, ...place }));
  const definition = name && { kind: 'presenter' as const, name, offers, settings, ...headOf(fields) };
  return publishRequest(fields, checked(definition, place), faults);
}

export function parseDefineStateView(message: Uint8Array): PublishRequest {
  return defineRequest(message, 'DefineStateViewRequest', (inner, place) => {
    const fields = new Fields(inner, STATE_VIEW_DEFINITION, place);
    assertShort(inner, fields.bytes(WASM_COMPONENT), STATE_VIEW_DEFINITION);
    const view = { order: 'revision', keyType: 'none', presenter: undefined } as const;
    const definition = stateViewFrom(fields, place, { names: { name: 'name', schema: 'schema_id' }, ...view });
    return { definition, component: fields.bytes(WASM_COMPONENT) };
  });
}

export function parseDefineStateChange(message: Uint8Array): PublishRequest {
  return defineRequest(message, 'DefineStateChangeRequest', (inner, place) => {
    const fields = new Fields(inner, STATE_CHANGE_DEFINITION, place);
    assertShort(inner, fields.bytes(WASM_COMPONENT), STATE_CHANGE_DEFINITION);
    const { field, faults } = place;
    const name = parseComponentName(fields.text('name') ?? '', `${field}.name`, faults);
    const view = unlessEmpty(fields.text('state_view_name'));
    const viewName = view === undefined ? undefined : parseComponentName(view, `${field}.state_view_name`, faults);
    const stateViews = viewName === undefined ? [] : canonicalNames([viewName]);
    const definition = name && { kind: 'state-change' as const, name, stateViews, ...headOf(fields) };
    return { definition: checked(definition, place), component: fields.bytes(WASM_COMPONENT) };
  });
}

interface Place {
  readonly field: string;
  readonly faults: Faults;
}

function publishRequest(fields: Fields, definition: Definition | undefined, faults: Faults): PublishRequest {
  const component = fields.bytes(WASM_BYTES) ?? NO_BYTES;
  const databaseName = fields.text('database_name') ?? '';
  const isInactive = Number(fields.number(INACTIVE) ?? 0) !== 0;
  return { databaseName, definition, component, componentField: WASM_BYTES, faults, isInactive };
}

/** A request that has its definition, with the component in it, as one message. */
function defineRequest(
  message: Uint8Array,
  type: string,
  read: (inner: Uint8Array, place: Place) => { definition: Definition | undefined; component: Uint8Array | undefined },
): PublishRequest {
  const faults = new Faults();
  const shape = { type, texts: new Map([DATABASE_NAME]), bytes: new Map([[0x12, 'definition']]) };
  const fields = new Fields(message, shape, { field: '', faults });
  const { definition, component } = read(fields.bytes('definition') ?? NO_BYTES, { field: 'definition', faults });
  return {
    databaseName: fields.text('database_name') ?? '',
    definition,
    component: component ?? NO_BYTES,
    componentField: `definition.${WASM_COMPONENT}`,
    faults,
  };
}

/** Of a request that has its component as a field of its own. */
function publicationFields(message: Uint8Array, shape: MessageShape, place: Place): Fields {
  const fields = new Fields(message, shape, place);
  assertShort(message, fields.bytes(WASM_BYTES), shape);
  return fields;
}

/** Before anything is read of it: what stands beside the component is looked at in one turn. */
function assertShort(message: Uint8Array, component: Uint8Array | undefined, { type }: MessageShape): void {
  const length = message.length - (component?.length ?? 0);
  if (length <= METADATA_BYTES_MAX) return;
  throw notTheMessage(type, `it has ${length} bytes beside its component; ${METADATA_BYTES_MAX} is the most`);
}

interface ViewParts {
  /** Of the fields that the messages call differently. */
  readonly names: { readonly name: string; readonly schema: string };
  readonly order: FoldOrder | undefined;
  readonly keyType: KeyType | undefined;
  readonly presenter: PresenterReference | undefined;
}

function stateViewFrom(
  fields: Fields,
  place: Place,
  { names, order, keyType, presenter }: ViewParts,
): Definition | undefined {
  const name = parseComponentName(fields.text(names.name) ?? '', inside(place, names.name).field, place.faults);
  const priority = enumFrom(fields, 'priority', PRIORITIES, place);
  const selector = selectorFrom(fields, place);
  if (name === undefined || selector === undefined) return undefined;
  if (order === undefined || priority === undefined || keyType === undefined) return undefined;
  const definition: Definition = {
    kind: 'state-view',
    name,
    selector: keyedTemplate(selector, keyType),
    order,
    keyType,
    reduceFunction: unlessEmpty(fields.text('reduce_fn')) ?? REDUCE_FUNCTION,
    contentType: fields.text('content_type') ?? '',
    schema: schemaFrom(fields, names.schema, place),
    priority,
    presenter,
    ...headOf(fields),
  };
  return checked(definition, place);
}

/** As in metadata of HTTP: the selection, the event types, or what both select. */
function selectorFrom(fields: Fields, place: Place): SelectorTemplate | undefined {
  const texts = fields.texts(EVENT_TYPES);
  const types = texts.length === 0 ? undefined : typesTemplate(texts, inside(place, EVENT_TYPES));
  const selection = fields.bytes(SELECTION);
  if (texts.length > 0 && (types === undefined || selection === undefined)) return types;
  const { field, faults } = inside(place, SELECTION);
  const selector = decodeTemplateSelection(selection ?? NO_BYTES, field, faults);
  return selector === undefined || types === undefined ? selector : and([selector, types]);
}

function presenterFrom(fields: Fields, faults: Faults): PresenterReference | undefined {
  const name = fields.text('presenter_name');
  const version = fields.number(PRESENTER_VERSION);
  if (name === undefined) {
    return version === undefined ? undefined : faults.add(PRESENTER_VERSION, 'needs presenter_name', version);
  }
  const presenter = parseComponentName(name, 'presenter_name', faults);
  if (version === undefined) return presenter && { name: presenter, version };
  if (typeof version === 'number' && isVersionNumber(version)) return presenter && { name: presenter, version };
  return faults.add(PRESENTER_VERSION, 'must be from 1 to 2^53 - 1', version);
}

function headOf(fields: Fields): Pick<Definition, 'description' | 'sourceCodeUri'> {
  return {
    description: unlessEmpty(fields.text('description')),
    sourceCodeUri: unlessEmpty(fields.text('source_code_uri')),
  };
}

/** An empty text says nothing, and is what a field has that was not set. */
function unlessEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function schemaFrom(fields: Fields, name: string, place: Place): ContentSchema | undefined {
  const uri = unlessEmpty(fields.text(name));
  const json = fields.bytes(SCHEMA_JSON);
  const { field, faults } = inside(place, SCHEMA_JSON);
  if (uri !== undefined && json !== undefined) return faults.add(field, `must not be sent beside ${name}`);
  if (json !== undefined) return heldSchema(json, { field, faults });
  return uri === undefined ? undefined : { kind: 'uri', uri };
}

function inside({ field, faults }: Place, name: string): Place {
  return { field: field === '' ? name : `${field}.${name}`, faults };
}

function enumFrom<Value>(fields: Fields, name: string, values: readonly Value[], place: Place): Value | undefined {
  const number = fields.number(name) ?? 0;
  const value = typeof number === 'number' ? values[number] : undefined;
  if (value !== undefined) return value;
  return place.faults.add(inside(place, name).field, `must be from 0 to ${values.length - 1}`, number);
}

function checked(definition: Definition | undefined, place: Place): Definition | undefined {
  if (definition === undefined) return undefined;
  checkDefinition(definition, place);
  refuseScripts(definition, place);
  return definition;
}

/**
 * The requests that publish components, by a walk over their bytes: components are views of the request, and what is
 * wrong with a definition is collected, for the service to judge in its turn.
 */
import {
  type ContentSchema,
  canonicalNames,
  checkDefinition,
  type Definition,
  decodeTemplateSelection,
  Faults,
  type FoldOrder,
  type OfferedContent,
  type Priority,
  parseComponentName,
  REDUCE_FUNCTION,
} from '#model';
import type { PublishComponentRequest } from '#service';
import { Fields, type MessageShape } from './request-walk.ts';

export type PublishRequest = Pick<
  PublishComponentRequest,
  'databaseName' | 'definition' | 'component' | 'componentField' | 'faults'
>;

const DATABASE_NAME = [0x0a, 'database_name'] as const;
const WASM_BYTES = 'wasm_bytes';
const WASM_COMPONENT = 'wasm_component';
const SELECTION = 'event_selection';

const PUBLISH_STATE_VIEW: MessageShape = {
  type: 'PublishStateViewRequest',
  texts: new Map([
    DATABASE_NAME,
    [0x12, 'state_view_name'],
    [0x1a, 'description'],
    [0x22, 'content_type'],
    [0x2a, 'content_schema'],
    [0x42, 'source_code_uri'],
    [0x52, 'presenter_name'],
  ]),
  bytes: new Map([
    [0x32, SELECTION],
    [0x4a, WASM_BYTES],
  ]),
  numbers: new Map([[0x38, 'query_temporality']]),
};

const PUBLISH_STATE_CHANGE: MessageShape = {
  type: 'PublishStateChangeRequest',
  texts: new Map([DATABASE_NAME, [0x12, 'state_change_name'], [0x1a, 'description'], [0x22, 'source_code_uri']]),
  bytes: new Map([[0x2a, WASM_BYTES]]),
};

const PUBLISH_PRESENTER: MessageShape = {
  type: 'PublishPresenterRequest',
  texts: new Map([DATABASE_NAME, [0x12, 'presenter_name'], [0x1a, 'description'], [0x2a, 'source_code_uri']]),
  bytes: new Map([
    [0x22, 'offers'],
    [0x32, WASM_BYTES],
  ]),
};

const OFFERED_CONTENT: MessageShape = {
  type: 'OfferedContent',
  texts: new Map([
    [0x0a, 'content_type'],
    [0x12, 'schema'],
  ]),
};

const STATE_VIEW_DEFINITION: MessageShape = {
  type: 'StateViewDefinition',
  texts: new Map([
    [0x0a, 'name'],
    [0x12, 'description'],
    [0x32, 'content_type'],
    [0x3a, 'schema_id'],
  ]),
  bytes: new Map([
    [0x1a, SELECTION],
    [0x22, WASM_COMPONENT],
  ]),
  numbers: new Map([[0x28, 'priority']]),
};

const STATE_CHANGE_DEFINITION: MessageShape = {
  type: 'StateChangeDefinition',
  texts: new Map([
    [0x0a, 'name'],
    [0x12, 'description'],
    [0x1a, 'state_view_name'],
  ]),
  bytes: new Map([[0x22, WASM_COMPONENT]]),
};

/** By the number of the enum; none of both is given: by revision. */
const ORDERS: readonly FoldOrder[] = ['revision', 'revision', 'effective-time'];
const PRIORITIES: readonly Priority[] = ['normal', 'low', 'normal', 'high'];

const NO_BYTES = new Uint8Array(0);

export function parsePublishStateView(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const fields = new Fields(message, PUBLISH_STATE_VIEW, { field: '', faults });
  const presenter = fields.text('presenter_name');
  const view = {
    name: 'state_view_name',
    schema: 'content_schema',
    order: enumFrom(fields, 'query_temporality', ORDERS, { field: '', faults }),
    priority: 'normal',
    presenter: presenter === undefined ? undefined : parseComponentName(presenter, 'presenter_name', faults),
  } as const;
  const definition = stateViewFrom(fields, view, { field: '', faults });
  return publishRequest(fields, definition, faults);
}

export function parsePublishStateChange(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const fields = new Fields(message, PUBLISH_STATE_CHANGE, { field: '', faults });
  const name = parseComponentName(fields.text('state_change_name') ?? '', 'state_change_name', faults);
  const definition = name && { kind: 'state-change' as const, name, stateViews: [], ...headOf(fields) };
  return publishRequest(fields, checked(definition, { field: '', faults }), faults);
}

export function parsePublishPresenter(message: Uint8Array): PublishRequest {
  const faults = new Faults();
  const fields = new Fields(message, PUBLISH_PRESENTER, { field: '', faults });
  const name = parseComponentName(fields.text('presenter_name') ?? '', 'presenter_name', faults);
  const offers = fields.all('offers').map((bytes, at): OfferedContent => {
    const offer = new Fields(bytes, OFFERED_CONTENT, { field: `offers[${at}]`, faults });
    return { contentType: offer.text('content_type') ?? '', schema: offer.text('schema') };
  });
  const rest = { offers, settings: new Map<string, string>(), ...headOf(fields) };
  const definition = name && { kind: 'presenter' as const, name, ...rest };
  return publishRequest(fields, checked(definition, { field: '', faults }), faults);
}

export function parseDefineStateView(message: Uint8Array): PublishRequest {
  return defineRequest(message, 'DefineStateViewRequest', (inner, place) => {
    const fields = new Fields(inner, STATE_VIEW_DEFINITION, place);
    const priority = enumFrom(fields, 'priority', PRIORITIES, place);
    const view = { name: 'name', schema: 'schema_id', order: 'revision', priority, presenter: undefined } as const;
    return { definition: stateViewFrom(fields, view, place), component: fields.bytes(WASM_COMPONENT) };
  });
}

export function parseDefineStateChange(message: Uint8Array): PublishRequest {
  return defineRequest(message, 'DefineStateChangeRequest', (inner, place) => {
    const fields = new Fields(inner, STATE_CHANGE_DEFINITION, place);
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
  return { databaseName, definition, component, componentField: WASM_BYTES, faults };
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

interface ViewParts {
  /** The names of the fields. */
  readonly name: string;
  readonly schema: string;
  readonly order: FoldOrder | undefined;
  readonly priority: Priority | undefined;
  readonly presenter: ReturnType<typeof parseComponentName>;
}

function stateViewFrom(fields: Fields, view: ViewParts, place: Place): Definition | undefined {
  const { field, faults } = place;
  const inside = (name: string): string => (field === '' ? name : `${field}.${name}`);
  const { order, priority, presenter } = view;
  const name = parseComponentName(fields.text(view.name) ?? '', inside(view.name), faults);
  const selector = decodeTemplateSelection(fields.bytes(SELECTION) ?? NO_BYTES, inside(SELECTION), faults);
  if (name === undefined || selector === undefined || order === undefined || priority === undefined) return undefined;
  const definition: Definition = {
    kind: 'state-view',
    name,
    selector,
    order,
    keyType: 'none',
    reduceFunction: REDUCE_FUNCTION,
    contentType: fields.text('content_type') ?? '',
    schema: schemaFrom(fields.text(view.schema)),
    priority,
    presenter: presenter && { name: presenter, version: undefined },
    ...headOf(fields),
  };
  return checked(definition, place);
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

function schemaFrom(text: string | undefined): ContentSchema | undefined {
  const uri = unlessEmpty(text);
  return uri === undefined ? undefined : { kind: 'uri', uri };
}

function enumFrom<Value>(fields: Fields, name: string, values: readonly Value[], place: Place): Value | undefined {
  const number = fields.number(name) ?? 0;
  const value = typeof number === 'number' ? values[number] : undefined;
  if (value !== undefined) return value;
  const path = place.field === '' ? name : `${place.field}.${name}`;
  return place.faults.add(path, `must be from 0 to ${values.length - 1}`, String(number));
}

function checked(definition: Definition | undefined, place: Place): Definition | undefined {
  if (definition !== undefined) checkDefinition(definition, place);
  return definition;
}

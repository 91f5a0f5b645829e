/** Components as JSON: versions with the members of their publishing metadata, and entries of lists. */
import { type DefinedVersion, type Definition, parametersOf, selectorToJson } from '#model';
import {
  type JsonMembers,
  type JsonText,
  jsonArray,
  jsonInteger,
  jsonObject,
  jsonString,
  jsonStringIfPresent,
  jsonTimestamp,
} from './json-text.ts';

/** All members of a version. */
export function versionMembers(defined: DefinedVersion): JsonMembers {
  const { definition, version, component, definedAt, definedAtMs, status, foldEpoch } = defined;
  const isView = definition.kind === 'state-view';
  return {
    kind: jsonString(definition.kind),
    name: jsonString(definition.name),
    version: jsonInteger(version),
    ...definitionMembers(definition),
    wasm_digest: jsonString(component.digest),
    wasm_bytes: jsonInteger(component.size),
    published_at: jsonTimestamp(definedAtMs),
    published_at_revision: jsonInteger(definedAt),
    active: isView ? String(status.active) : undefined,
    maintenance_mode: isView ? jsonString(status.mode) : undefined,
    fold_epoch: isView ? jsonInteger(foldEpoch) : undefined,
  };
}

/** Entry of a list at a revision. */
export function listedVersion({ definition, version, status }: DefinedVersion): JsonText {
  const isView = definition.kind === 'state-view';
  return jsonObject({
    name: jsonString(definition.name),
    version: jsonInteger(version),
    ...(isView && { content_type: jsonString(definition.contentType), active: String(status.active) }),
    ...(definition.kind === 'presenter' && { content_types: offersJson(definition) }),
  });
}

/** Entry of a list of the collection-style family: the latest version of a name. */
export function collectionEntry({ definition }: DefinedVersion): JsonText {
  const named = { name: jsonString(definition.name), description: jsonStringIfPresent(definition.description) };
  switch (definition.kind) {
    case 'state-view':
      return jsonObject({
        ...named,
        content_type: jsonString(definition.contentType),
        priority: jsonString(definition.priority),
        parameterized: String(parametersOf(definition.selector).length > 0),
      });
    case 'state-change':
      return jsonObject({ ...named, state_view_name: jsonArray(definition.stateViews.map(jsonString)) });
    case 'presenter':
      return jsonObject({ ...named, content_types: offersJson(definition) });
  }
}

/** The latest version of each name, in the same order. */
export function latestOfNames(versions: readonly DefinedVersion[]): readonly DefinedVersion[] {
  return [...new Map(versions.map((each) => [each.definition.name, each])).values()];
}

function definitionMembers(definition: Definition): JsonMembers {
  const head = {
    description: jsonStringIfPresent(definition.description),
    source_code_uri: jsonStringIfPresent(definition.sourceCodeUri),
  };
  switch (definition.kind) {
    case 'state-view':
      return { ...head, ...stateViewMembers(definition) };
    case 'state-change':
      return { ...head, state_view_names: jsonArray(definition.stateViews.map(jsonString)) };
    case 'presenter': {
      const settings = [...definition.settings].map(([key, value]) => [key, jsonString(value)] as const);
      return { ...head, content_types: offersJson(definition), settings: jsonObject(Object.fromEntries(settings)) };
    }
  }
}

const ORDERS = { revision: 'revision', 'effective-time': 'effective_timestamp' } as const;
const KEY_TYPES = { none: 'None', string: 'String', int64: 'Int64' } as const;

function stateViewMembers(view: Definition & { readonly kind: 'state-view' }): JsonMembers {
  const { presenter, schema } = view;
  return {
    content_type: jsonString(view.contentType),
    content_schema: schema === undefined ? undefined : schemaJson(schema),
    event_selector: selectorToJson(view.selector),
    query_temporality: jsonString(ORDERS[view.order]),
    key_type: jsonString(KEY_TYPES[view.keyType]),
    reduce_fn: jsonString(view.reduceFunction),
    priority: jsonString(view.priority),
    parameters: jsonArray(parametersOf(view.selector).map(jsonString)),
    presenter:
      presenter &&
      jsonObject({
        name: jsonString(presenter.name),
        version: presenter.version === undefined ? undefined : jsonInteger(presenter.version),
      }),
  };
}

/** A stored schema is JSON as it was written. */
function schemaJson(schema: NonNullable<(Definition & { readonly kind: 'state-view' })['schema']>): JsonText {
  return schema.kind === 'uri' ? jsonString(schema.uri) : Buffer.from(schema.bytes).toString('utf8');
}

function offersJson({ offers }: Definition & { readonly kind: 'presenter' }): JsonText {
  return jsonArray(
    offers.map(({ contentType, schema }) =>
      jsonObject({ content_type: jsonString(contentType), schema: jsonStringIfPresent(schema) }),
    ),
  );
}

/** Components as JSON: versions with the members of their publishing metadata, and entries of lists. */
import { type DefinedVersion, type Definition, parametersOf, selectorToJson } from '#model';
import { type Json, type JsonMembers, RawJson, timestamp } from './json-text.ts';

export function versionMembers(defined: DefinedVersion): JsonMembers {
  const { definition, version, component, definedAt, definedAtMs, status, foldEpoch } = defined;
  const isView = definition.kind === 'state-view';
  return {
    kind: definition.kind,
    name: definition.name,
    version,
    ...definitionMembers(definition),
    wasm_digest: component.digest,
    wasm_bytes: component.size,
    published_at: timestamp(definedAtMs),
    published_at_revision: definedAt,
    ...(isView && { active: status.active, maintenance_mode: status.mode, fold_epoch: foldEpoch }),
  };
}

export function listedVersion({ definition, version, status }: DefinedVersion): Json {
  const isView = definition.kind === 'state-view';
  return {
    name: definition.name,
    version,
    ...(isView && { content_type: definition.contentType, active: status.active }),
    ...(definition.kind === 'presenter' && { content_types: offersOf(definition) }),
  };
}

/** Entry of a list of the collection-style family: the latest version of a name. */
export function collectionEntry({ definition }: DefinedVersion): Json {
  const { name, description } = definition;
  switch (definition.kind) {
    case 'state-view': {
      const { contentType, priority, selector } = definition;
      return {
        name,
        description,
        content_type: contentType,
        priority,
        parameterized: parametersOf(selector).length > 0,
      };
    }
    case 'state-change':
      return { name, description, state_view_name: definition.stateViews };
    case 'presenter':
      return { name, description, content_types: offersOf(definition) };
  }
}

/** The latest version of each name, in the same order. */
export function latestOfNames(versions: readonly DefinedVersion[]): readonly DefinedVersion[] {
  return [...new Map(versions.map((each) => [each.definition.name, each])).values()];
}

function definitionMembers(definition: Definition): JsonMembers {
  const { description, sourceCodeUri } = definition;
  const head = { description, source_code_uri: sourceCodeUri };
  switch (definition.kind) {
    case 'state-view':
      return { ...head, ...stateViewMembers(definition) };
    case 'state-change':
      return { ...head, state_view_names: definition.stateViews };
    case 'presenter':
      return { ...head, content_types: offersOf(definition), settings: Object.fromEntries(definition.settings) };
  }
}

const ORDERS = { revision: 'revision', 'effective-time': 'effective_timestamp' } as const;
const KEY_TYPES = { none: 'None', string: 'String', int64: 'Int64' } as const;

type View = Definition & { readonly kind: 'state-view' };

function stateViewMembers(view: View): JsonMembers {
  const { presenter, schema } = view;
  return {
    content_type: view.contentType,
    // A stored schema is JSON as it was written.
    content_schema: schema && (schema.kind === 'uri' ? schema.uri : new RawJson(Buffer.from(schema.bytes).toString())),
    event_selector: new RawJson(selectorToJson(view.selector)),
    query_temporality: ORDERS[view.order],
    key_type: KEY_TYPES[view.keyType],
    reduce_fn: view.reduceFunction,
    priority: view.priority,
    parameters: parametersOf(view.selector),
    presenter: presenter && { name: presenter.name, version: presenter.version },
  };
}

function offersOf({ offers }: Definition & { readonly kind: 'presenter' }): Json {
  return offers.map(({ contentType, schema }) => ({ content_type: contentType, schema }));
}

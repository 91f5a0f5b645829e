/** The requests that publish a component, from the spec of its resource. */
import {
  KeyType,
  Priority,
  type PublishPresenterRequest,
  type PublishStateChangeRequest,
  type PublishStateViewRequest,
  QueryTemporality,
} from '../../../proto/gen/cairn/v1/component.ts';
import { ParameterTerm, type EventSelector as SelectorMessage } from '../../../proto/gen/cairn/v1/event.ts';
import type { PresenterSpec, StateChangeSpec, StateViewSpec } from '../api/index.ts';

/** Fields of a spec that say where, when and how long, and are no metadata. */
export type Beside = 'databases' | 'name' | 'source' | 'rollout' | 'retainVersions' | 'reclaimPolicy';

export type ComponentKind = 'StateView' | 'StateChange' | 'Presenter';

export interface ComponentId {
  readonly database: string;
  readonly kind: ComponentKind;
  readonly name: string;
}

/** The spec of a resource, as far as it is metadata of the publication. */
export type Publication =
  | ({ readonly kind: 'StateView' } & Omit<StateViewSpec, Beside | 'maintenance' | 'active'>)
  | ({ readonly kind: 'StateChange' } & Omit<StateChangeSpec, Beside>)
  | ({ readonly kind: 'Presenter' } & Omit<PresenterSpec, Beside>);

type View = Publication & { readonly kind: 'StateView' };
type Selector = NonNullable<View['events']>[number];
type Term = NonNullable<SelectorMessage['kind']>;

const PRIORITIES: Readonly<Record<View['priority'], Priority>> = {
  Low: Priority.PRIORITY_LOW,
  Normal: Priority.PRIORITY_NORMAL,
  High: Priority.PRIORITY_HIGH,
};

const KEY_TYPES: Readonly<Record<View['keyType'], KeyType>> = {
  None: KeyType.KEY_TYPE_NONE,
  String: KeyType.KEY_TYPE_STRING,
  Int64: KeyType.KEY_TYPE_INT64,
};

const TEMPORALITIES: Readonly<Record<View['temporality'], QueryTemporality>> = {
  Revision: QueryTemporality.QUERY_TEMPORALITY_REVISION,
  EffectiveTime: QueryTemporality.QUERY_TEMPORALITY_EFFECTIVE_TIMESTAMP,
};

const ATTRIBUTES: Readonly<Record<NonNullable<Selector['parameters']>[number]['attribute'], ParameterTerm>> = {
  Stream: ParameterTerm.PARAMETER_TERM_STREAM,
  StreamPrefix: ParameterTerm.PARAMETER_TERM_STREAM_PREFIX,
  EventType: ParameterTerm.PARAMETER_TERM_EVENT_TYPE,
  EventTypePrefix: ParameterTerm.PARAMETER_TERM_EVENT_TYPE_PREFIX,
  Subject: ParameterTerm.PARAMETER_TERM_SUBJECT,
  SubjectPrefix: ParameterTerm.PARAMETER_TERM_SUBJECT_PREFIX,
};

const TERMS = {
  eventType: 'byType',
  eventTypePrefix: 'byTypePrefix',
  stream: 'byStream',
  streamPrefix: 'byStreamPrefix',
  subject: 'bySubject',
  subjectPrefix: 'bySubjectPrefix',
  source: 'bySource',
} as const;

export function viewRequest(id: ComponentId, view: View, wasmBytes: Buffer): PublishStateViewRequest {
  const { contentSchema, events = [], eventTypes = [], presenter } = view;
  return {
    databaseName: id.database,
    stateViewName: id.name,
    description: view.description,
    sourceCodeUri: view.sourceCodeURI,
    contentType: view.contentType,
    contentSchema: contentSchema?.uri,
    contentSchemaJson: contentSchema?.json === undefined ? undefined : Buffer.from(contentSchema.json),
    eventSelection: { selectors: events.map(selectorOf) },
    eventTypes,
    queryTemporality: TEMPORALITIES[view.temporality],
    priority: PRIORITIES[view.priority],
    keyType: KEY_TYPES[view.keyType],
    presenterName: presenter?.name,
    presenterVersion: presenter?.version,
    reduceFn: view.reduceFunction,
    wasmBytes,
    inactive: true,
  };
}

export function changeRequest(
  id: ComponentId,
  { description, sourceCodeURI, stateViewNames = [] }: Publication & { readonly kind: 'StateChange' },
  wasmBytes: Buffer,
): PublishStateChangeRequest {
  const named = { databaseName: id.database, stateChangeName: id.name };
  return { ...named, description, sourceCodeUri: sourceCodeURI, stateViewNames, wasmBytes, inactive: true };
}

export function presenterRequest(
  id: ComponentId,
  { description, sourceCodeURI, offers, settings = {} }: Publication & { readonly kind: 'Presenter' },
  wasmBytes: Buffer,
): PublishPresenterRequest {
  const named = { databaseName: id.database, presenterName: id.name };
  return { ...named, description, sourceCodeUri: sourceCodeURI, offers, settings, wasmBytes, inactive: true };
}

/** An event must meet all terms; without terms every event does. */
function selectorOf(selector: Selector): SelectorMessage {
  const terms: Term[] = [];
  for (const [field, term] of Object.entries(TERMS)) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- entries of TERMS
    const value = selector[field as keyof typeof TERMS];
    if (value !== undefined) terms.push({ $case: term, value });
  }
  if (selector.withoutSubject === true) terms.push({ $case: 'noSubject', value: {} });
  for (const { name, attribute } of selector.parameters ?? [])
    terms.push({ $case: 'parameter', value: { name, term: ATTRIBUTES[attribute] } });
  const [only] = terms;
  if (terms.length <= 1) return { kind: only };
  return { kind: { $case: 'and', value: { selectors: terms.map((kind) => ({ kind })) } } };
}

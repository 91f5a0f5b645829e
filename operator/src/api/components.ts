/** StateView, StateChange and Presenter: all that the server takes when one is published, and nothing else. */
import {
  componentFields,
  componentKind,
  componentName,
  contentType,
  EVENT_TEXT_MAX,
  SPEC_RULES,
  uri,
  versionNumber,
} from './component.ts';
import {
  atLeastOne,
  choice,
  exactlyOne,
  type Field,
  flag,
  list,
  map,
  object,
  optional,
  type ResourceKind,
  type Shape,
  shape,
  text,
} from './schema.ts';

function eventText(doc: string): Field {
  return optional(text(doc, EVENT_TEXT_MAX, { min: 1 }));
}

const PARAMETER: Shape = shape('EventParameter', {
  name: text('The name of the parameter; a read binds account_id of a Subject as subject.account_id.', 64, {
    min: 1,
    pattern: '^[A-Za-z_][A-Za-z0-9_-]*$',
  }),
  attribute: choice('Attribute of the event that the value is compared with.', [
    'Stream',
    'StreamPrefix',
    'EventType',
    'EventTypePrefix',
    'Subject',
    'SubjectPrefix',
  ]),
});

const EVENTS: Shape = shape('EventSelector', {
  stream: eventText('The stream.'),
  streamPrefix: eventText('Prefix of the stream.'),
  eventType: eventText('The event type.'),
  eventTypePrefix: eventText('Prefix of the event type.'),
  subject: eventText('The subject.'),
  subjectPrefix: eventText('Prefix of the subject.'),
  source: optional(uri('The source, a URI reference.')),
  withoutSubject: optional(flag('true: events that have no subject.')),
  parameters: optional(
    list('Attributes whose values are given by each read.', object('A parameter.', PARAMETER), 16, {
      min: 1,
      merge: { keys: ['name', 'attribute'] },
    }),
  ),
});

const CONTENT_SCHEMA: Shape = shape(
  'ContentSchema',
  {
    uri: optional(uri('The URI of the schema.')),
    json: optional(text('The JSON Schema itself, kept as it is written here.', 65_536, { min: 2 })),
  },
  [exactlyOne('uri', 'json')],
);

const PRESENTER_REF: Shape = shape('PresenterRef', {
  name: componentName('The name of the presenter, as it is published in the databases.'),
  version: optional(versionNumber('Its version; without it its latest one at the revision of each read.')),
});

const STATE_VIEW_SPEC: Shape = shape(
  'StateViewSpec',
  componentFields({
    events: optional(
      list(
        'Selectors of the events that are folded. An event is folded when any of them matches. A selector matches events that have all of its fields; {} matches every event.',
        object('One selector.', EVENTS),
        255,
        { min: 1 },
      ),
    ),
    eventTypes: optional(
      list(
        'Types of the events that are folded. With events, an event must match both.',
        text('An event type.', EVENT_TEXT_MAX, { min: 1 }),
        255,
        { min: 1, merge: 'set' },
      ),
    ),
    temporality: choice(
      'The order in which events are folded. Revision: as they were recorded. EffectiveTime: by their own time.',
      ['Revision', 'EffectiveTime'],
      { default: 'Revision' },
    ),
    keyType: choice(
      'None: one state. String or Int64: one state for each subject, which a read gives as subject.key.',
      ['None', 'String', 'Int64'],
      { default: 'None' },
    ),
    contentType: contentType('The media type of the rendered state, such as application/json.'),
    contentSchema: optional(object('A schema of the rendered state.', CONTENT_SCHEMA)),
    presenter: optional(object('The presenter that renders the state.', PRESENTER_REF)),
    priority: choice('State Views of a higher priority are folded first.', ['Low', 'Normal', 'High'], {
      default: 'Normal',
    }),
    maintenance: choice(
      'Time at which events are folded. Lazy: when the state is read. Eager: as events are recorded. Scheduled: at intervals.',
      ['Lazy', 'Eager', 'Scheduled'],
      { default: 'Lazy' },
    ),
    reduceFunction: optional(
      text('The exported function that folds; without it the usual one.', 128, {
        min: 1,
        pattern: '^[A-Za-z_][A-Za-z0-9_-]*$',
      }),
    ),
    active: flag('false: all versions are deactivated and kept; the State View cannot be read.', {
      default: true,
    }),
  }),
  [...SPEC_RULES, atLeastOne('events', 'eventTypes')],
);

export const STATE_VIEW: ResourceKind = componentKind({
  kind: 'StateView',
  plural: 'stateviews',
  shortNames: ['sv'],
  doc: 'A WebAssembly component that folds events into a state.',
  spec: STATE_VIEW_SPEC,
  specDoc: 'Desired state of the State View.',
});

const STATE_CHANGE_SPEC: Shape = shape(
  'StateChangeSpec',
  componentFields({
    stateViewNames: optional(
      list(
        'The State Views that it reads. They are published before it.',
        componentName('The name of a State View, as it is published in the databases.'),
        64,
        { merge: 'set' },
      ),
    ),
  }),
  SPEC_RULES,
);

export const STATE_CHANGE: ResourceKind = componentKind({
  kind: 'StateChange',
  plural: 'statechanges',
  shortNames: ['sch'],
  doc: 'A WebAssembly component that decides which events follow from a command.',
  spec: STATE_CHANGE_SPEC,
  specDoc: 'Desired state of the State Change.',
});

const OFFER: Shape = shape('OfferedContent', {
  contentType: contentType('The media type, such as text/csv.'),
  schema: optional(uri('The URI of a schema of the content.')),
});

const PRESENTER_SPEC: Shape = shape(
  'PresenterSpec',
  componentFields({
    offers: list('The contents that it offers, the most preferred first.', object('One content.', OFFER), 64, {
      min: 1,
      merge: { keys: ['contentType'] },
    }),
    settings: optional(
      map('Settings that the presenter receives with every presentation.', text('The value.', 4096), 64),
    ),
  }),
  SPEC_RULES,
);

export const PRESENTER: ResourceKind = componentKind({
  kind: 'Presenter',
  plural: 'presenters',
  shortNames: ['prs'],
  doc: 'A WebAssembly component that renders a state in other forms, such as HTML or CSV.',
  spec: PRESENTER_SPEC,
  specDoc: 'Desired state of the presenter.',
});

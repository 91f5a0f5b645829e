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
import * as f from './schema.ts';

function eventText(doc: string): f.Field {
  return f.text(doc, EVENT_TEXT_MAX, { min: 1 });
}

const PARAMETER: f.Shape = f.shape('EventParameter', {
  name: f.text('The name of the parameter; a read binds account_id of a Subject as subject.account_id.', 64, {
    min: 1,
    pattern: '^[A-Za-z_][A-Za-z0-9_-]*$',
  }),
  attribute: f.choice('Attribute of the event that the value is compared with.', [
    'Stream',
    'StreamPrefix',
    'EventType',
    'EventTypePrefix',
    'Subject',
    'SubjectPrefix',
  ]),
});

const EVENTS: f.Shape = f.shape('EventSelector', {
  'stream?': eventText('The stream.'),
  'streamPrefix?': eventText('Prefix of the stream.'),
  'eventType?': eventText('The event type.'),
  'eventTypePrefix?': eventText('Prefix of the event type.'),
  'subject?': eventText('The subject.'),
  'subjectPrefix?': eventText('Prefix of the subject.'),
  'source?': uri('The source, a URI reference.'),
  'withoutSubject?': f.flag('true: events that have no subject.'),
  'parameters?': f.list('Attributes whose values are given by each read.', f.object('A parameter.', PARAMETER), 16, {
    min: 1,
    merge: { keys: ['name', 'attribute'] },
  }),
});

const CONTENT_SCHEMA: f.Shape = f.shape(
  'ContentSchema',
  {
    'uri?': uri('The URI of the schema.'),
    'json?': f.text('The JSON Schema itself, kept as it is written here.', 65_536, { min: 2 }),
  },
  [f.exactlyOne('uri', 'json')],
);

const PRESENTER_REF: f.Shape = f.shape('PresenterRef', {
  name: componentName('The name of the presenter, as it is published in the databases.'),
  'version?': versionNumber('Its version; without it its latest one at the revision of each read.'),
});

const STATE_VIEW_SPEC: f.Shape = f.shape(
  'StateViewSpec',
  componentFields({
    'events?': f.list(
      'Selectors of the events that are folded. An event is folded when any of them matches. A selector matches events that have all of its fields; {} matches every event.',
      f.object('One selector.', EVENTS),
      255,
      { min: 1 },
    ),
    'eventTypes?': f.list(
      'Types of the events that are folded. With events, an event must match both.',
      f.text('An event type.', EVENT_TEXT_MAX, { min: 1 }),
      255,
      { min: 1, merge: 'set' },
    ),
    temporality: f.choice(
      'The order in which events are folded. Revision: as they were recorded. EffectiveTime: by their own time.',
      ['Revision', 'EffectiveTime'],
      { default: 'Revision' },
    ),
    keyType: f.choice(
      'None: one state. String or Int64: one state for each subject, which a read gives as subject.key.',
      ['None', 'String', 'Int64'],
      { default: 'None' },
    ),
    contentType: contentType('The media type of the rendered state, such as application/json.'),
    'contentSchema?': f.object('A schema of the rendered state.', CONTENT_SCHEMA),
    'presenter?': f.object('The presenter that renders the state.', PRESENTER_REF),
    priority: f.choice('State Views of a higher priority are folded first.', ['Low', 'Normal', 'High'], {
      default: 'Normal',
    }),
    maintenance: f.choice(
      'Time at which events are folded. Lazy: when the state is read. Eager: as events are recorded. Scheduled: at intervals.',
      ['Lazy', 'Eager', 'Scheduled'],
      { default: 'Lazy' },
    ),
    'reduceFunction?': f.text('The exported function that folds; without it the usual one.', 128, {
      min: 1,
      pattern: '^[A-Za-z_][A-Za-z0-9_-]*$',
    }),
    active: f.flag('false: all versions are deactivated and kept; the State View cannot be read.', { default: true }),
  }),
  [...SPEC_RULES, f.atLeastOne('events', 'eventTypes')],
);

export const STATE_VIEW: f.ResourceKind = componentKind({
  kind: 'StateView',
  plural: 'stateviews',
  shortNames: ['sv'],
  doc: 'A WebAssembly component that folds events into a state.',
  spec: STATE_VIEW_SPEC,
  specDoc: 'Desired state of the State View.',
});

const STATE_CHANGE_SPEC: f.Shape = f.shape(
  'StateChangeSpec',
  componentFields({
    'stateViewNames?': f.list(
      'The State Views that it reads. They are published before it.',
      componentName('The name of a State View, as it is published in the databases.'),
      64,
      { merge: 'set' },
    ),
  }),
  SPEC_RULES,
);

export const STATE_CHANGE: f.ResourceKind = componentKind({
  kind: 'StateChange',
  plural: 'statechanges',
  shortNames: ['sch'],
  doc: 'A WebAssembly component that decides which events follow from a command.',
  spec: STATE_CHANGE_SPEC,
  specDoc: 'Desired state of the State Change.',
});

const OFFER: f.Shape = f.shape('OfferedContent', {
  contentType: contentType('The media type, such as text/csv.'),
  'schema?': uri('The URI of a schema of the content.'),
});

const PRESENTER_SPEC: f.Shape = f.shape(
  'PresenterSpec',
  componentFields({
    offers: f.list('The contents that it offers, the most preferred first.', f.object('One content.', OFFER), 64, {
      min: 1,
      merge: { keys: ['contentType'] },
    }),
    'settings?': f.map('Settings that the presenter receives with every presentation.', f.text('The value.', 4096), 64),
  }),
  SPEC_RULES,
);

export const PRESENTER: f.ResourceKind = componentKind({
  kind: 'Presenter',
  plural: 'presenters',
  shortNames: ['prs'],
  doc: 'A WebAssembly component that renders a state in other forms, such as HTML or CSV.',
  spec: PRESENTER_SPEC,
  specDoc: 'Desired state of the presenter.',
});

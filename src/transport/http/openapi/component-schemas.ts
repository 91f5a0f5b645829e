/** Schemas of components: publishing them, their versions, and requests to them. */
import { PRIORITIES } from '#model';
import { ANYTHING, answer, count, FLAG, list, members, ref, request, type Schema, text } from './schema.ts';

const NAME = text('1 to 63 lowercase letters, digits, and hyphens inside.');
const ABOUT = { description: text(), source_code_uri: text() };
const VERSION = count('From 1 on, one more with each publication that changes something.', 1);
const PRIORITY = { enum: [...PRIORITIES] };
const KEY_TYPE = { enum: ['None', 'String', 'Int64'] };
const ORDER = { enum: ['revision', 'effective_timestamp'] };
const BYTES = text('The bytes of the component.', { contentMediaType: 'application/octet-stream' });

const OFFER = {
  anyOf: [text('A content type.'), request({ content_type: text() }, { schema: text() })],
};

function publication(metadata: string): Schema {
  return { type: 'object', properties: { metadata: ref(metadata), wasm: BYTES }, required: ['metadata', 'wasm'] };
}

function versions(member: string): Schema {
  return answer({ ...members('database revision'), [member]: list(ref('ListedVersion')) }, members('next'));
}

const OFFERS = list(answer({ content_type: text() }, { schema: text() }));

/** State of a State View, with `revision`. */
const SHOWN_STATE = {
  ...members('state_revision effective_time_end_at other_revision'),
  other_version: VERSION,
  difference: text('From the other state to this one, as a unified difference of their lines.'),
  state: text('JSON over lines, or the text as it is.'),
};

/** Requires a member that is not null. */
function has(member: string, type: string): Schema {
  return { required: [member], properties: { [member]: { type } } };
}

export const COMPONENT_SCHEMAS: Readonly<Record<string, Schema>> = {
  StateViewMetadata: {
    ...request(
      {
        state_view_name: NAME,
        content_type: text(),
        query_temporality: ORDER,
      },
      {
        ...ABOUT,
        events: list(text('An event type.')),
        event_selector: ANYTHING,
        content_schema: ANYTHING,
        priority: PRIORITY,
        presenter: { anyOf: [text(), request({ name: text() }, { version: VERSION })] },
        key_type: KEY_TYPE,
        reduce_fn: text(),
      },
    ),
    anyOf: [has('events', 'array'), has('event_selector', 'object')],
  },
  StateChangeMetadata: request({ state_change_name: NAME }, { ...ABOUT, state_view_names: list(text()) }),
  PresenterMetadata: request(
    { presenter_name: NAME, content_types: list(OFFER, { minItems: 1 }) },
    { ...ABOUT, settings: { type: 'object', additionalProperties: text() } },
  ),
  StateViewPublication: publication('StateViewMetadata'),
  StateChangePublication: publication('StateChangeMetadata'),
  PresenterPublication: publication('PresenterMetadata'),
  Version: answer(
    {
      kind: { enum: ['state-view', 'state-change', 'presenter'] },
      version: VERSION,
      ...members('name wasm_digest wasm_bytes published_at published_at_revision'),
    },
    {
      ...ABOUT,
      ...members('content_type content_schema event_selector reduce_fn active fold_epoch'),
      query_temporality: ORDER,
      key_type: KEY_TYPE,
      priority: PRIORITY,
      parameters: list(text()),
      presenter: answer({ name: text() }, { version: VERSION }),
      state_view_names: list(text()),
      content_types: OFFERS,
      settings: { type: 'object', additionalProperties: text() },
      maintenance_mode: { enum: ['lazy', 'eager', 'scheduled'] },
      ...SHOWN_STATE,
    },
  ),
  ListedVersion: answer(
    { name: text(), version: VERSION },
    { content_type: text(), active: FLAG, content_types: OFFERS },
  ),
  ListedVersions: list(ref('ListedVersion')),
  StateViewVersions: versions('state_views'),
  StateChangeVersions: versions('state_changes'),
  StateViews: answer(
    {
      state_views: list(
        answer({ ...members('name content_type parameterized'), priority: PRIORITY }, members('description')),
      ),
    },
    { next: text() },
  ),
  StateChanges: answer(
    { state_changes: list(answer({ name: text(), state_view_name: list(text()) }, { description: text() })) },
    { next: text() },
  ),
  FoldEpoch: answer({ epoch: count('Changes with each time that what was folded is forgotten.') }),
  DescribedCommand: request({}, { method: text(), path: text(), body: ANYTHING }),
  ProcessedCommand: request({}, { command: ANYTHING, parameters: { type: 'object', additionalProperties: text() } }),
  ProcessReply: answer(
    { success: FLAG },
    {
      events: list(ref('Event')),
      ...members('revision'),
      error: answer(members('code message'), { details: ANYTHING }),
    },
  ),
};

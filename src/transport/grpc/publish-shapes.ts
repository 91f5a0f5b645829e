/** The messages that publish components, and those inside them: names of fields by their tags. */
import type { MessageShape } from './request-walk.ts';

export const DATABASE_NAME = [0x0a, 'database_name'] as const;
export const WASM_BYTES = 'wasm_bytes';
export const WASM_COMPONENT = 'wasm_component';
export const SELECTION = 'event_selection';
export const EVENT_TYPES = 'event_types';
export const SCHEMA_JSON = 'content_schema_json';
export const PRESENTER_VERSION = 'presenter_version';
export const STATE_VIEW_NAMES = 'state_view_names';
export const SETTINGS = 'settings';
export const INACTIVE = 'inactive';

export const PUBLISH_STATE_VIEW: MessageShape = {
  type: 'PublishStateViewRequest',
  texts: new Map([
    DATABASE_NAME,
    [0x12, 'state_view_name'],
    [0x1a, 'description'],
    [0x22, 'content_type'],
    [0x2a, 'content_schema'],
    [0x42, 'source_code_uri'],
    [0x52, 'presenter_name'],
    [0x72, 'reduce_fn'],
    [0x7a, EVENT_TYPES],
  ]),
  bytes: new Map([
    [0x32, SELECTION],
    [0x4a, WASM_BYTES],
    [0x82, SCHEMA_JSON],
  ]),
  numbers: new Map([
    [0x38, 'query_temporality'],
    [0x58, PRESENTER_VERSION],
    [0x60, 'priority'],
    [0x68, 'key_type'],
    [0x88, INACTIVE],
  ]),
};

export const PUBLISH_STATE_CHANGE: MessageShape = {
  type: 'PublishStateChangeRequest',
  texts: new Map([
    DATABASE_NAME,
    [0x12, 'state_change_name'],
    [0x1a, 'description'],
    [0x22, 'source_code_uri'],
    [0x32, STATE_VIEW_NAMES],
  ]),
  bytes: new Map([[0x2a, WASM_BYTES]]),
  numbers: new Map([[0x38, INACTIVE]]),
};

export const PUBLISH_PRESENTER: MessageShape = {
  type: 'PublishPresenterRequest',
  texts: new Map([DATABASE_NAME, [0x12, 'presenter_name'], [0x1a, 'description'], [0x2a, 'source_code_uri']]),
  bytes: new Map([
    [0x22, 'offers'],
    [0x32, WASM_BYTES],
    [0x3a, SETTINGS],
  ]),
  numbers: new Map([[0x40, INACTIVE]]),
};

export const OFFERED_CONTENT: MessageShape = {
  type: 'OfferedContent',
  texts: new Map([
    [0x0a, 'content_type'],
    [0x12, 'schema'],
  ]),
};

export const STATE_VIEW_DEFINITION: MessageShape = {
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

export const STATE_CHANGE_DEFINITION: MessageShape = {
  type: 'StateChangeDefinition',
  texts: new Map([
    [0x0a, 'name'],
    [0x12, 'description'],
    [0x1a, 'state_view_name'],
  ]),
  bytes: new Map([[0x22, WASM_COMPONENT]]),
};

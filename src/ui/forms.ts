/**
 * Fields of the forms of pages, and the part of the JSON request that each field becomes (ADR 0141). Pages draw their
 * forms from these tables, #transport reads forms by them, and the OpenAPI documents list them.
 */
import { randomUUID } from 'node:crypto';
import type { Action, Form, FormField } from './description.ts';

const TEXT: FormField = { becomes: 'text' };
const HEADER: FormField = { becomes: 'header' };

const EVENT = `[
  {
    "id": "",
    "source": "",
    "specversion": "1.0",
    "type": "",
    "data": {}
  }
]`;

export const CREATE_FORM: Form = { fields: { database_name: TEXT } };

export const TRANSACT_FORM: Form = {
  fields: {
    events: { becomes: 'json', start: EVENT },
    conditions: { becomes: 'json' },
    commit_message: TEXT,
    transaction_id: TEXT,
  },
  once: 'transaction_id',
};

const BATCH_ID = 'x-batch-id';

export const RUN_FORM: Form = {
  fields: { body: { becomes: 'body', start: '{}' }, [BATCH_ID]: HEADER },
  once: BATCH_ID,
};

export const EXECUTE_FORM: Form = {
  fields: {
    method: TEXT,
    path: TEXT,
    body: { becomes: 'json', start: '{}' },
    [BATCH_ID]: HEADER,
    'x-last-seen-revision': HEADER,
  },
  once: BATCH_ID,
};

/** Sent as multipart/form-data, as other clients send it. */
export const PUBLISH_FORM: Form = {
  fields: { metadata: { becomes: 'json', start: '{}' }, wasm: { becomes: 'file' } },
};

export const BUTTON_FORM: Form = { fields: {} };

/**
 * Fills a new id into the form, so that repeated sending commits once. The page must not be cached: two readers with
 * the same id would share one transaction.
 */
export function onceOnly(action: Action): Action {
  const { form, filled } = action;
  if (form?.once === undefined) return action;
  return { ...action, filled: { ...filled, values: { ...filled?.values, [form.once]: randomUUID() } } };
}

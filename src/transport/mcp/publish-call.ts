/** Publishes a component: builds the multipart body of HTTP from the arguments of the tool. */

import { asked, type ToolCall } from './api-call.ts';
import { type Arguments, integer, oneOf, text, texts, WrongArguments } from './tool-arguments.ts';

const SEGMENTS = { state_view: 'state-views', state_change: 'state-changes' } as const;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const VIEW_ONLY = ['key_type', 'reduce_fn', 'events'];

/**
 * Publishes it as the named version, or not at all.
 * @throws WrongArguments, ApiFailure, RequestFailed
 */
export async function publishComponent(given: Arguments, call: ToolCall): Promise<string> {
  const type = given.required('component_type', oneOf('state_view', 'state_change'));
  const form = new FormData();
  const bytes = componentIn(given);
  const metadata = JSON.stringify(type === 'state_view' ? stateViewIn(given) : stateChangeIn(given));
  form.append('metadata', new Blob([metadata], { type: 'application/json' }));
  form.append('wasm', new Blob([bytes], { type: 'application/wasm' }));
  const encoded = new Response(form);
  const database = encodeURIComponent(given.required('database', text));
  return asked(call, {
    method: 'POST',
    path: `/api/v1/db/${database}/${SEGMENTS[type]}?version=${given.required('version', integer)}`,
    accept: 'text/plain',
    body: {
      contentType: encoded.headers.get('content-type') ?? '',
      bytes: new Uint8Array(await encoded.arrayBuffer()),
    },
  });
}

function componentIn(given: Arguments): Uint8Array<ArrayBuffer> {
  const base64 = given.required('wasm_base64', text);
  if (base64.length % 4 !== 0 || !BASE64.test(base64)) {
    throw new WrongArguments('wasm_base64 must be base64 with its padding and without line breaks');
  }
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

function stateViewIn(given: Arguments): object {
  const events = given.optional('events', texts) ?? [];
  return {
    state_view_name: given.required('name', text),
    content_type: given.required('content_type', text),
    query_temporality: 'revision',
    key_type: given.optional('key_type', oneOf('String', 'Int64', 'None')),
    reduce_fn: given.optional('reduce_fn', text),
    ...(events.length === 0 ? { event_selector: {} } : { events }),
  };
}

function stateChangeIn(given: Arguments): object {
  const other = VIEW_ONLY.find((name) => given.has(name));
  if (other !== undefined) throw new WrongArguments(`${other} is for a state_view; a state_change has none`);
  // The content type of a State Change has no meaning, but the specification requires one.
  given.required('content_type', text);
  return { state_change_name: given.required('name', text) };
}

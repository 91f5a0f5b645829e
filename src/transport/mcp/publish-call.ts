/** Publishing by the tool: the multipart body of HTTP, made of its arguments. */

import { asked, type ToolCall } from './api-call.ts';
import { type Arguments, jsonOf, WrongArguments } from './tool-arguments.ts';

const SEGMENTS = { state_view: 'state-views', state_change: 'state-changes' } as const;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const VIEW_ONLY = ['key_type', 'reduce_fn', 'events'];

export class PublishCall {
  readonly #given: Arguments;

  constructor(given: Arguments) {
    this.#given = given;
  }

  /** @throws WrongArguments, ApiFailure, RequestFailed */
  async send(call: ToolCall): Promise<string> {
    const type = this.#given.oneOf('component_type', ['state_view', 'state_change']);
    if (type === undefined) throw new WrongArguments('component_type is required: state_view or state_change');
    const segment = SEGMENTS[type];
    const path = `/db/${encodeURIComponent(this.#given.text('database'))}`;
    const bytes = this.#component();
    const metadata = type === 'state_view' ? this.#stateView() : this.#stateChange();
    await this.#expectNext(call, { listing: `${path}/latest/${segment}`, segment });
    const form = new FormData();
    form.append('metadata', new Blob([metadata], { type: 'application/json' }));
    form.append('wasm', new Blob([bytes], { type: 'application/wasm' }));
    const encoded = new Response(form);
    return asked(call, {
      method: 'POST',
      path: `/api/v1${path}/${segment}`,
      accept: 'text/plain',
      body: {
        contentType: encoded.headers.get('content-type') ?? '',
        bytes: new Uint8Array(await encoded.arrayBuffer()),
      },
    });
  }

  /**
   * Versions are given in turn, so one that is to be another than the next would be another one than was meant. A
   * latest version with the same bytes is published again as the version that it is.
   */
  async #expectNext(call: ToolCall, { listing, segment }: { listing: string; segment: string }): Promise<void> {
    const text = await asked(call, { method: 'GET', path: listing, accept: 'application/json' });
    const latest = latestOf(text, segment.replace('-', '_'), this.#given.text('name'));
    const version = this.#given.integer('version');
    if (version === latest + 1 || (version === latest && latest > 0)) return;
    const which = latest === 0 ? '1, for there is none yet' : `${latest + 1}, for the latest is ${latest}`;
    throw new WrongArguments(`version must be ${which}; found ${version}`);
  }

  #component(): Uint8Array<ArrayBuffer> {
    const base64 = this.#given.text('wasm_base64');
    if (base64.length % 4 !== 0 || !BASE64.test(base64)) {
      throw new WrongArguments('wasm_base64 must be base64 with its padding and without line breaks');
    }
    return new Uint8Array(Buffer.from(base64, 'base64'));
  }

  #stateView(): string {
    const events = this.#given.texts('events');
    return jsonOf({
      state_view_name: this.#given.text('name'),
      content_type: this.#given.text('content_type'),
      query_temporality: 'revision',
      key_type: this.#given.oneOf('key_type', ['String', 'Int64', 'None']),
      reduce_fn: this.#given.optionalText('reduce_fn'),
      ...(events === undefined || events.length === 0 ? { event_selector: {} } : { events }),
    });
  }

  #stateChange(): string {
    const other = VIEW_ONLY.find((name) => this.#given.has(name));
    if (other !== undefined) throw new WrongArguments(`${other} is for a state_view; a state_change has none`);
    // Its content type says nothing of a State Change, but the specification asks for one.
    this.#given.text('content_type');
    return jsonOf({ state_change_name: this.#given.text('name') });
  }
}

interface Listed {
  readonly name: string;
  readonly version: number;
}

/** 0: there is none. */
function latestOf(listing: string, member: string, name: string): number {
  const page: unknown = JSON.parse(listing);
  const all: unknown = typeof page === 'object' && page !== null ? Reflect.get(page, member) : undefined;
  const listed: readonly unknown[] = Array.isArray(all) ? all : [];
  return Math.max(0, ...listed.filter(isListed).flatMap((each) => (each.name === name ? [each.version] : [])));
}

function isListed(value: unknown): value is Listed {
  return typeof value === 'object' && value !== null && 'name' in value && 'version' in value;
}

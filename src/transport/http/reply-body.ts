/** Makes the data of replies, which each rendering reads. */
import type { ReplyData } from '#ui';
import { JsonElements } from './json-elements.ts';
import { type Json, type JsonMembers, type JsonText, jsonMembers } from './json-text.ts';

export interface ReplyBody extends ReplyData {
  readonly list?: { readonly name: string | undefined; readonly items: JsonElements };
}

export function objectBody(members: JsonMembers): ReplyBody {
  return { first: jsonMembers(members), last: '' };
}

/** Data of an object that is JSON text already; a line break may follow it. */
export function textBody(object: JsonText): ReplyBody {
  return { first: object.slice(1, object.lastIndexOf('}')), last: '' };
}

export function listBody(
  name: string | undefined,
  items: JsonElements | readonly Json[],
  { first = {}, last = {} }: { readonly first?: JsonMembers; readonly last?: JsonMembers } = {},
): ReplyBody {
  const elements = items instanceof JsonElements ? items : JsonElements.of(items.map((item) => JSON.stringify(item)));
  return { first: jsonMembers(first), list: { name, items: elements }, last: jsonMembers(last) };
}

/** Writes the data as JSON. Drops the items of a long list. */
export function bodyJson({ first, list, last }: ReplyBody): JsonText | Buffer {
  return list === undefined ? `{${first}}` : list.items.inObject(first, list.name, last);
}

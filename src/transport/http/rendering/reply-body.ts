/** The data of a reply, before it is known how it is rendered: an object of members, or a list, alone or among them. */
import { JsonElements } from '../json-elements.ts';
import { type JsonMembers, type JsonText, jsonMembers } from '../json-text.ts';

export interface ReplyBody {
  /** Members before the list, as the inside of an object; all of them where there is no list. */
  readonly first: string;
  readonly list?: {
    /** Without a name the list is all there is. */
    readonly name: string | undefined;
    readonly items: JsonElements;
  };
  /** Members behind the list. */
  readonly last: string;
}

export function objectBody(members: JsonMembers): ReplyBody {
  return { first: jsonMembers(members), last: '' };
}

/** An object that is JSON text already. */
export function textBody(object: JsonText): ReplyBody {
  return { first: object.slice(1, -1), last: '' };
}

export function listBody(
  name: string | undefined,
  items: JsonElements | readonly JsonText[],
  { first = {}, last = {} }: { readonly first?: JsonMembers; readonly last?: JsonMembers } = {},
): ReplyBody {
  const elements = items instanceof JsonElements ? items : JsonElements.of(items);
  return { first: jsonMembers(first), list: { name, items: elements }, last: jsonMembers(last) };
}

/** As JSON. The items of a long list are gone afterwards. */
export function bodyJson({ first, list, last }: ReplyBody): JsonText | Buffer {
  return list === undefined ? `{${first}}` : list.items.inObject(first, list.name, last);
}

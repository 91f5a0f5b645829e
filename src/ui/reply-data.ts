/** The data of a reply, as text of JSON that the API wrote, and how renderings read it. */
import { encodeUtf8 } from '#base';
import { type JsonNode, parseJson } from '#model';

/** An object of members, or a list, alone or among them. */
export interface ReplyData {
  /** Members before the list, as the inside of an object; all of them where there is no list. */
  readonly first: string;
  readonly list?: {
    /** Without a name the list is all there is. */
    readonly name: string | undefined;
    readonly items: { readonly texts: () => readonly string[] };
  };
  /** Members after the list. */
  readonly last: string;
}

/** Runs a piece of work when other requests had their turn of the event loop. */
export type InTurn = <Result>(work: () => Result) => Promise<Result>;

/** Members that clients wrote, shown as they are: payloads of events and schemas of definitions. */
const FOREIGN: ReadonlySet<string> = new Set(['data', 'content_schema']);

/** Parses JSON of the API. The members of `FOREIGN` stay bytes. */
export function parseOwnJson(text: string): JsonNode {
  const node = parseJson(encodeUtf8(text), { raw: FOREIGN });
  if (node.kind === 'fault') throw new TypeError(`The API has written what is not JSON: ${node.message}`);
  return node;
}

/** The members of an object, of which `members` is the inside. */
export function parseMembers(members: string): ReadonlyMap<string, JsonNode> {
  const node = parseOwnJson(`{${members}}`);
  return node.kind === 'object' ? node.members : new Map();
}

/** The arguments of a tool as the client sent them. Values that a tool relays stay bytes (TC8). */
import { quote } from '#base';
import { describeNode, type JsonNode, type JsonObject, parseJson } from '#model';

/** The arguments are invalid. The message names the fault and the remedy. */
export class WrongArguments extends Error {}

/** The part of JSON Schema that arguments use. */
export type ArgumentSchema = {
  readonly type: string;
  readonly description: string;
  readonly enum?: string[];
  readonly default?: string;
  readonly minimum?: number;
  readonly items?: { readonly type: string };
  readonly additionalProperties?: true;
};

export type ArgumentsSchema = {
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly properties: { [name: string]: ArgumentSchema };
  readonly required: string[];
};

type Members = JsonObject['members'];

/** Arguments whose bytes are relayed, or parsed by their tool. */
const RAW: ReadonlySet<string> = new Set(['body', 'command', 'query_params']);
const OPEN_OBJECT = 0x7b;
const NO_ARGUMENTS: Members = new Map();

export class Arguments {
  readonly #members: Members;

  /** @throws WrongArguments for an unknown or a missing one. */
  constructor(bytes: Uint8Array | undefined, { properties, required }: ArgumentsSchema) {
    this.#members = bytes === undefined ? NO_ARGUMENTS : membersOf(bytes, 'arguments', RAW);
    const known = Object.keys(properties);
    const other = [...this.#members.keys()].find((name) => !known.includes(name));
    if (other !== undefined)
      throw new WrongArguments(`there is no argument ${quote(other)}; there are ${known.join(', ')}`);
    const missing = required.find((name) => !this.#members.has(name));
    if (missing !== undefined) throw new WrongArguments(`${missing} is required`);
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  required<Value>(name: string, read: ReadArgument<Value>): Value {
    return this.optional(name, read) ?? wrong(name, 'given');
  }

  optional<Value>(name: string, read: ReadArgument<Value>): Value | undefined {
    const node = this.#members.get(name);
    return node && read(node, name);
  }
}

/** Reads the value of an argument. @throws WrongArguments */
type ReadArgument<Value> = (node: JsonNode, name: string) => Value;

export const text: ReadArgument<string> = (node, name) =>
  node.kind === 'string' ? wellFormed(name, node.value) : wrong(name, 'a text', node);

export const texts: ReadArgument<readonly string[]> = (node, name) => {
  const items = node.kind === 'array' && node.items.every(({ kind }) => kind === 'string') ? node.items : undefined;
  return items?.map((item) => text(item, name)) ?? wrong(name, 'a list of texts', node);
};

/** At least 1. */
export const integer: ReadArgument<number> = (node, name) => {
  const value = node.kind === 'number' ? Number(node.text) : Number.NaN;
  return Number.isSafeInteger(value) && value >= 1 ? value : wrong(name, 'an integer from 1 on', node);
};

/** The bytes of an object, whose members are not checked. */
export const object: ReadArgument<Uint8Array> = (node, name) =>
  node.kind === 'raw' && isObject(node.bytes) ? node.bytes : wrong(name, 'an object', node);

export function oneOf<Word extends string>(...words: readonly Word[]): ReadArgument<Word> {
  return (node, name) => {
    const word = words.find((each) => node.kind === 'string' && each === node.value);
    return word ?? wrong(name, `one of ${words.join(', ')}`, node);
  };
}

/** The members of an object without repeated names; members named in `raw` stay bytes. @throws WrongArguments */
export function membersOf(bytes: Uint8Array, name: string, raw?: ReadonlySet<string>): Members {
  const node = parseJson(bytes, raw && { raw });
  if (node.kind === 'fault') throw new WrongArguments(`${name} must be JSON: ${node.message}`);
  return node.kind === 'object' ? node.members : wrong(name, 'an object', node);
}

/**
 * A text that UTF-8 can represent: any other would reach the HTTP API changed.
 * @throws WrongArguments
 */
export function wellFormed(name: string, value: string): string {
  if (value.isWellFormed()) return value;
  throw new WrongArguments(`${name} must not contain an unpaired surrogate`);
}

/** Tells whether valid JSON is an object. */
export function isObject(bytes: Uint8Array): boolean {
  return bytes[0] === OPEN_OBJECT;
}

function wrong(name: string, rule: string, node?: JsonNode): never {
  const value = node?.kind === 'raw' ? parseJson(node.bytes) : node;
  const found = value === undefined || value.kind === 'fault' ? '' : `; found ${describeNode(value).said}`;
  throw new WrongArguments(`${name} must be ${rule}${found}`);
}

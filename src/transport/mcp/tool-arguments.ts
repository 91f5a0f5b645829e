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

  /** For a required argument. */
  text(name: string): string {
    return this.optionalText(name) ?? wrong(name, 'a text');
  }

  optionalText(name: string): string | undefined {
    const node = this.#members.get(name);
    if (node === undefined) return undefined;
    return node.kind === 'string' ? wellFormed(name, node.value) : wrong(name, 'a text', node);
  }

  /** At least 1; for a required argument. */
  integer(name: string): number {
    const node = this.#members.get(name);
    const value = node?.kind === 'number' ? Number(node.text) : Number.NaN;
    return Number.isSafeInteger(value) && value >= 1 ? value : wrong(name, 'an integer from 1 on', node);
  }

  /** The bytes of an object, whose members are not checked; for a required argument. */
  object(name: string): Uint8Array {
    return this.optionalObject(name) ?? wrong(name, 'an object');
  }

  optionalObject(name: string): Uint8Array | undefined {
    const node = this.#members.get(name);
    if (node === undefined) return undefined;
    return node.kind === 'raw' && isObject(node.bytes) ? node.bytes : wrong(name, 'an object', node);
  }

  texts(name: string): readonly string[] | undefined {
    const node = this.#members.get(name);
    if (node === undefined) return undefined;
    const items = node.kind === 'array' ? node.items : wrong(name, 'a list of texts', node);
    return items.map((item) =>
      item.kind === 'string' ? wellFormed(name, item.value) : wrong(name, 'a list of texts', node),
    );
  }

  /** For a required argument. */
  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    return this.optionalOneOf(name, words) ?? wrong(name, `one of ${words.join(', ')}`);
  }

  optionalOneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const node = this.#members.get(name);
    if (node === undefined) return undefined;
    const word = words.find((each) => node.kind === 'string' && each === node.value);
    return word ?? wrong(name, `one of ${words.join(', ')}`, node);
  }
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
export function wellFormed(name: string, text: string): string {
  if (text.isWellFormed()) return text;
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

/** The arguments of a tool, as whoever calls it has sent them. */
import { quote } from '#base';

/** They are not what the tool takes. The message says which, and what would be right. */
export class WrongArguments extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>;

export class Arguments {
  readonly #members: JsonObject;

  /** @throws WrongArguments for one that the tool does not have. */
  constructor(members: JsonObject, known: readonly string[]) {
    const other = Object.keys(members).find((name) => !known.includes(name));
    if (other !== undefined)
      throw new WrongArguments(`there is no argument ${quote(other)}; there are ${known.join(', ')}`);
    this.#members = members;
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined;
  }

  /** @throws WrongArguments where it is missing. */
  text(name: string): string {
    return this.optionalText(name) ?? missing(name, 'a text');
  }

  optionalText(name: string): string | undefined {
    const value = this.#members[name];
    if (value === undefined || typeof value === 'string') return value;
    return wrong(name, 'a text', value);
  }

  /** From 1 on. @throws WrongArguments where it is missing. */
  integer(name: string): number {
    const value = this.#members[name];
    if (value === undefined) return missing(name, 'an integer from 1 on');
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    return wrong(name, 'an integer from 1 on', value);
  }

  object(name: string): JsonObject | undefined {
    const value = this.#members[name];
    if (value === undefined || isObject(value)) return value;
    return wrong(name, 'an object', value);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#members[name];
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
    return wrong(name, 'a list of texts', value);
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const value = this.#members[name];
    if (value === undefined) return undefined;
    return words.find((word) => word === value) ?? wrong(name, `one of ${words.join(', ')}`, value);
  }
}

export function jsonOf(value: unknown): string {
  return JSON.stringify(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function missing(name: string, rule: string): never {
  throw new WrongArguments(`${name} is required: ${rule}`);
}

function wrong(name: string, rule: string, value: unknown): never {
  const found = isObject(value) ? 'an object' : Array.isArray(value) ? 'a list' : shown(value);
  throw new WrongArguments(`${name} must be ${rule}; found ${found}`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? quote(value) : String(value);
}

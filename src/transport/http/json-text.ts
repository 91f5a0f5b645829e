/** Writes JSON as text, so that stored payloads enter a reply byte for byte, without parsing. */
import { formatInstant, instantFromMs } from '#base';

/** A value that is JSON text already. */
export type JsonText = string;

/** The JSON text of a string. */
export function jsonString(text: string): JsonText {
  return JSON.stringify(text);
}

/** A string when there is one; an absent value leaves its member out of `jsonObject`. */
export function jsonStringIfPresent(text: string | undefined): JsonText | undefined {
  return text === undefined ? undefined : JSON.stringify(text);
}

/** The JSON text of an integer. Revisions are safe integers, so no digit is lost. */
export function jsonInteger(value: number): JsonText {
  return String(value);
}

/** Members by name. An undefined one is left out. */
export type JsonMembers = Readonly<Record<string, JsonText | undefined>>;

/** An object with the members in the given order. */
export function jsonObject(members: JsonMembers): JsonText {
  return `{${jsonMembers(members)}}`;
}

/** The inside of an object. */
export function jsonMembers(members: JsonMembers): string {
  let text = '';
  for (const name in members) {
    const value = members[name];
    if (value !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${value}`;
  }
  return text;
}

export function jsonArray(elements: readonly JsonText[]): JsonText {
  return `[${elements.join(',')}]`;
}

/** An instant in milliseconds as RFC 3339, in the canonical spelling that events have too. */
export function jsonTimestamp(ms: number): JsonText {
  return `"${formatInstant(instantFromMs(ms))}"`;
}

/** Writes replies as JSON text, so that stored payloads enter them byte for byte, without parsing. */
import { formatInstant, instantFromMs } from '#base';

export type JsonText = string;

/** A value that JSON.stringify writes. An absent member is left out. Numbers are safe integers, so no digit is lost. */
export type Json = string | number | boolean | undefined | readonly Json[] | { readonly [name: string]: Json };

/** A member that is JSON text already. */
export class RawJson {
  readonly text: JsonText;

  constructor(text: JsonText) {
    this.text = text;
  }
}

/** Members by name. An undefined one is left out. */
export type JsonMembers = Readonly<Record<string, Json | RawJson>>;

export function jsonObject(members: JsonMembers): JsonText {
  return `{${jsonMembers(members)}}`;
}

/** An object as a member, where it has JSON text inside. */
export function rawObject(members: JsonMembers): RawJson {
  return new RawJson(jsonObject(members));
}

export function jsonMembers(members: JsonMembers): string {
  let text = '';
  for (const name in members) {
    const value = members[name];
    if (value === undefined) continue;
    const json = value instanceof RawJson ? value.text : JSON.stringify(value);
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${json}`;
  }
  return text;
}

/** An instant in milliseconds as RFC 3339, in the canonical spelling that events have too. */
export function timestamp(ms: number): string {
  return formatInstant(instantFromMs(ms));
}

/** Checks that the error message for an invalid body names the fault and the value that was sent. */
import { cut, quote } from '#base';
import { type Answer, errorOf, type Failure, jsonOf } from './http-client.ts';

/** Maximum number of shown characters of a value. */
const SHOWN_MAX = 64;

export interface Tried {
  readonly content: string | Uint8Array;
  readonly type: string;
  /** Names in the path of the request. */
  readonly names: readonly string[];
}

/**
 * Returns what the message fails to mention, or undefined. @throws Error when the answer is not a specified failure.
 */
export function unsaid(answer: Answer, tried: Tried): string | undefined {
  const failure = errorOf(answer);
  if (failure.status === 400) return unsaidOfFault(failure, tried);
  if (failure.status === 403) return failure.message.includes('--auth on') ? undefined : 'what would be right';
  // The resource exists already, does not exist, or has the wrong state: the message must have its name.
  if (failure.details?.constraints !== undefined) return unsaidOfConstraints(failure);
  const names = [...tried.names, ...textsOf(parsed(tried.content))].filter((name) => name !== '');
  return names.some((name) => failure.message.includes(`"${name}"`)) ? undefined : 'a name that was sent';
}

function unsaidOfConstraints({ message, details }: Failure): string | undefined {
  const found = details?.constraints ?? [];
  if (found.length === 0) return 'a violated constraint';
  return found.every((each) => message.includes(String(each.found))) ? undefined : 'the revision that was found';
}

function unsaidOfFault({ message, details }: Failure, { content, type }: Tried): string | undefined {
  const [first] = details?.violations ?? [];
  if (first === undefined || !/\S/.test(first.field) || !/\S/.test(first.description)) return 'a fault';
  if (details?.field !== first.field || details.value !== first.value) return 'its first fault in front of the others';
  if (!message.includes(first.description) || first.description.endsWith(' are ')) return 'what would be right';
  if (first.field === 'Content-Type') return first.value === cut(type.trim(), SHOWN_MAX) ? undefined : 'the type';
  const sent = parsed(content);
  // Without valid JSON, the message must have a line and column, or the value.
  if (sent === undefined)
    return /; found |line \d+, column \d+/.test(message) ? undefined : 'where the body is no JSON, and what is there';
  const value = first.field === 'body' ? sent : at(sent, first.field);
  // An unknown field has its name in `field`; a missing one has no value.
  if (value === undefined || first.description.startsWith('is unknown')) return undefined;
  // When two fields exclude each other, neither is the wrong one.
  if (first.description.startsWith('must have ')) return undefined;
  if (typeof value === 'string') {
    // In quotes when the type is wrong.
    const shown = [cut(value, SHOWN_MAX), quote(value, SHOWN_MAX)];
    return shown.some((text) => text === first.value) ? undefined : `the text ${first.field}`;
  }
  return /\S/.test(first.value ?? '') && message.includes('; found ') ? undefined : `the value ${first.field}`;
}

function parsed(content: string | Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(content).toString());
  } catch {
    return undefined;
  }
}

/** Text members of an object, such as the name of a database. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).filter((each) => typeof each === 'string');
}

/** The value at a path such as `events[0].type` or `["a b"]`, or undefined. */
function at(value: unknown, path: string): unknown {
  let found = value;
  for (const [segment, inBrackets] of path.matchAll(/\[("(?:[^"\\]|\\.)*"|\d+)\]|[^.[\]]+/g)) {
    if (typeof found !== 'object' || found === null) return undefined;
    const key = String(inBrackets === undefined ? segment : JSON.parse(inBrackets));
    found = Object.hasOwn(found, key) ? Reflect.get(found, key) : undefined;
  }
  return found;
}

interface Counted {
  readonly latest_revision: number;
  readonly event_count: number;
}

/** Latest revision and event count of a database. */
export function counted(answer: Answer): Counted {
  const { latest_revision, event_count } = jsonOf(answer) as Counted;
  return { latest_revision, event_count };
}

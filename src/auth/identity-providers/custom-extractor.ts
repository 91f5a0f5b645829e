/**
 * The extractor of an operator: its input, its valid answers, and its time limit.
 *
 * The code runs in the process of the node with all of its rights; only the effects of mistakes are bounded. If it
 * throws or returns an invalid answer, the request is refused. If it does not answer in time, the request fails as
 * unavailable.
 */
import { hash } from 'node:crypto';
import { failure, messageOf, ok, type Result } from '#base';
import { type Grant, parseGrant } from '#model';
import { keep } from '../bounded-map.ts';
import { type Credentials, type Extractor, type Found, NOTHING, type Principal } from '../extractor.ts';
import { cannotTell } from './key-source.ts';
import { isObject } from './token-text.ts';

export interface CustomParts {
  readonly nowMs: () => number;
  /** Receives a description of each fault of the code. */
  readonly onFault: (why: string) => void;
  readonly deadlineMs?: number;
}

type Extract = (headers: Credentials) => unknown;

const DEADLINE_MS = 5_000;
const PENDING_MAX = 1_000;
const PRINCIPALS_MAX = 1_000;
const INPUTS_MAX = 16;
const GRANTS_MAX = 256;
const ATTRIBUTES_MAX = 32;
const HEADER = /^[\da-z-]{1,64}$/i;
const KEY = /^[\w.-]{1,64}$/;
/** Maximum length of an id, a name and a value. */
const TEXT_LENGTH_MAX = 255;
const LATE = Symbol('late');

/** Wraps the result of the factory function: `{inputs, extract}`. */
export function customExtractor(made: unknown, parts: CustomParts): Result<Extractor, string> {
  if (!isObject(made)) return failure('has not given an object with inputs and extract');
  const { inputs, extract } = made;
  if (!isExtract(extract)) return failure('has given no function as extract');
  if (inputs !== undefined && !areHeaders(inputs)) return failure('has given inputs that are no names of headers');
  const judge = new CustomJudge(extract.bind(made), inputs, parts);
  return ok({ inputs: inputs && [...inputs], extract: (credentials) => judge.extract(credentials) });
}

function isExtract(value: unknown): value is Extract {
  return typeof value === 'function';
}

function areHeaders(value: unknown): value is readonly string[] {
  if (!Array.isArray(value) || value.length > INPUTS_MAX) return false;
  return value.every((each) => typeof each === 'string' && HEADER.test(each));
}

class CustomJudge {
  readonly #extract: Extract;
  readonly #inputs: ReadonlySet<string> | undefined;
  readonly #parts: CustomParts;
  /** Cache of principals by their identity, so that the same client gets the same object. The oldest is first. */
  readonly #principals = new Map<string, Principal>();
  #pending = 0;

  constructor(extract: Extract, inputs: readonly string[] | undefined, parts: CustomParts) {
    this.#extract = extract;
    this.#inputs = inputs && new Set(inputs.map((name) => name.toLowerCase()));
    this.#parts = parts;
  }

  extract(credentials: Credentials): Found | Promise<Found> {
    const seen = new Map<string, string>();
    const headers: Credentials = { values: (name) => this.#values(credentials, name, seen) };
    try {
      const answer = this.#extract(headers);
      return answer instanceof Promise ? this.#later(answer, seen) : this.#found(answer, seen);
    } catch (fault) {
      return this.#faulty(fault);
    }
  }

  /** Shows only the declared headers, because responses would not vary on others. */
  #values(credentials: Credentials, name: unknown, seen: Map<string, string>): readonly string[] {
    const header = String(name).toLowerCase();
    if (this.#inputs?.has(header) === false) return [];
    const values = credentials.values(header);
    const [value] = values;
    if (value !== undefined && values.length === 1) seen.set(header, value);
    return values;
  }

  async #later(answer: Promise<unknown>, seen: ReadonlyMap<string, string>): Promise<Found> {
    const late = Promise.withResolvers<typeof LATE>();
    const { deadlineMs = DEADLINE_MS } = this.#parts;
    const timer = setTimeout(() => late.resolve(LATE), this.#pending < PENDING_MAX ? deadlineMs : 0);
    this.#pending++;
    const settled = answer.finally(() => this.#pending--);
    // A late rejection must not be reported as unhandled.
    settled.catch(() => undefined);
    try {
      const given = await Promise.race([settled, late.promise]);
      if (given !== LATE) return this.#found(given, seen);
    } catch (fault) {
      return this.#faulty(fault);
    } finally {
      clearTimeout(timer);
    }
    this.#parts.onFault(`it has not answered within ${deadlineMs} ms`);
    throw cannotTell();
  }

  #faulty(fault: unknown): Found {
    this.#parts.onFault(messageOf(fault));
    return { kind: 'refused', why: 'the extractor of auth-extractor-module has failed' };
  }

  #found(answer: unknown, seen: ReadonlyMap<string, string>): Found {
    if (answer === undefined || answer === null) return NOTHING;
    if (isObject(answer) && typeof answer['refused'] === 'string') return { kind: 'refused', why: answer['refused'] };
    const identity = identityOf(answer);
    if (typeof identity === 'string') return this.#faulty(identity);
    const { endsAtMs } = identity;
    if (endsAtMs <= this.#parts.nowMs()) return { kind: 'refused', why: 'what the extractor has found has expired' };
    return { kind: 'principal', principal: this.#principalOf(identity, seen) };
  }

  #principalOf(identity: CustomIdentity, seen: ReadonlyMap<string, string>): Principal {
    const { endsAtMs, id, name, attributes, grants } = identity;
    const content = JSON.stringify([id, name, [...attributes], grants, endsAtMs, [...seen]]);
    const place = hash('sha256', content, 'base64');
    const known = this.#principals.get(place);
    if (known !== undefined) return known;
    const proof = Object.fromEntries(seen);
    const holds = (): boolean => this.#parts.nowMs() < endsAtMs;
    const principal = { id, name, attributes, grants, expiresAtMs: endsAtMs, holds, proof: () => proof };
    keep(this.#principals, place, principal, PRINCIPALS_MAX);
    return principal;
  }
}

interface CustomIdentity extends Pick<Principal, 'id' | 'name' | 'attributes' | 'grants'> {
  readonly endsAtMs: number;
}

/** Returns the identity, or a description of the fault in the answer. */
function identityOf(answer: unknown): CustomIdentity | string {
  if (!isObject(answer)) return 'its answer is no object';
  const { id, name = id, roles, attributes = {}, expires_at_ms: endsAtMs = Number.POSITIVE_INFINITY } = answer;
  if (!isText(id) || !isText(name)) return `its answer has no id or name of 1 to ${TEXT_LENGTH_MAX} characters`;
  const grants = grantsIn(roles);
  if (grants === undefined)
    return `its answer has no list roles of at most ${GRANTS_MAX} grants, such as reader:shop-*`;
  if (typeof endsAtMs !== 'number' || Number.isNaN(endsAtMs)) return 'its answer has an expires_at_ms that is no time';
  const known = attributesIn(attributes);
  if (known === undefined) return `its answer has attributes that are not at most ${ATTRIBUTES_MAX} short texts`;
  return { id: `custom:${id}`, name, attributes: known, grants, endsAtMs };
}

function grantsIn(roles: unknown): readonly Grant[] | undefined {
  if (!Array.isArray(roles) || roles.length > GRANTS_MAX) return undefined;
  const grants = roles.flatMap((role) => (typeof role === 'string' ? (parseGrant(role) ?? []) : []));
  return grants.length === roles.length ? grants : undefined;
}

function attributesIn(attributes: unknown): ReadonlyMap<string, string> | undefined {
  if (!isObject(attributes)) return undefined;
  const entries = Object.entries(attributes);
  const sound = entries.flatMap(([key, value]) => (KEY.test(key) && isText(value) ? [[key, value] as const] : []));
  const own = sound.filter(([key]) => key !== 'id' && key !== 'name');
  return entries.length <= ATTRIBUTES_MAX && own.length === entries.length ? new Map(own) : undefined;
}

function isText(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > TEXT_LENGTH_MAX) return false;
  return value.isWellFormed() && !/\p{Cc}/u.test(value);
}

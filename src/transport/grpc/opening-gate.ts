/**
 * Authenticates and rate-limits a call by its headers alone, before its message is received or decompressed (TM7).
 *
 * The principal is kept for the gate. While it is looked up the message is received, and the call is counted or refused
 * afterwards. Health is not counted, because probes use it.
 */
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http2';
import type { Credentials, Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Access } from '../access.ts';
import { type Caller, COUNTED, type RateLimits } from '../rate-limits.ts';
import { isGuarded } from './context.ts';
import { statusOfError } from './error-status.ts';
import type { Opening } from './wire/peer-streams.ts';
import type { CallStatus } from './wire/status.ts';

const HEALTH_PREFIX = '/grpc.health.v1.Health/';

export class OpeningGate {
  readonly #limits: RateLimits | undefined;
  readonly #access: Access | undefined;
  readonly #callers = new WeakMap<object, Principal | Promise<Principal>>();

  constructor(limits: RateLimits | undefined, access: Access | undefined) {
    this.#limits = limits;
    this.#access = access;
  }

  /** Status that ends the call at its headers; undefined when the call continues. */
  readonly refusalOf = (opening: Opening): CallStatus | Promise<CallStatus | undefined> | undefined => {
    const { path, headers, address } = opening;
    if (path.startsWith(HEALTH_PREFIX)) return undefined;
    const isCounted = this.#limits?.isCounted(headers[COUNTED]?.toString()) === true;
    const limits = isCounted ? undefined : this.#limits;
    try {
      if (this.#access !== undefined && isGuarded(path.slice(1))) {
        return this.#identified(opening, this.#access, limits)?.then(NONE, refused);
      }
      count({ address }, limits);
      return undefined;
    } catch (failure) {
      return refused(failure);
    }
  };

  /** Principal of a call that was authenticated here, by the object of its headers. */
  callerOf(opening: object): Principal | Promise<Principal> | undefined {
    return this.#callers.get(opening);
  }

  /** @throws DatabaseError rate_limited or unauthenticated, also as a rejection */
  #identified(opening: Opening, access: Access, limits: RateLimits | undefined): Promise<Principal> | undefined {
    const { headers, address } = opening;
    let found: Principal | Promise<Principal>;
    try {
      found = access.authenticator.identify(new SentHeaders(opening));
    } catch (failure) {
      count({ address }, limits);
      throw failure;
    }
    if (!(found instanceof Promise)) {
      count({ principal: found, address }, limits);
      this.#callers.set(headers, found);
      return undefined;
    }
    const counted = later(found, address, limits);
    this.#callers.set(headers, counted);
    return counted;
  }
}

async function later(
  found: Promise<Principal>,
  address: string | undefined,
  limits: RateLimits | undefined,
): Promise<Principal> {
  let principal: Principal;
  try {
    principal = await found;
  } catch (failure) {
    count({ address }, limits);
    throw failure;
  }
  count({ principal, address }, limits);
  return principal;
}

/** @throws DatabaseError rate_limited */
function count(caller: Caller, limits: RateLimits | undefined): void {
  const refusal = limits?.count(caller, 'grpc').refusal;
  if (refusal !== undefined) throw refusal;
}

const NONE = (): undefined => undefined;

/** @throws other failures than refusals */
function refused(failure: unknown): CallStatus {
  if (failure instanceof DatabaseError) return statusOfError(failure);
  throw failure;
}

/**
 * node:http2 joins the values of a repeated header, and the result is not a valid credential. It passes on only the
 * first `authorization`: the call is counted for that one, and then refused (Gate).
 */
class SentHeaders implements Credentials {
  readonly #headers: IncomingHttpHeaders;
  readonly #opening: Opening;

  constructor(opening: Opening) {
    this.#headers = opening.headers;
    this.#opening = opening;
  }

  get certificate(): X509Certificate | undefined {
    return this.#opening.certificate();
  }

  values(name: string): readonly string[] {
    const value = this.#headers[name];
    return typeof value === 'string' ? [value] : (value ?? []);
  }
}

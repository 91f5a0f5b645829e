/**
 * How often a client may call, by the headers of a call alone (TM7): it is refused before its message is read.
 *
 * Whose call it is, is found out here, too, and kept for the gate. Where that takes a while the message is read
 * meanwhile, and the call is counted when it is known. Health is not counted, for probes ask it.
 */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Credentials, Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Access } from '../access.ts';
import { type Caller, COUNTED, type RateLimits } from '../rate-limits.ts';
import { EVENT_STORE } from './context.ts';
import { statusOfError } from './error-status.ts';
import type { Opening } from './wire/peer-streams.ts';
import type { CallStatus } from './wire/status.ts';

const HEALTH_PREFIX = '/grpc.health.v1.Health/';
const OWN_PREFIX = `/${EVENT_STORE}/`;

export class RateLimiting {
  readonly #limits: RateLimits;
  readonly #access: Access | undefined;
  readonly #callers = new WeakMap<object, Principal | Promise<Principal>>();

  constructor(limits: RateLimits, access: Access | undefined) {
    this.#limits = limits;
    this.#access = access;
  }

  /** What a call is answered with at once; undefined: it may go on. */
  readonly refusalOf = (opening: Opening): CallStatus | undefined => {
    const { path, headers, address } = opening;
    if (path.startsWith(HEALTH_PREFIX) || this.#limits.isCounted(headers[COUNTED]?.toString())) return undefined;
    try {
      if (this.#access === undefined || !path.startsWith(OWN_PREFIX)) this.#count({ address });
      else this.#identified(opening, this.#access);
      return undefined;
    } catch (failure) {
      if (failure instanceof DatabaseError) return statusOfError(failure);
      throw failure;
    }
  };

  /** Whose call it is, if that was found out here: by the object of its headers. */
  callerOf(opening: object): Principal | Promise<Principal> | undefined {
    return this.#callers.get(opening);
  }

  /** @throws DatabaseError rate_limited or unauthenticated */
  #identified({ headers, address }: Opening, access: Access): void {
    let found: Principal | Promise<Principal>;
    try {
      found = access.authenticator.identify(new SentHeaders(headers));
    } catch (failure) {
      this.#count({ address });
      throw failure;
    }
    if (!(found instanceof Promise)) {
      this.#count({ principal: found, address });
      this.#callers.set(headers, found);
      return;
    }
    const counted = this.#later(found, address);
    // Whoever handles the call hears of it; there may be no call any more.
    counted.catch(() => undefined);
    this.#callers.set(headers, counted);
  }

  async #later(found: Promise<Principal>, address: string | undefined): Promise<Principal> {
    let principal: Principal;
    try {
      principal = await found;
    } catch (failure) {
      this.#count({ address });
      throw failure;
    }
    this.#count({ principal, address });
    return principal;
  }

  #count(caller: Caller): void {
    const { refusal } = this.#limits.count(caller, 'grpc');
    if (refusal !== undefined) throw refusal;
  }
}

/**
 * What is sent twice has its values joined by node:http2, and is then no credential of any kind; of `authorization` it
 * hands on the first alone. For that one the call is counted, and then refused (Gate).
 */
class SentHeaders implements Credentials {
  readonly #headers: IncomingHttpHeaders;

  constructor(headers: IncomingHttpHeaders) {
    this.#headers = headers;
  }

  values(name: string): readonly string[] {
    const value = this.#headers[name];
    return typeof value === 'string' ? [value] : (value ?? []);
  }
}

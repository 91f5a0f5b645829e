/**
 * Authenticates and rate-limits calls (TM7).
 *
 * ```
 *   headers ── health ──────────────────────> handled
 *      ├── the principal is known at once ──> counted ── refused, or the message is received ──> handled
 *      └── it is looked up: the message is received meanwhile, and the call is counted or refused afterwards
 * ```
 *
 * A call is judged by its headers alone, before its message is received or decompressed. Health is not counted, because
 * probes use it; health and reflection need no credential. Each principal has its own methods, over its view of the
 * service, created with its first call.
 */
import type { X509Certificate } from 'node:crypto';
import type { Credentials, Principal } from '#auth';
import { DatabaseError } from '#base';
import type { Service } from '#service';
import { type Access, authenticating } from '../access.ts';
import { type Caller, COUNTED, type RateLimits } from '../rate-limits.ts';
import { statusOfError } from './error-status.ts';
import type { Call } from './wire/call.ts';
import type { Method } from './wire/method.ts';
import type { Opening } from './wire/parts.ts';
import type { RequestHeaders } from './wire/request-headers.ts';
import type { CallStatus } from './wire/status.ts';

type Methods = ReadonlyMap<string, Method>;

const HEALTH_PREFIX = '/grpc.health.v1.Health/';

export class Gate {
  readonly #limits: RateLimits | undefined;
  readonly #access: Access | undefined;
  readonly #methodsOf: (service: Service) => readonly Method[];
  readonly #callers = new WeakMap<RequestHeaders, Principal | Promise<Principal>>();
  readonly #methods = new WeakMap<Principal, Methods>();

  /** `methodsOf`: the methods over the view that a principal has of the service. */
  constructor(
    limits: RateLimits | undefined,
    access: Access | undefined,
    methodsOf: (service: Service) => readonly Method[],
  ) {
    this.#limits = limits;
    this.#access = access;
    this.#methodsOf = methodsOf;
  }

  /** Status that ends the call at its headers; undefined when the call continues. */
  readonly refusalOf = (opening: Opening): CallStatus | Promise<CallStatus | undefined> | undefined => {
    const { headers, client } = opening;
    const { path } = headers;
    if (path.startsWith(HEALTH_PREFIX)) return undefined;
    const isCounted = this.#limits?.isCounted(headers.text(COUNTED)) === true;
    const limits = isCounted ? undefined : this.#limits;
    try {
      if (this.#access !== undefined && isGuarded(path.slice(1))) {
        return this.#identified(opening, this.#access, limits)?.then(NONE, refused);
      }
      count({ address: client?.host }, limits);
      return undefined;
    } catch (failure) {
      return refused(failure);
    }
  };

  /** @throws DatabaseError unauthenticated, or rate_limited where that was not known before; also as a rejection */
  readonly handlerFor = (call: Call, method: Method): Method | Promise<Method> => {
    const access = this.#access;
    if (access === undefined || !isGuarded(method.service)) return method;
    const { headers } = call.peer;
    const { untilKnown } = headers;
    if (untilKnown !== undefined) return untilKnown.then(() => this.handlerFor(call, method));
    const found = this.#known(headers) ?? access.authenticator.identify(credentialsIn(call.peer));
    if (!(found instanceof Promise)) return this.#of(access, found, method);
    return authenticating(found, call.trace?.span).then((principal) => this.#of(access, principal, method));
  };

  /**
   * The principal from the opening of the call. A credential may have expired while the message arrived; and only one
   * value of a repeated header was checked then.
   */
  #known(headers: RequestHeaders): Principal | Promise<Principal> | undefined {
    if (headers.hasRepeated) return undefined;
    const caller = this.#callers.get(headers);
    return caller === undefined || caller instanceof Promise || caller.holds() ? caller : undefined;
  }

  /** @throws DatabaseError rate_limited or unauthenticated, also as a rejection */
  #identified(opening: Opening, access: Access, limits: RateLimits | undefined): Promise<Principal> | undefined {
    const { headers, client } = opening;
    const address = client?.host;
    const known = (principal: Principal): Principal => {
      count({ principal, address }, limits);
      return principal;
    };
    const unknown = (failure: unknown): never => {
      count({ address }, limits);
      throw failure;
    };
    let found: Principal | Promise<Principal>;
    try {
      found = access.authenticator.identify(credentialsIn(opening));
    } catch (failure) {
      return unknown(failure);
    }
    const counted = found instanceof Promise ? found.then(known, unknown) : known(found);
    this.#callers.set(headers, counted);
    return counted instanceof Promise ? counted : undefined;
  }

  #of(access: Access, principal: Principal, { name }: Method): Method {
    const known = this.#methods.get(principal) ?? this.#make(access, principal);
    const method = known.get(name);
    if (method === undefined) throw new TypeError(`a principal has the method ${name} as everybody has`);
    return method;
  }

  #make(access: Access, principal: Principal): Methods {
    const service = access.serviceOf(principal);
    const made = new Map(this.#methodsOf(service).map((method) => [method.name, method] as const));
    this.#methods.set(principal, made);
    return made;
  }
}

/** @throws DatabaseError rate_limited */
function count(caller: Caller, limits: RateLimits | undefined): void {
  const refusal = limits?.count(caller, 'grpc').refusal;
  if (refusal !== undefined) throw refusal;
}

/** Tells whether a service requires a principal when authentication is on. Health and reflection are public. */
function isGuarded(service: string): boolean {
  return service.startsWith('cairn.');
}

const NONE = (): undefined => undefined;

/** @throws other failures than refusals */
function refused(failure: unknown): CallStatus {
  if (failure instanceof DatabaseError) return statusOfError(failure);
  throw failure;
}

/**
 * Credentials as sent (U2). At the opening of a call it is not known yet which headers were repeated: node:http2 joins
 * their values, and the result is not a valid credential. It passes on only the first `authorization`: the call is
 * counted for that one, and then refused (Gate).
 */
function credentialsIn(opening: Opening): Credentials {
  const { headers } = opening;
  return {
    get certificate(): X509Certificate | undefined {
      return opening.certificate;
    },
    values: (name) => {
      const several = headers.repeated(name);
      const value = headers.text(name);
      return several.length > 0 || value === undefined ? several : [value];
    },
  };
}

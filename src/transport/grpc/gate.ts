/**
 * Authenticates a call before it is handled. Each principal has its own methods, over its view of the service, created
 * with its first call. Health and reflection need no credential.
 */
import type { X509Certificate } from 'node:crypto';
import type { Credentials, Principal } from '#auth';
import type { Service } from '#service';
import { type Access, authenticating } from '../access.ts';
import { isGuarded } from './context.ts';
import type { OpeningGate } from './opening-gate.ts';
import type { Call } from './wire/call.ts';
import type { Method } from './wire/method.ts';

type Methods = ReadonlyMap<string, Method>;

export class Gate {
  readonly #access: Access;
  readonly #methodsOf: (service: Service) => readonly Method[];
  readonly #opening: OpeningGate;
  readonly #methods = new WeakMap<Principal, Methods>();

  constructor(access: Access, methodsOf: (service: Service) => readonly Method[], opening: OpeningGate) {
    this.#access = access;
    this.#methodsOf = methodsOf;
    this.#opening = opening;
  }

  /** @throws DatabaseError unauthenticated, or rate_limited where that was not known before; also as a rejection */
  readonly handlerFor = (call: Call, method: Method): Method | Promise<Method> => {
    if (!isGuarded(method.service)) return method;
    const { untilKnown } = call.repeated;
    if (untilKnown !== undefined) return untilKnown.then(() => this.handlerFor(call, method));
    const found = this.#known(call) ?? this.#access.authenticator.identify(new CallHeaders(call));
    if (!(found instanceof Promise)) return this.#of(found, method);
    return authenticating(found, call.trace?.span).then((principal) => this.#of(principal, method));
  };

  /**
   * The principal from the opening of the call. A credential may have expired while the message arrived; and only one
   * value of a repeated header was checked then.
   */
  #known(call: Call): Principal | Promise<Principal> | undefined {
    if (call.repeated.isAny) return undefined;
    const caller = this.#opening.callerOf(call.opening);
    return caller === undefined || caller instanceof Promise || caller.holds() ? caller : undefined;
  }

  #of(principal: Principal, { name }: Method): Method {
    const known = this.#methods.get(principal) ?? this.#make(principal);
    const method = known.get(name);
    if (method === undefined) throw new TypeError(`a principal has the method ${name} as everybody has`);
    return method;
  }

  #make(principal: Principal): Methods {
    const service = this.#access.serviceOf(principal);
    const made = new Map(this.#methodsOf(service).map((method) => [method.name, method] as const));
    this.#methods.set(principal, made);
    return made;
  }
}

/** Headers as sent (U2). */
class CallHeaders implements Credentials {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  values(name: string): readonly string[] {
    const several = this.#call.repeated.values(name);
    const value = this.#call.header(name);
    return several.length > 0 || value === undefined ? several : [value];
  }

  get certificate(): X509Certificate | undefined {
    return this.#call.certificate;
  }
}

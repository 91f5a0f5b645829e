/**
 * Leader election by a Lease: one of several operators acts, the others stand by.
 *
 * ```
 *   leader     renew at t                      may lead until t + RENEW_MS
 *              ├───────────────────────────────────┤
 *   candidate    sees it at u >= t                            may take it from u + LEASE_MS on
 *                ├───────────────────────────────────────────────┤
 * ```
 *
 * No elector compares its clock with a timestamp of another one. Each measures by its own monotonic clock: the leader
 * from before it sends its renewal, a candidate from when it observes a change of the lease.
 *
 * When the Lease is deleted, a candidate leads at once, and the old leader until its next renewal.
 *
 * A lease is not a fence: the server may execute a request of the old leader later. Actions that must not happen twice
 * need preconditions.
 *
 * Invariants:
 *   KM13  Two electors never lead at once while the rates of their clocks differ by a factor below LEASE_MS / RENEW_MS.
 *   KM14  A leader releases its lease only after its work has ended.
 */
import type { Api } from './api.ts';
import { hasCode } from './api-error.ts';
import { type Kind, type Metadata, microTimestamp, pathOf, typeOf } from './objects.ts';
import { deadline, delay } from './runtime.ts';

export interface Lease {
  readonly metadata: Partial<Metadata>;
  readonly spec: {
    /** Empty: the lease was released. */
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface ElectorOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process: a restarted pod has another one. */
  readonly identity: string;
  readonly onError: (error: unknown) => void;
}

export interface Term {
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** Also correct when a blocked event loop delays timers. Check it before each irreversible action. */
  isHeld(): boolean;
}

/** Time without a renewal after which a candidate takes the Lease. */
const LEASE_MS = 15_000;
/** Time after its last renewal at which a leader stops leading. */
const RENEW_MS = 10_000;
const RETRY_MS = 2_000;
const LEASES: Kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', plural: 'leases' };

export class Elector {
  readonly #api: Api;
  readonly #options: ElectorOptions;
  /** The last observed state of the lease, and when it was first observed. */
  #seen: { readonly lease: Lease; readonly seenMs: number } | undefined;

  constructor(api: Api, options: ElectorOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Calls `lead` for each term of this process, until `signal` is aborted. `lead` returns when its term ends. */
  async run(lead: (term: Term) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#api;
    while (!signal.aborted) {
      const sentMs = runtime.nowMs();
      const isHeld = await this.#attempt((within) => this.#acquire(within), signal);
      if (isHeld === true) await this.#lead(sentMs, lead, signal);
      await delay(runtime, RETRY_MS * (0.9 + 0.2 * runtime.random()), signal);
    }
  }

  async #lead(sentMs: number, lead: (term: Term) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { runtime } = this.#api;
    let endMs = sentMs + RENEW_MS;
    using held = deadline(runtime, endMs - runtime.nowMs(), { what: 'the lease was not renewed', signal });
    const term = { signal: held.signal, isHeld: () => !held.signal.aborted && runtime.nowMs() < endMs };
    const work = lead(term)
      .catch(this.#options.onError)
      .then(() => held.end('the work of the leader has ended'));
    while (term.isHeld()) {
      await delay(runtime, RETRY_MS, held.signal);
      const renewedMs = runtime.nowMs();
      const isRenewed = term.isHeld() && (await this.#attempt((within) => this.#renew(within), held.signal));
      if (isRenewed === false) break;
      if (isRenewed === undefined || !term.isHeld()) continue;
      endMs = renewedMs + RENEW_MS;
      held.refresh(endMs - runtime.nowMs());
    }
    held.end('the term is over');
    await work;
    await this.#attempt((within) => this.#release(within));
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { namespace, name, identity } = this.#options;
    const found = await this.#api.find<Lease>(LEASES, this.#options, { signal });
    if (found === undefined) {
      const lease = { ...typeOf(LEASES), metadata: { name }, spec: this.#spec({}) };
      this.#see(await this.#api.create<Lease>(pathOf(LEASES, { namespace }), lease, { signal }));
      return true;
    }
    const { holderIdentity: holder = '', leaseDurationSeconds = 0 } = found.spec;
    const freeMs = this.#see(found) + Math.max(LEASE_MS, leaseDurationSeconds * 1000);
    const isFree = holder === '' || holder === identity || this.#api.runtime.nowMs() >= freeMs;
    if (isFree) await this.#write(found, signal);
    return isFree;
  }

  /**
   * Returns false when another process holds the lease. It replaces the version that this process wrote last, without
   * a read, which fails with 409 only after a write of another process.
   */
  async #renew(signal: AbortSignal): Promise<boolean> {
    try {
      await this.#write(this.#seen?.lease, signal);
      return true;
    } catch (error) {
      if (hasCode(error, 404)) return false;
      if (!hasCode(error, 409)) throw error;
    }
    // The server may have executed our last write although its response was lost.
    const found = await this.#api.get<Lease>(pathOf(LEASES, this.#options), { signal });
    this.#see(found);
    if (found.spec.holderIdentity !== this.#options.identity) return false;
    await this.#write(found, signal);
    return true;
  }

  /** Lets a candidate lead without waiting for the end of the lease. */
  async #release(signal: AbortSignal): Promise<boolean> {
    const lease = this.#seen?.lease;
    if (lease?.spec.holderIdentity !== this.#options.identity) return false;
    await this.#write(lease, signal, { ...lease.spec, holderIdentity: '', renewTime: this.#now() });
    return true;
  }

  /** Fails with 409 when another process has written the lease since. */
  async #write(before: Lease | undefined, signal: AbortSignal, spec = this.#spec(before?.spec ?? {})): Promise<void> {
    const lease = { ...before, ...typeOf(LEASES), spec };
    this.#see(await this.#api.replace<Lease>(pathOf(LEASES, this.#options), lease, { signal }));
  }

  #spec({ holderIdentity, acquireTime, leaseTransitions = -1 }: Lease['spec']): Lease['spec'] {
    const { identity } = this.#options;
    const isOurs = holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: LEASE_MS / 1000,
      acquireTime: isOurs && acquireTime !== undefined ? acquireTime : this.#now(),
      renewTime: this.#now(),
      leaseTransitions: leaseTransitions + (isOurs ? 0 : 1),
    };
  }

  #see(lease: Lease): number {
    const isNew = this.#seen?.lease.metadata.resourceVersion !== lease.metadata.resourceVersion;
    if (isNew || this.#seen === undefined) this.#seen = { lease, seenMs: this.#api.runtime.nowMs() };
    return this.#seen.seenMs;
  }

  #now(): string {
    return microTimestamp(this.#api.runtime.wallMs());
  }

  /** Returns undefined for an unknown outcome. Ends after half of RENEW_MS, so that a second attempt can succeed. */
  async #attempt(act: (within: AbortSignal) => Promise<boolean>, signal?: AbortSignal): Promise<boolean | undefined> {
    const { name, onError } = this.#options;
    using within = deadline(this.#api.runtime, RENEW_MS / 2, { what: `lease ${name}: no response`, signal });
    try {
      return await act(within.signal);
    } catch (error) {
      // A conflict means that another candidate was faster.
      if (!hasCode(error, 409) && signal?.aborted !== true) onError(error);
      return undefined;
    }
  }
}

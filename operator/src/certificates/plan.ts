/**
 * Plans the writes of the Secrets of a cluster. Pure: the time is an argument, and keys are made when an action is
 * carried out.
 *
 * ```
 *   authority    current ──── next is trusted ──── next signs, previous is trusted ──── previous ends
 *                        A: it ends soon      B: renewBefore later           C: at its end
 *   certificate  of current                    again, by the new one
 * ```
 *
 * Between A and C clients and nodes trust both, so that neither has to be first.
 */
import type { CairnCluster } from '../api/index.ts';
import { isOwnedBy, type Secret, type Texts, textIn, textsOf } from '../kube/index.ts';
import { certificateNames, KEYS, mountedSecrets, namesOf } from '../objects/index.ts';
import {
  bundleOf,
  type Certificate,
  makeAuthority,
  makeCertificate,
  type Pair,
  randomText,
  readCertificate,
  type Validity,
} from './issue.ts';
import { durationMs, type FoundObjects, isReplaceable, pairIn } from './secrets.ts';

/** Keys of the next and the previous authority in the Secret of the authority. */
const ROTATION_KEYS = { next: 'next.crt', nextKey: 'next.key', previous: 'previous.crt' } as const;

export interface SecretAction {
  readonly cluster: CairnCluster;
  readonly name: string;
  readonly why: string;
  readonly texts: Texts;
  /** Makes keys, which are added to `texts`. */
  readonly make?: () => Promise<Texts>;
  /** The observed Secret, whose version is the precondition; undefined: the Secret is created. */
  readonly found: Secret | undefined;
}

/** Why TLS or authentication cannot work, for a condition. */
export interface SecretFault {
  readonly reason: 'SecretMissing' | 'SecretIncomplete' | 'SecretForeign' | 'CertificateExpired';
  readonly message: string;
}

export interface SecretPlan {
  readonly actions: readonly SecretAction[];
  readonly faults: readonly SecretFault[];
}

const DAY_MS = 86_400_000;
const AUTHORITY_MS = 3650 * DAY_MS;
/** The authority outlives the certificates that it signs, also while the next one is not trusted everywhere yet. */
const AUTHORITY_DURATIONS = 4;
/** Clocks of other machines may be late. */
const BACKDATE_MS = 300_000;
/** The next authority signs at the latest this long before the end of the current one. */
const SWITCH_MS = 3_600_000;
/** Share of its lifetime after which a certificate is renewed that ends with its authority. */
const LIFETIME_SHARE = 2 / 3;

/** Names of all objects that `planSecrets` reads. */
export function secretSources(cluster: CairnCluster): { secrets: readonly string[]; configMaps: readonly string[] } {
  const { tls, auth, peers } = cluster.spec;
  const own = Object.values(mountedSecrets(cluster)).filter((name) => name !== undefined);
  const { authority, ca } = namesOf(cluster);
  const given = [tls.secretName, tls.clientCertificates?.caSecretName, auth.adminSecretName, peers.secretName];
  const secrets = [...own, authority, ca, ...given.filter((name) => name !== undefined)];
  return {
    secrets: [...new Set(secrets)],
    configMaps: [tls.caConfigMapName, peers.caConfigMapName].filter((name) => name !== undefined),
  };
}

export function planSecrets(cluster: CairnCluster, found: FoundObjects, nowMs: number): SecretPlan {
  const { tls } = cluster.spec;
  const planner = new Planner(cluster, found, nowMs);
  planner.keys();
  if (!tls.disabled) planner.certificates();
  return { actions: planner.actions, faults: planner.faults };
}

class Planner {
  readonly actions: SecretAction[] = [];
  readonly faults: SecretFault[] = [];
  readonly #cluster: CairnCluster;
  readonly #found: FoundObjects;
  readonly #nowMs: number;
  readonly #durationMs: number;
  readonly #renewBeforeMs: number;

  constructor(cluster: CairnCluster, found: FoundObjects, nowMs: number) {
    this.#cluster = cluster;
    this.#found = found;
    this.#nowMs = nowMs;
    this.#durationMs = durationMs(cluster.spec.tls.duration);
    this.#renewBeforeMs = durationMs(cluster.spec.tls.renewBefore);
  }

  /** Keys are made once. Another one would lock out nodes or administrators. */
  keys(): void {
    const { auth, peers } = this.#cluster.spec;
    const { peer, auth: admin } = mountedSecrets(this.#cluster);
    const hasPeerCertificate = peers.issuerRef !== undefined || peers.secretName !== undefined;
    if (!hasPeerCertificate) this.#madeOnce(peer, KEYS.peerSecret);
    if (peers.secretName !== undefined) this.#given(peers.secretName, [KEYS.certificate, KEYS.privateKey]);
    if (admin !== undefined && auth.adminSecretName === undefined) this.#madeOnce(admin, KEYS.adminKey);
    if (auth.adminSecretName !== undefined) this.#given(auth.adminSecretName, [KEYS.adminKey]);
  }

  certificates(): void {
    const { tls } = this.#cluster.spec;
    const names = namesOf(this.#cluster);
    const isOwn = tls.issuerRef === undefined && tls.secretName === undefined;
    const trusted = isOwn ? this.#ownCertificate() : this.#trustedOfOthers();
    if (trusted === undefined) return;
    this.#texts(names.ca, { [KEYS.authority]: trusted });
    const clients = tls.clientCertificates?.caSecretName;
    if (clients === undefined || !this.#given(clients, [KEYS.authority])) return;
    const ofClients = textIn(this.#secret(clients), KEYS.authority) ?? '';
    this.#texts(names.clientCa, { [KEYS.authority]: bundleOf([ofClients, trusted]) });
  }

  /** Returns the authorities by which the nodes are known; undefined when there are none yet. */
  #trustedOfOthers(): string | undefined {
    const { caConfigMapName, secretName } = this.#cluster.spec.tls;
    const secret = secretName ?? namesOf(this.#cluster).tls;
    this.#given(secret, [KEYS.certificate, KEYS.privateKey]);
    const ofSecret = textIn(this.#secret(secret), KEYS.authority);
    const certificate = textIn(this.#secret(secret), KEYS.certificate);
    const endMs = certificate === undefined ? undefined : readCertificate(certificate)?.notAfterMs;
    if (endMs !== undefined && endMs <= this.#nowMs)
      this.#fault('CertificateExpired', `Secret ${secret}: the certificate has expired`);
    if (caConfigMapName === undefined) return ofSecret;
    const ofConfigMap = this.#found.configMaps.get(caConfigMapName)?.data?.[KEYS.authority];
    if (ofConfigMap === undefined)
      this.#fault('SecretMissing', `ConfigMap ${caConfigMapName} with ${KEYS.authority} does not exist`);
    return ofConfigMap;
  }

  #ownCertificate(): string | undefined {
    const authority = this.#authority();
    if (authority === undefined) return undefined;
    const { pair, certificate, trusted } = authority;
    const name = namesOf(this.#cluster).tls;
    const found = this.#secret(name);
    const wanted = certificateNames(this.#cluster);
    const held = pairIn(found, KEYS.certificate, KEYS.privateKey);
    const why = held === undefined ? 'it does not exist' : this.#whyRenew(held, certificate, wanted);
    if (why !== undefined) {
      const validity = this.#validity(Math.min(this.#nowMs + this.#durationMs, certificate.notAfterMs));
      const make = async (): Promise<Texts> => inOwnKeys(await makeCertificate(pair, wanted, validity));
      this.#write(name, { why: `new certificate: ${why}`, texts: { [KEYS.authority]: trusted }, make });
    } else this.#texts(name, { [KEYS.authority]: trusted });
    return trusted;
  }

  #whyRenew(
    { certificate: pem, privateKey }: Pair,
    authority: Certificate,
    names: readonly string[],
  ): string | undefined {
    const certificate = readCertificate(pem);
    if (certificate?.hasKey(privateKey) !== true) return 'the one in the Secret is damaged';
    if (!certificate.isIssuedBy(authority)) return 'the authority has changed';
    if (!isSame(certificate.dnsNames, names)) return 'the names have changed';
    const { notBeforeMs, notAfterMs } = certificate;
    const share = notBeforeMs + (notAfterMs - notBeforeMs) * LIFETIME_SHARE;
    // The share counts for a certificate that ends with its authority: it would be renewed again at once.
    const dueMs = notAfterMs === authority.notAfterMs ? share : notAfterMs - this.#renewBeforeMs;
    return this.#nowMs >= dueMs ? 'the one in the Secret ends soon' : undefined;
  }

  /** The authority that signs, and all that are trusted; undefined when it has to be made first. */
  #authority(): { readonly pair: Pair; readonly certificate: Certificate; readonly trusted: string } | undefined {
    const name = namesOf(this.#cluster).authority;
    const secret = this.#secret(name);
    if (secret === undefined) {
      const make = async (): Promise<Texts> => inOwnKeys(await this.#newAuthority());
      this.#write(name, { why: 'it does not exist', texts: {}, make });
      return undefined;
    }
    const pair = pairIn(secret, KEYS.certificate, KEYS.privateKey);
    const certificate = pair && readCertificate(pair.certificate);
    if (pair === undefined || certificate?.hasKey(pair.privateKey) !== true) {
      this.#fault(
        'SecretIncomplete',
        `Secret ${name} has no authority with its key: restore it, or delete it for a new one`,
      );
      return undefined;
    }
    this.#rotate(name, secret, certificate);
    const others = [textIn(secret, ROTATION_KEYS.next), textIn(secret, ROTATION_KEYS.previous)];
    return { pair, certificate, trusted: bundleOf([pair.certificate, ...others.filter((text) => text !== undefined)]) };
  }

  #rotate(name: string, secret: Secret, current: Certificate): void {
    const { next, nextKey, previous } = ROTATION_KEYS;
    const nextPair = pairIn(secret, next, nextKey);
    const nextCertificate = nextPair && readCertificate(nextPair.certificate);
    const texts = textsOf(secret);
    const trustedMs = this.#renewBeforeMs;
    if (nextPair === undefined || nextCertificate?.hasKey(nextPair.privateKey) !== true) {
      if (this.#nowMs < current.notAfterMs - this.#durationMs - 2 * trustedMs) return this.#forget(name, secret);
      const make = async (): Promise<Texts> => {
        const { certificate, privateKey } = await this.#newAuthority();
        return { [next]: certificate, [nextKey]: privateKey };
      };
      return this.#write(name, { why: 'the authority ends soon: the next one is trusted from now on', texts, make });
    }
    const switchMs = Math.min(nextCertificate.notBeforeMs + BACKDATE_MS + trustedMs, current.notAfterMs - SWITCH_MS);
    if (this.#nowMs < switchMs) return;
    const { [next]: newCertificate = '', [nextKey]: newKey = '', ...rest } = texts;
    const switched = {
      ...rest,
      [KEYS.certificate]: newCertificate,
      [KEYS.privateKey]: newKey,
      [previous]: current.pem,
    };
    this.#write(name, { why: 'the next authority signs from now on', texts: switched });
  }

  /** Removes the previous authority when it has ended. */
  #forget(name: string, secret: Secret): void {
    const { [ROTATION_KEYS.previous]: pem, ...rest } = textsOf(secret);
    const previous = pem === undefined ? undefined : readCertificate(pem);
    if (previous === undefined || previous.notAfterMs > this.#nowMs) return;
    this.#write(name, { why: 'the previous authority has ended', texts: rest });
  }

  #newAuthority(): Promise<Pair> {
    const lifetimeMs = Math.max(AUTHORITY_MS, AUTHORITY_DURATIONS * this.#durationMs);
    return makeAuthority(this.#cluster.metadata.namespace, this.#validity(this.#nowMs + lifetimeMs));
  }

  #validity(notAfterMs: number): Validity {
    return { notBeforeMs: this.#nowMs - BACKDATE_MS, notAfterMs };
  }

  #secret(name: string): Secret | undefined {
    return this.#found.secrets.get(name);
  }

  #madeOnce(name: string, key: string): void {
    const found = this.#secret(name);
    if (found === undefined) {
      this.#write(name, { why: 'it does not exist', texts: {}, make: async () => ({ [key]: randomText() }) });
    } else if (textIn(found, key) === undefined) {
      this.#fault('SecretIncomplete', `Secret ${name} has no ${key}: restore it, or delete the Secret for a new one`);
    } else this.#adopt(name, found);
  }

  /** Returns true when a Secret of the user has these keys. */
  #given(name: string, keys: readonly string[]): boolean {
    const found = this.#secret(name);
    if (found === undefined) this.#fault('SecretMissing', `Secret ${name} does not exist`);
    const lacking = keys.filter((key) => textIn(found, key) === undefined);
    if (found !== undefined && lacking.length > 0)
      this.#fault('SecretIncomplete', `Secret ${name} has no ${lacking.join(' and no ')}`);
    return lacking.length === 0;
  }

  /** Sets texts of a Secret and leaves the others. */
  #texts(name: string, texts: Texts): void {
    const found = this.#secret(name);
    const before = found === undefined ? {} : textsOf(found);
    const isThere = Object.entries(texts).every(([key, text]) => before[key] === text);
    if (isThere && found !== undefined) return this.#adopt(name, found);
    this.#write(name, {
      why: found === undefined ? 'it does not exist' : 'the authorities have changed',
      texts: { ...before, ...texts },
    });
  }

  /** A Secret that outlived its CairnCluster belongs to the one that has its name now. */
  #adopt(name: string, found: Secret): void {
    if (!isReplaceable(found) || isOwnedBy(found, this.#cluster)) return;
    this.#write(name, { why: 'its CairnCluster is another one', texts: textsOf(found) });
  }

  #write(name: string, action: Omit<SecretAction, 'cluster' | 'name' | 'found'>): void {
    const found = this.#secret(name);
    if (found !== undefined && !isReplaceable(found)) {
      this.#fault(
        'SecretForeign',
        `Secret ${name} is not of the operator: delete it, or choose another name for the CairnCluster`,
      );
    } else this.actions.push({ cluster: this.#cluster, name, found, ...action });
  }

  #fault(reason: SecretFault['reason'], message: string): void {
    this.faults.push({ reason, message });
  }
}

function inOwnKeys({ certificate, privateKey }: Pair): Texts {
  return { [KEYS.certificate]: certificate, [KEYS.privateKey]: privateKey };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name));
}

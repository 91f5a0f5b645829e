/** Builds the authentication and authorization of a node from its settings, and warns of open ports. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  Authenticator,
  type BootstrapKey,
  basicExtractor,
  bootstrapExtractor,
  certificateExtractor,
  type Extractor,
  type KnownKeys,
  keyExtractor,
  readBootstrapKey,
} from '#auth';
import { CATALOG_GROUP, parseAddress } from '#base';
import { type Node, wallClock } from '#cluster';
import type { Logger, Metrics } from '#observability';
import { ANYBODY, type AuditRecord, auditService, guardService, type Service } from '#service';
import type { Access } from '#transport';
import { ReloadedFiles } from '../settings/reloaded-files.ts';
import { readFile } from '../settings/setting-files.ts';
import type { Config } from '../settings/settings.ts';
import { openAuditTrail } from './audit-trail.ts';
import { tokenExtractors } from './token-access.ts';

interface AccessParts {
  /** The extractor of the operator; it is called before the built-in ones for tokens. */
  readonly custom?: Extractor | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Disposed with the node. */
  readonly files: DisposableStack;
}

/** Access rules that are known before the node is open. */
export interface AccessRules {
  /** Records an administrative action. */
  readonly note: (record: AuditRecord) => void;
  /** Wraps the operations of the node when requests are not authenticated. */
  readonly open: (service: Service) => Service;
  /** Key of the first administrator, if the settings have one. */
  readonly bootstrap?: BootstrapKey | undefined;
  /**
   * Wraps the operations of the node; undefined: every client may do everything. `relayedBy` is the header that marks a
   * relayed request.
   */
  readonly over: (service: Service, node: Node, relayedBy: string) => Access | undefined;
}

/** @throws DatabaseError when a file of the settings cannot be used. */
export function readAccess(config: Config, { custom, logger, metrics, files }: AccessParts): AccessRules {
  const note = openAuditTrail(config, logger);
  const open = (service: Service): Service => auditService(service, ANYBODY, note);
  if (config.auth === 'off') {
    warnOfOpenDoors(config, logger);
    return { note, open, over: () => undefined };
  }
  warnOfOpenPeers(config, logger);
  const bootstrap = bootstrapKeyOf(config, logger, files);
  const tokens = [...(custom === undefined ? [] : [custom]), ...tokenExtractors(config, { logger, metrics })];
  const isBasicTaken = takesBasic(config, logger);
  const refusals = metrics.counter('cairn_unauthenticated_total', {});
  return {
    note,
    open,
    bootstrap,
    over: (service, node, relayedBy) => {
      const first: readonly Extractor[] = bootstrap === undefined ? [] : [bootstrapExtractor(bootstrap)];
      const keys = [...first, keyExtractor(keysOf(node), () => wallClock.nowMs())];
      const byHeaders = [...keys, ...(isBasicTaken ? [basicExtractor(keys)] : []), ...tokens];
      const chain = [...byHeaders, ...certificatesOf(config, node, { before: byHeaders, relayedBy })];
      const onRefused = (why: string): void => {
        refusals.add();
        logger.debug('credential-refused', { why });
      };
      return {
        authenticator: new Authenticator({ chain, onRefused }),
        serviceOf: (principal) => auditService(guardService(service, principal), principal, note),
      };
    },
  };
}

/** The last extractor: a header identifies the client, whatever connection the request uses. */
function certificatesOf(
  { tlsClientCaFile, authCertificateRoles: rules }: Config,
  node: Node,
  { before, relayedBy }: { readonly before: readonly Extractor[]; readonly relayedBy: string },
): readonly Extractor[] {
  if (tlsClientCaFile === 'none') return [];
  const others = before.flatMap(({ inputs = [] }) => inputs);
  const isOfNode = (certificate: X509Certificate, name: string): boolean =>
    node.catalog
      .nodes()
      .some((each) => each.state !== 'removed' && each.name === name && isFor(certificate, each.grpc));
  return [certificateExtractor({ rules, others, relayedBy, isOfNode, nowMs: () => wallClock.nowMs() })];
}

/** Returns whether the certificate is for a server at this address. */
function isFor(certificate: X509Certificate, address: string): boolean {
  const { host } = parseAddress(address) ?? {};
  if (host === undefined) return false;
  return (
    (isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)) !== undefined
  );
}

/** API keys of the catalog, as this node has it. */
function keysOf(node: Node): KnownKeys {
  return {
    find: (id) => node.catalog.apiKey(id),
    refresh: async () => {
      await node.latest(CATALOG_GROUP);
    },
  };
}

/** Logs a warning: every client that reaches such a port may read, write and delete everything. */
function warnOfOpenDoors({ host }: Config, logger: Logger): void {
  if (isLoopback(host)) return;
  const message = `Authentication is off and this node listens on ${host}: every client that reaches its ports can read, change and delete all databases. Start it with --auth on, or restrict access to the ports`;
  logger.warn('authentication-off', { host, message });
}

function warnOfOpenPeers({ peerPort, peerTls }: Config, logger: Logger): void {
  if (peerPort === 'off' || peerTls !== 'off') return;
  const message =
    'Authentication is on and the peer port does not use TLS (--peer-tls off): every client that reaches it can join the cluster and issue keys. Set --peer-secret-file or --peer-tls-cert-file, or restrict access to the port';
  logger.warn('peer-port-open', { message });
}

/**
 * Returns whether browsers may send keys as passwords. They then send the key with every request, so Basic
 * authentication is off where the connection may be observed, unless the settings turn it on.
 */
function takesBasic({ authBasic, host, tlsCertFile }: Config, logger: Logger): boolean {
  if (authBasic === 'off') return false;
  if (tlsCertFile !== 'none' || isLoopback(host)) return true;
  if (authBasic === 'auto') return false;
  const message = `Browsers are asked for API keys as passwords, and this node listens on ${host} without TLS, so an observer of the network gets the keys. Set --tls-cert-file, or terminate TLS in a proxy that alone can reach this node`;
  logger.warn('basic-without-tls', { host, message });
  return true;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function bootstrapKeyOf(
  { authBootstrapKeyFile: file }: Config,
  logger: Logger,
  files: DisposableStack,
): BootstrapKey | undefined {
  if (file === 'none') return undefined;
  let used = readKey(file);
  const reloaded = new ReloadedFiles({
    used,
    read: () => readKey(file),
    use: (key) => {
      used = key;
    },
    onReload: (outcome) => {
      if (outcome.kind === 'ok') return logger.info('bootstrap-key-reloaded');
      logger.error('bootstrap-key-not-reloaded', { message: `${outcome.reason}; the previous key stays valid` });
    },
  });
  files.use(reloaded);
  return () => used;
}

/** @throws DatabaseError when the file cannot be read or has no key; it names the file, but nothing of the key */
function readKey(file: string): Uint8Array {
  return readFile(file, 'auth-bootstrap-key-file', readBootstrapKey);
}

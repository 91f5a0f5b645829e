/**
 * Every setting of a node. The help text and docs/configuration.md are generated from this table, in its order.
 *
 * The defaults suit a first try on a laptop; a deployment sets what it needs.
 */
import type { CertificateRule } from '#auth';
import { type Address, COPIES_MAX } from '#base';
import type { DatabaseQuota } from '#cluster';
import { LOG_LEVELS, type LogLevel } from '#observability';
import { archiveUrl } from './archive-url.ts';
import { certificateRoles } from './certificate-roles.ts';
import { databaseQuotas } from './database-quotas.ts';
import { type OutsideRule, outsideRules } from './outside-addresses.ts';
import {
  addresses,
  baseUrl,
  byteSize,
  type Each,
  host,
  oneOf,
  oneWord,
  optionalFile,
  orAuto,
  origins,
  orOff,
  plainText,
  port,
  type Setting,
  share,
  trueOrFalse,
  wholeNumber,
  wordOr,
} from './setting.ts';
import { TOKEN_SETTINGS, type TokenSettings } from './token-settings.ts';

/** Settings of a running node, read once and frozen. SETTINGS says what they mean. */
export interface Config
  extends TokenSettings,
    Each<string, 'dataDir' | 'host' | 'metricsHost' | 'peerHost' | 'advertiseHost' | 'zone' | 'nodeName'>,
    Each<string, 'otlpEndpoint' | 'authBootstrapKeyFile' | 'auditLog' | 'archive'>,
    Each<string, 'tlsCertFile' | 'tlsKeyFile' | 'tlsCaFile' | 'tlsClientCaFile'>,
    Each<string, 'peerTlsCertFile' | 'peerTlsKeyFile' | 'peerTlsCaFile' | 'peerSecretFile'>,
    Each<number, 'grpcPort' | 'httpPort' | 'copies' | 'traceSampleRatio' | 'readWaitMs' | 'shutdownGraceMs'>,
    Each<number, 'walSegmentBytes' | 'storeMappedBytes' | 'maintenanceFolds' | 'maintenanceScheduleMs'>,
    Each<number, 'guestMemoryBytes' | 'guestFuel' | 'guestCpuMs' | 'guestWallMs' | 'guestCacheBytes'>,
    Each<number | 'off', 'mcpPort' | 'metricsPort' | 'peerPort' | 'joinWaitMs' | 'replaceAfterMs'>,
    Each<number | 'off', 'rateLimitPerSecond' | 'grpcGzipBytes' | 'httpGzipBytes'>,
    Each<number | 'auto', 'rateLimitBurst' | 'diskSoftBytes' | 'diskHardBytes' | 'guestExecutors'>,
    Each<number | 'auto', 'requestMemoryBytes' | 'unsentMemoryBytes' | 'replicationMemoryBytes'>,
    Each<number | 'auto', 'storeWriteBufferBytes'> {
  readonly advertiseOutside: readonly OutsideRule[];
  readonly bootstrap: 'never' | 'alone';
  readonly join: readonly Address[];
  readonly learner: boolean;
  readonly logLevel: LogLevel;
  readonly auth: 'off' | 'on';
  readonly authBasic: 'auto' | 'off' | 'on';
  readonly tlsClientAuth: 'request' | 'require';
  readonly authCertificateRoles: readonly CertificateRule[];
  readonly peerTls: 'require' | 'prefer' | 'off';
  readonly corsOrigins: '*' | readonly string[];
  readonly databaseBytesMax: readonly DatabaseQuota[];
}

/** Settings of TLS between nodes. */
export type PeerTlsSettings = Pick<Config, Extract<keyof Config, `peerTls${string}` | 'peerSecretFile'>>;

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  dataDir: {
    type: plainText('a directory', 4096),
    default: './data',
    help: 'Directory that holds all data of the node. It is created when it is missing. Only one process may use it at a time.',
  },
  host: {
    type: host,
    default: '127.0.0.1',
    help: 'Address that all servers listen on; 0.0.0.0 in a container.',
  },
  grpcPort: { type: port, default: 50_051, help: 'Port of the gRPC API.' },
  httpPort: { type: port, default: 3000, help: 'Port of the HTTP API.' },
  mcpPort: {
    type: wordOr('off', port),
    default: 3001,
    help: 'Port of the MCP endpoint, for agents. off: no MCP endpoint.',
  },
  metricsPort: {
    type: wordOr('off', port),
    default: 9464,
    help: 'Port that serves /metrics to Prometheus and probes to a kubelet (docs/operations/probes.md). off: no metrics and no probes.',
  },
  metricsHost: orAuto(host, 'Address that metrics-port listens on. auto: the same as host.'),
  peerPort: orOff(
    port,
    'Port that other nodes of the cluster connect to, usually 50052. off: the node runs alone, and no other node can join it.',
  ),
  peerHost: orAuto(host, 'Address that peer-port listens on. auto: the same as host.'),
  advertiseHost: orAuto(
    host,
    'Host under which other nodes and clients reach this node; in Kubernetes the DNS name of the pod. auto: the same as host, or the name of this machine when host means all addresses.',
  ),
  advertiseOutside: {
    type: outsideRules,
    default: [],
    help: 'Addresses under which clients outside the cluster reach the gRPC port of each node, the same on all nodes: *.DOMAIN:PORT, where the node name replaces the *, or one NODE=HOST:PORT per node, separated by commas. A client that connected to one of these hosts, or to another name in that domain, receives the outside address of the leader (x-leader-address). Every other client receives the address by advertise-host. none: nodes have no outside addresses.',
  },
  bootstrap: {
    type: oneOf(['never', 'alone']),
    default: 'never',
    help: 'Whether a node with an empty data directory may found a cluster. never: the node joins the cluster of join, and does not start without join. alone: the node founds a cluster of its own. With join it does so only when all nodes listed there, itself included, are empty and were started with the same join; exactly one of them then founds the cluster, and the others join it (docs/operations/cluster.md). Ignored once the node belongs to a cluster.',
  },
  join: {
    type: addresses,
    default: [],
    help: 'Peer addresses of cluster nodes through which a node with an empty data directory joins. Until one of them accepts it, the node waits and is not ready. Ignored once the node belongs to a cluster.',
  },
  joinWaitMs: orOff(
    wholeNumber({ min: 0, max: 3_600_000, unit: 'milliseconds' }),
    'How long a new node tries to join before it exits with code 1. Starting it again is safe. off: it tries until a cluster accepts it.',
  ),
  learner: {
    type: trueOrFalse,
    default: false,
    help: 'Whether the node is a learner: it holds a replica of every database and serves reads, but never votes. It joins a cluster and founds none. Fixed for the life of the data directory: a start with the other value is refused.',
  },
  zone: {
    type: oneWord('a name', 63),
    default: 'default',
    help: 'Failure domain of this node, such as a zone or a rack. Replicas of a database are placed in different zones.',
  },
  copies: {
    type: wholeNumber({ min: 1, max: COPIES_MAX, unit: 'replicas' }),
    default: 3,
    help: 'Number of replicas of each database that has no number of its own. A cluster with fewer nodes has as many replicas as nodes, rounded down to an odd number. With 3 a database stays available when one of its nodes fails, with 5 when two fail. A higher value also adds replicas to existing databases; a lower value removes none. The value on the leader of the catalog applies.',
  },
  replaceAfterMs: {
    type: wordOr('off', wholeNumber({ min: 10_000, max: 604_800_000, unit: 'milliseconds' })),
    default: 600_000,
    help: 'How long a node may be unreachable before its replicas are created again on other nodes. off: never. The value on the leader of the catalog applies.',
  },
  nodeName: {
    type: oneWord('a name', 63),
    default: 'node-1',
    help: 'Name of this node for clients and in logs, unique in the cluster. A node does not join under the name of another one that answers.',
  },
  logLevel: {
    type: oneOf(LOG_LEVELS),
    default: 'info',
    help: 'Lowest level of the lines logged to stderr. silent: only the reason why the node cannot start or had to exit.',
  },
  otlpEndpoint: orOff(
    baseUrl,
    'Base URL of the collector that receives trace spans by OTLP over HTTP, such as http://127.0.0.1:4318 (docs/operations/tracing.md). off: no tracing.',
  ),
  traceSampleRatio: {
    type: share,
    default: 1,
    help: 'Share of the traces started on this node that are sampled, such as 0.01. A request with a trace context is sampled when its trace is. Has an effect only with otlp-endpoint.',
  },
  auth: {
    type: oneOf(['off', 'on']),
    default: 'off',
    help: 'on: every request needs a credential, and the roles of its principal decide what it may do (docs/security.md). off: every client that reaches a port may do everything.',
  },
  authBootstrapKeyFile: optionalFile(
    'File with one line: the API key of an administrator, with which other keys are issued. The same on every node. A replaced file is used within seconds.',
  ),
  authBasic: {
    type: oneOf(['auto', 'off', 'on']),
    default: 'auto',
    help: 'Whether people sign in with a browser over HTTP (Basic authentication): any user name, and an API key as the password. auto: where the port uses TLS or listens only on loopback. on: everywhere, such as behind a proxy that terminates TLS. off: nowhere.',
  },
  auditLog: {
    type: wordOr('log', wordOr('off', plainText('a file', 4096))),
    default: 'log',
    help: 'Where administrative actions are recorded (docs/security.md). log: as `audit` lines of the log at level info. A file: one line of JSON is appended for each action. off: nowhere.',
  },
  rateLimitPerSecond: orOff(
    wholeNumber({ min: 1, max: 1_000_000, unit: 'requests' }),
    'Requests that a client may make per second at this node, over HTTP, gRPC and MCP together; further requests are refused (docs/security.md). A client is a principal, or an address when requests are not authenticated. off: no limit.',
  ),
  rateLimitBurst: orAuto(
    wholeNumber({ min: 1, max: 1_000_000, unit: 'requests' }),
    'Requests that a client may make at once after a pause. auto: rate-limit-per-second.',
  ),
  tlsCertFile: optionalFile(
    'Certificate of this node in PEM, followed by its intermediate certificates. With it, gRPC, HTTP, MCP and metrics use TLS 1.2 or 1.3. A replaced file is used within seconds. none: no TLS on these ports.',
  ),
  tlsKeyFile: optionalFile('Private key of tls-cert-file in PEM, without a passphrase.'),
  tlsCaFile: optionalFile(
    'Certificate authorities, in PEM, that this node trusts when it relays requests to the client ports of other nodes. none: the authorities that Node.js includes.',
  ),
  tlsClientCaFile: optionalFile(
    'Certificate authorities, in PEM, that sign the certificates of gRPC clients. With auth=on the certificate identifies the client. none: no client certificates.',
  ),
  tlsClientAuth: {
    type: oneOf(['request', 'require']),
    default: 'require',
    help: 'Used with tls-client-ca-file. require: gRPC refuses clients without a certificate. request: a client may connect without a certificate; a certificate that it shows must be valid.',
  },
  authCertificateRoles: {
    type: certificateRoles,
    default: [],
    help: 'Roles of gRPC clients by the names in their certificates: a name as CN=, DNS= or URI=, and roles as in docs/security.md. A certificate with several of these names has the roles of all of them. A valid certificate with none of them has no role and may do nothing.',
  },
  peerTlsCertFile: optionalFile(
    'Certificate of this node for peers in PEM, followed by its intermediate certificates, valid for servers, for clients and for advertise-host. With it, peer-port uses TLS 1.3 and refuses clients without a certificate signed by peer-tls-ca-file. A replaced file is used within seconds. none: no certificate.',
  ),
  peerTlsKeyFile: optionalFile('Private key of peer-tls-cert-file in PEM, without a passphrase.'),
  peerTlsCaFile: optionalFile(
    'Certificate authorities, in PEM, that sign the certificates of nodes and of operators for peer-port. Every holder of such a certificate has all rights of a node, so these authorities should sign nothing else.',
  ),
  peerSecretFile: optionalFile(
    'Alternative to certificates: a file with one line, a secret of at least 32 characters, the same on every node. peer-port then uses TLS and refuses clients without the secret. A replaced file is used within seconds. none: no secret.',
  ),
  peerTls: {
    type: oneOf(['require', 'prefer', 'off']),
    default: 'require',
    help: 'TLS at peer-port. require: every connection needs TLS, with peer-tls-cert-file or peer-secret-file. prefer: connections without TLS are accepted too, and nodes without TLS are dialled without it; for changing a running cluster to TLS or back, node by node. off: allows auth=on without peer-tls-cert-file and peer-secret-file; every client that reaches the port then has all rights.',
  },
  ...TOKEN_SETTINGS,
  corsOrigins: {
    type: origins,
    default: '*',
    help: 'Origins whose pages may call the HTTP API, separated by commas; *: every origin may read. MCP accepts pages of listed origins, of this host and of loopback only.',
  },
  readWaitMs: {
    type: wholeNumber({ min: 0, max: 60_000, unit: 'milliseconds' }),
    default: 250,
    help: 'How long a read waits for a revision that this node has not applied yet.',
  },
  shutdownGraceMs: {
    type: wholeNumber({ min: 0, max: 600_000, unit: 'milliseconds' }),
    default: 10_000,
    help: 'How long a node may take after SIGTERM to transfer its leaderships and to finish the requests in flight. The process ends at most 15 s after that, even when a disk or a peer hangs.',
  },
  grpcGzipBytes: orOff(
    byteSize({ min: KIB, max: GIB }),
    'Smallest gRPC reply message that is compressed with gzip, for clients that accept it, such as 4KiB. off: no compression. It pays off where the network is slower than a processor compresses, about 50 MB/s.',
  ),
  httpGzipBytes: orOff(
    byteSize({ min: KIB, max: GIB }),
    'Smallest HTTP response (JSON, HTML or TOON) that is compressed with gzip, for clients that accept it, such as 4KiB. off: no compression, such as behind a proxy that compresses.',
  ),
  requestMemoryBytes: orAuto(
    byteSize({ min: 16 * MIB, max: 64 * GIB }),
    'Memory for the requests of all clients while they arrive and are processed. When it is used up, further requests are refused as busy. Open gRPC streams have as much memory again, and use 16 KiB each. auto: an eighth of the memory that the process may use, 16 MiB to 128 MiB.',
  ),
  unsentMemoryBytes: orAuto(
    byteSize({ min: 32 * MIB, max: 64 * GIB }),
    'Memory for the replies of all clients until they are read, and a quarter more for small replies. When it is used up, streams continue with one small slice at a time, and large replies wait. While others wait, the node disconnects a client that reads nothing for 2.5 s, or that has not read all of an HTTP reply within 10 s. auto: an eighth of the memory, 32 MiB to 128 MiB.',
  ),
  replicationMemoryBytes: orAuto(
    byteSize({ min: 32 * MIB, max: 64 * GIB }),
    'Memory for entries and requests of all databases until they are committed, applied and acknowledged by all replicas. Entries that only replicas still lack are evicted when writes need the memory. When it is exhausted, the node refuses writes (RESOURCE_EXHAUSTED) to a database that uses as much as is still free; a busy database thus gets at most half. When log and store lag by a quarter of it, the node stops reading from other nodes until both have caught up. auto: an eighth of the memory, 32 MiB to 1 GiB.',
  ),
  walSegmentBytes: {
    // The write-ahead log requires an even number of sectors.
    type: byteSize({ min: 4 * MIB, max: GIB, step: KIB }),
    default: 64 * MIB,
    help: 'Size of a segment of the write-ahead log. Two spare segments are kept ready.',
  },
  storeWriteBufferBytes: orAuto(
    byteSize({ min: MIB, max: GIB }),
    'Rows that LevelDB collects in memory before it writes a sorted table; it uses up to twice this size. auto: 1/32 of the memory, 4 MiB to 32 MiB.',
  ),
  storeMappedBytes: {
    type: byteSize({ min: 64 * MIB, max: 256 * GIB }),
    default: 64 * MIB,
    help: 'Approximate part of the store that is mapped into memory at a time. A larger value makes tables larger, up to 8 MiB, and random reads of a large store cheaper; it shows as resident memory.',
  },
  diskSoftBytes: orAuto(
    byteSize({ min: 0, max: 1024 * GIB }),
    'Free disk space below which transactions are refused. Reads continue, and databases can be deleted and keys revoked. auto: computed from the sizes of the disk, of a log segment and of the write buffer.',
  ),
  diskHardBytes: orAuto(
    byteSize({ min: 0, max: 1024 * GIB }),
    'Free disk space below which nothing is appended; at most disk-soft-bytes. auto: two segments of the write-ahead log.',
  ),
  archive: orOff(
    archiveUrl,
    'Where this node archives the databases that it leads, every few seconds (docs/operations/backup.md): a directory that all nodes share, as file:///DIRECTORY, or a bucket, as s3://BUCKET/PREFIX. The same on every node. off: nowhere.',
  ),
  databaseBytesMax: {
    type: databaseQuotas,
    default: [],
    help: 'Disk space that a database may use on a node: one size for all databases, and others by name or pattern. An exact name has precedence, then the longest pattern. Writes to a database above its quota are refused; it can still be read and deleted. Usage is measured every 2 s, without data that is still in the write buffer. The same on every node. off: no quota.',
  },
  guestExecutors: orAuto(
    wholeNumber({ min: 1, max: 64, unit: 'processes' }),
    'Maximum number of processes that run components, for each of State Views, State Changes and presenters. A process starts when it is first needed. auto: one per processor, if the memory beyond 256 MiB has 128 MiB for each.',
  ),
  guestMemoryBytes: {
    type: byteSize({ min: MIB, max: 256 * MIB }),
    default: 128 * MIB,
    help: 'Memory limit of a component, over all of its modules. Below the default, a component in TypeScript may fail to fold large events.',
  },
  guestFuel: {
    type: wholeNumber({ min: 1_000_000, max: 999_999_999_999_999, unit: 'units' }),
    default: 50_000_000_000,
    help: 'Fuel that a component may spend in one call; a unit is about one instruction. A presenter has four times as much for a whole presentation.',
  },
  guestCpuMs: {
    type: wholeNumber({ min: 10, max: 600_000, unit: 'milliseconds' }),
    default: 5_000,
    help: 'Processor time that a component may use in one call, and a presenter between two writes. When it is exceeded, the process that runs the component is killed.',
  },
  guestWallMs: {
    type: wholeNumber({ min: 10, max: 600_000, unit: 'milliseconds' }),
    default: 10_000,
    help: 'Wall-clock time that one call of a component may take, including all waits.',
  },
  guestCacheBytes: {
    type: byteSize({ min: 0, max: 1024 * GIB }),
    default: 512 * MIB,
    help: 'Size of the cache for components in the data directory: half for compiled components, half for folded states. Everything in it can be computed again. Nothing is added while free disk space is below disk-soft-bytes.',
  },
  maintenanceFolds: {
    type: wholeNumber({ min: 0, max: 64, unit: 'State Views' }),
    default: 2,
    help: 'How many State Views of the modes Eager and Scheduled this node folds in the background at the same time. Views with high priority come first; reads that wait for a fold come before all of them. 0: none; views are folded when they are read.',
  },
  maintenanceScheduleMs: {
    type: wholeNumber({ min: 1_000, max: 604_800_000, unit: 'milliseconds' }),
    default: 60_000,
    help: 'Interval at which this node brings State Views of the mode Scheduled up to date.',
  },
};

/** Builds a config by calling `read` for every setting. */
export function buildConfig(read: <T>(key: string, setting: Setting<T>) => T): Config;
export function buildConfig(read: (key: string, setting: Setting<unknown>) => unknown): unknown {
  return Object.fromEntries(Object.entries(SETTINGS).map(([key, setting]) => [key, read(key, setting)]));
}

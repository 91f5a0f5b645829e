/**
 * Every setting of a node, in the order of the help text and of docs/configuration.md, which is generated from here.
 *
 * A default is what a person trying Cairn on a laptop wants; a deployment says the rest.
 */
import type { CertificateRule } from '#auth';
import { type Address, assert } from '#base';
import type { DatabaseQuota } from '#cluster';
import { LOG_LEVELS, type LogLevel } from '#observability';
import { certificateRoles } from './certificate-roles.ts';
import { databaseQuotas } from './database-quotas.ts';
import { type OutsideRule, outsideRules } from './outside-addresses.ts';
import { PEER_TLS_SETTINGS, type PeerTlsSettings } from './peer-tls-settings.ts';
import {
  addresses,
  baseUrl,
  byteSize,
  host,
  oneOf,
  oneWord,
  origins,
  plainText,
  port,
  type Setting,
  share,
  wholeNumber,
  wordOr,
} from './setting.ts';
import { TOKEN_SETTINGS, type TokenSettings } from './token-settings.ts';

/** The settings of a running node, read once and frozen. */
export interface Config extends TokenSettings, PeerTlsSettings {
  readonly dataDir: string;
  readonly host: string;
  readonly grpcPort: number;
  readonly httpPort: number;
  readonly mcpPort: number | 'off';
  readonly metricsPort: number | 'off';
  readonly metricsHost: string;
  readonly peerPort: number | 'off';
  /** `auto`: the host of the other servers. */
  readonly peerHost: string;
  /** `auto`: the host, or the name of this machine if that means all of its addresses. */
  readonly advertiseHost: string;
  readonly advertiseOutside: readonly OutsideRule[];
  readonly bootstrap: 'never' | 'alone';
  readonly join: readonly Address[];
  readonly joinWaitMs: number | 'off';
  readonly zone: string;
  readonly copies: number;
  readonly replaceAfterMs: number | 'off';
  readonly nodeName: string;
  readonly logLevel: LogLevel;
  readonly otlpEndpoint: string;
  readonly traceSampleRatio: number;
  readonly auth: 'off' | 'on';
  readonly authBootstrapKeyFile: string;
  readonly authBasic: 'auto' | 'off' | 'on';
  /** `log`, `off`, or a file. */
  readonly auditLog: string;
  readonly rateLimitPerSecond: number | 'off';
  /** `auto`: as many as a second allows. */
  readonly rateLimitBurst: number | 'auto';
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  readonly tlsCaFile: string;
  readonly tlsClientCaFile: string;
  readonly tlsClientAuth: 'request' | 'require';
  readonly authCertificateRoles: readonly CertificateRule[];
  readonly corsOrigins: '*' | readonly string[];
  readonly readWaitMs: number;
  readonly shutdownGraceMs: number;
  readonly grpcGzipBytes: number | 'off';
  readonly httpGzipBytes: number | 'off';
  /** `auto`: a share of the memory (memory-limit.ts), as of the next two, and of the write buffer. */
  readonly requestMemoryBytes: number | 'auto';
  readonly unsentMemoryBytes: number | 'auto';
  readonly replicationMemoryBytes: number | 'auto';
  readonly walSegmentBytes: number;
  readonly storeCacheBytes: number;
  readonly storeWriteBufferBytes: number | 'auto';
  readonly storeMappedBytes: number;
  /** `auto`: a share of the disk, see docs/configuration.md. */
  readonly diskSoftBytes: number | 'auto';
  readonly diskHardBytes: number | 'auto';
  /** Empty: none. */
  readonly databaseBytesMax: readonly DatabaseQuota[];
  /** `auto`: one for each processor. */
  readonly guestExecutors: number | 'auto';
  readonly guestMemoryBytes: number;
  readonly guestFuel: number;
  readonly guestCpuMs: number;
  readonly guestWallMs: number;
  readonly guestCacheBytes: number;
  /** 0: none. */
  readonly maintenanceFolds: number;
  readonly maintenanceScheduleMs: number;
}

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

export const SETTINGS: { readonly [K in keyof Config]: Setting<Config[K]> } = {
  dataDir: {
    type: plainText('a directory', 4096),
    default: './data',
    help: 'Where the node keeps everything; made when it is missing. One process at a time.',
  },
  host: {
    type: host,
    default: '127.0.0.1',
    help: 'The address that all servers listen on; 0.0.0.0 in a container.',
  },
  grpcPort: { type: port, default: 50_051, help: 'The gRPC API.' },
  httpPort: { type: port, default: 3000, help: 'The HTTP API.' },
  mcpPort: {
    type: wordOr('off', port),
    default: 3001,
    help: 'The MCP endpoint, for agents. off: there is none.',
  },
  metricsPort: {
    type: wordOr('off', port),
    default: 9464,
    help: 'The endpoint that Prometheus scrapes, at /metrics, and that a kubelet probes (docs/operations/probes.md). off: there is none.',
  },
  metricsHost: {
    type: wordOr('auto', host),
    default: 'auto',
    help: 'The address that metrics-port listens on. auto: the host of the other servers.',
  },
  peerPort: {
    type: wordOr('off', port),
    default: 'off',
    help: 'What other nodes of the cluster dial, usually 50052. off: the node is alone, and nobody can join it.',
  },
  peerHost: {
    type: wordOr('auto', host),
    default: 'auto',
    help: 'The address that peer-port listens on. auto: the host of the other servers.',
  },
  advertiseHost: {
    type: wordOr('auto', host),
    default: 'auto',
    help: 'Where other nodes and clients find this node; in Kubernetes the DNS name of the pod. auto: the host, or the name of this machine if that means all of its addresses.',
  },
  advertiseOutside: {
    type: outsideRules,
    default: [],
    help: 'Where clients from outside find the gRPC port of each node, the same on all nodes: *.DOMAIN:PORT, where the name of a node stands for the *, or NODE=HOST:PORT for each, separated by commas. A client that connected to one of these hosts, or to another name of that domain, receives the outside address of the leader (x-leader-address). Every other client receives the address by advertise-host. none: nodes have no outside addresses.',
  },
  bootstrap: {
    type: oneOf(['never', 'alone']),
    default: 'never',
    help: 'Whether a node with an empty data directory may found a cluster. never: it joins the one of join, and does not start without. alone: it founds one of this node alone; with join only when all nodes that are named there, itself among them, are empty, too, and were started with the same join: then exactly one of them founds, and the others join it (docs/operations/cluster.md). A node that belongs to a cluster stays in it.',
  },
  join: {
    type: addresses,
    default: [],
    help: 'Peer addresses of nodes of a cluster, by which a node with an empty data directory joins it. As long as none of them takes it in, it waits, and is not ready. A node that belongs to a cluster stays in it, whatever these answer.',
  },
  joinWaitMs: {
    type: wordOr('off', wholeNumber({ min: 0, max: 3_600_000, unit: 'milliseconds' })),
    default: 'off',
    help: 'How long a new node asks for a cluster to take it in before it ends with exit code 1. Starting it again is safe. off: until one does.',
  },
  zone: {
    type: oneWord('a name', 63),
    default: 'default',
    help: 'What this node may fail together with, such as a zone or a rack. Copies of a database go to different zones.',
  },
  copies: {
    type: wholeNumber({ min: 1, max: 7, unit: 'copies' }),
    default: 3,
    help: 'How many nodes hold each database, if there are so many; as long as there are fewer, an odd number of them. With 3 it stays available when one of them fails, with 5 when two do. More nodes than before get copies of databases that are there already; a lower number takes none away. The setting of the node that leads the catalog counts.',
  },
  replaceAfterMs: {
    type: wordOr('off', wholeNumber({ min: 10_000, max: 604_800_000, unit: 'milliseconds' })),
    default: 600_000,
    help: 'How long nothing may be heard of a node before its copies are made anew on another one that is free. off: never. The setting of the node that leads the catalog counts.',
  },
  nodeName: {
    type: oneWord('a name', 63),
    default: 'node-1',
    help: 'What this node is called towards clients and in logs.',
  },
  logLevel: {
    type: oneOf(LOG_LEVELS),
    default: 'info',
    help: 'The least severe lines that are logged, to stderr. silent: only why the node cannot start, or must end.',
  },
  otlpEndpoint: {
    type: wordOr('off', baseUrl),
    default: 'off',
    help: 'Where spans of traces are sent, by OTLP over HTTP: the base URL of a collector, such as http://127.0.0.1:4318 (docs/operations/tracing.md). off: nothing is traced.',
  },
  traceSampleRatio: {
    type: share,
    default: 1,
    help: 'The share of the traces begun here that is kept, such as 0.01. A request that comes with a trace is kept when that is. Of use only with otlp-endpoint.',
  },
  auth: {
    type: oneOf(['off', 'on']),
    default: 'off',
    help: 'on: every request needs a credential, and does what the roles of its principal allow (docs/security.md). off: everybody who reaches a port may do everything.',
  },
  authBootstrapKeyFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'A file with one line, the key of an administrator by which the others are issued; on every node the same. Read at the start.',
  },
  authBasic: {
    type: oneOf(['auto', 'off', 'on']),
    default: 'auto',
    help: 'Whether people sign in with a browser over HTTP: it asks for a name, which is free, and a password, which is an API key. auto: where the port speaks TLS or listens on loopback alone. on: also elsewhere, as behind a proxy that speaks TLS. off: nowhere.',
  },
  auditLog: {
    type: wordOr('log', wordOr('off', plainText('a file', 4096))),
    default: 'log',
    help: 'Where acts of administration are noted (docs/security.md). log: as lines `audit` of the log, at the level info. A file: a line of JSON for each is appended. off: nowhere.',
  },
  rateLimitPerSecond: {
    type: wordOr('off', wholeNumber({ min: 1, max: 1_000_000, unit: 'requests' })),
    default: 'off',
    help: 'How many requests a client may make at this node in a second, over HTTP, gRPC and MCP together; beyond it they are refused (docs/security.md). A client is a principal, or without authentication an address. off: as many as it likes.',
  },
  rateLimitBurst: {
    type: wordOr('auto', wholeNumber({ min: 1, max: 1_000_000, unit: 'requests' })),
    default: 'auto',
    help: 'How many of them it may make at once, when it has made none for a while. auto: as many as in a second.',
  },
  tlsCertFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The certificate of this node in PEM, and behind it those that lead to its authority: the ports of gRPC, HTTP, MCP and metrics then speak TLS 1.2 and 1.3. A file that is replaced is used within seconds. none: they speak no TLS.',
  },
  tlsKeyFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The private key of that certificate in PEM, without a passphrase.',
  },
  tlsCaFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The authorities, in PEM, whose certificates this node takes from other nodes when it asks them for clients. none: those that Node comes with.',
  },
  tlsClientCaFile: {
    type: wordOr('none', plainText('a file', 4096)),
    default: 'none',
    help: 'The authorities, in PEM, by whose certificates clients of gRPC are let in, and identified with auth on. none: clients are not asked for any.',
  },
  tlsClientAuth: {
    type: oneOf(['request', 'require']),
    default: 'require',
    help: 'With tls-client-ca-file. require: gRPC is closed to whoever shows no certificate. request: a client may show none, and one that it shows must be valid.',
  },
  authCertificateRoles: {
    type: certificateRoles,
    default: [],
    help: 'What clients of gRPC may do by the certificates that they show: a name in the certificate, as CN=, DNS= or URI=, and roles as in docs/security.md. A certificate with several of these names has the roles of all of them. A valid certificate with none of them has no role and may do nothing.',
  },
  ...PEER_TLS_SETTINGS,
  ...TOKEN_SETTINGS,
  corsOrigins: {
    type: origins,
    default: '*',
    help: 'The origins whose pages may call the HTTP API, separated by commas; MCP takes those that are named.',
  },
  readWaitMs: {
    type: wholeNumber({ min: 0, max: 60_000, unit: 'milliseconds' }),
    default: 250,
    help: 'How long a read waits for a revision that this node has not applied yet.',
  },
  shutdownGraceMs: {
    type: wholeNumber({ min: 0, max: 600_000, unit: 'milliseconds' }),
    default: 10_000,
    help: 'How long a node may take after SIGTERM to hand over what it leads and to finish the requests in flight. It ends at most 15 s later, whatever stands still.',
  },
  grpcGzipBytes: {
    type: wordOr('off', byteSize({ min: KIB, max: GIB })),
    default: 'off',
    help: 'Messages of gRPC replies from this size on are compressed with gzip for clients that accept it, such as 4KiB. off: none. Worth it where the network is slower than a processor compresses, some 50 MB/s.',
  },
  httpGzipBytes: {
    type: wordOr('off', byteSize({ min: KIB, max: GIB })),
    default: 'off',
    help: 'The same of answers over HTTP in JSON, HTML and TOON, for clients that accept it. off: none, as where a proxy does it.',
  },
  requestMemoryBytes: {
    type: wordOr('auto', byteSize({ min: 16 * MIB, max: 64 * GIB })),
    default: 'auto',
    help: 'What requests of all clients may hold while they arrive and are worked on; beyond it they are refused as busy. As much again is for streams of gRPC that stand open, at 16 KiB each. auto: an eighth of the memory that the process may use, 16 MiB to 128 MiB.',
  },
  unsentMemoryBytes: {
    type: wordOr('auto', byteSize({ min: 32 * MIB, max: 64 * GIB })),
    default: 'auto',
    help: 'What replies of all clients may hold until they have been read, and a quarter more for small ones. Beyond it reads go on in small slices, of which each stream may have one more, and what is large waits; clients that have not taken a reply or a slice of a stream for 10 s while others wait are cut off. auto: an eighth of the memory, 32 MiB to 128 MiB.',
  },
  replicationMemoryBytes: {
    type: wordOr('auto', byteSize({ min: 32 * MIB, max: 64 * GIB })),
    default: 'auto',
    help: 'Memory for entries and requests of all databases until they are committed, applied and acknowledged by all replicas. Entries that only replicas still lack are evicted when writes need the memory. When it is exhausted, the node refuses writes (RESOURCE_EXHAUSTED) to a database that uses as much as is still free; a busy database thus gets at most half. When log and store lag by a quarter of it, the node stops reading from other nodes until both have caught up. auto: an eighth of the memory, 32 MiB to 1 GiB.',
  },
  walSegmentBytes: {
    // The log asks for an even number of sectors.
    type: byteSize({ min: 4 * MIB, max: GIB, step: KIB }),
    default: 64 * MIB,
    help: 'The size of one segment of the write-ahead log; two more are kept ready.',
  },
  storeCacheBytes: {
    type: byteSize({ min: MIB, max: 64 * GIB }),
    default: 8 * MIB,
    help: 'The block cache of the store. LevelDB fills it only from tables that are open beyond the first 1,000: it stays empty, unless store-mapped-bytes lets more than that be open (by default 64 are).',
  },
  storeWriteBufferBytes: {
    type: wordOr('auto', byteSize({ min: MIB, max: GIB })),
    default: 'auto',
    help: 'What the store gathers in memory before it writes a sorted table; up to twice this is held. auto: a thirty-second of the memory, 4 MiB to 32 MiB.',
  },
  storeMappedBytes: {
    type: byteSize({ min: 64 * MIB, max: 256 * GIB }),
    default: 64 * MIB,
    help: 'About how much of the store is mapped into memory at a time. More makes tables larger, up to 8 MiB, and random reads of a large store cheaper, and shows as resident memory.',
  },
  diskSoftBytes: {
    type: wordOr('auto', byteSize({ min: 0, max: 1024 * GIB })),
    default: 'auto',
    help: 'Free disk space below which transactions are refused; reads go on, and databases can be deleted and keys revoked. auto: by the sizes of the disk, of log segments and of the write buffer.',
  },
  diskHardBytes: {
    type: wordOr('auto', byteSize({ min: 0, max: 1024 * GIB })),
    default: 'auto',
    help: 'Free disk space below which nothing is appended; at most disk-soft-bytes. auto: two segments of the log.',
  },
  databaseBytesMax: {
    type: databaseQuotas,
    default: [],
    help: 'What a database may take of the disk of a node: one size for all, and others by name or pattern. The name counts first, then the longest pattern. Writes to one that takes more are refused; reads go on, and it can be deleted. It is measured every 2 s, without what is still in the write buffer. The same on every node. off: as much as there is.',
  },
  guestExecutors: {
    type: wordOr('auto', wholeNumber({ min: 1, max: 64, unit: 'processes' })),
    default: 'auto',
    help: 'How many processes may run components at a time: so many for State Views, as many for State Changes and for presenters, each begun when it is first needed. auto: one for each processor, as far as there are 128 MiB of memory for each beyond 256 MiB.',
  },
  guestMemoryBytes: {
    type: byteSize({ min: MIB, max: 256 * MIB }),
    default: 128 * MIB,
    help: 'The memory that a component may have: of all of its modules together. With less than the default one in TypeScript may not be able to fold every event.',
  },
  guestFuel: {
    type: wholeNumber({ min: 1_000_000, max: 999_999_999_999_999, unit: 'units' }),
    default: 50_000_000_000,
    help: 'What a component may spend in one call, in units of about one instruction. A presenter has four times as much for a whole presentation.',
  },
  guestCpuMs: {
    type: wholeNumber({ min: 10, max: 600_000, unit: 'milliseconds' }),
    default: 5_000,
    help: 'The processor time that a component may take in one call, and a presenter from one write to the next; beyond it its process is ended.',
  },
  guestWallMs: {
    type: wholeNumber({ min: 10, max: 600_000, unit: 'milliseconds' }),
    default: 10_000,
    help: 'The time that one call of a component may take, with all that it waits for.',
  },
  guestCacheBytes: {
    type: byteSize({ min: 0, max: 1024 * GIB }),
    default: 512 * MIB,
    help: 'What may be kept in the data directory of what follows from the databases and can be made again: half for components as they are run, half for folded states. Nothing is added while the disk is below disk-soft-bytes.',
  },
  maintenanceFolds: {
    type: wholeNumber({ min: 0, max: 64, unit: 'State Views' }),
    default: 2,
    help: 'How many State Views of the modes Eager and Scheduled this node folds in the background at the same time. Views of high priority come first; folds for readers come before all of them. 0: none; views are folded when they are read.',
  },
  maintenanceScheduleMs: {
    type: wholeNumber({ min: 1_000, max: 604_800_000, unit: 'milliseconds' }),
    default: 60_000,
    help: 'How often this node brings a State View of the mode Scheduled up to date.',
  },
};

/** Builds a config by asking `read` for every setting. */
export function buildConfig(read: <T>(key: string, setting: Setting<T>) => T): Config {
  const values: { -readonly [K in keyof Config]?: Config[K] } = {};
  const add = <K extends keyof Config>(key: K, setting: (typeof SETTINGS)[K]): void => {
    values[key] = read(key, setting);
  };
  for (const key of keysOf(SETTINGS)) add(key, SETTINGS[key]);
  assert(isComplete(values), 'Every setting has a value');
  return values;
}

function keysOf<Table extends object>(table: Table): readonly Extract<keyof Table, string>[] {
  const keys: Extract<keyof Table, string>[] = [];
  for (const key in table) keys.push(key);
  return keys;
}

function isComplete(values: Partial<Config>): values is Config {
  return keysOf(SETTINGS).every((key) => key in values);
}

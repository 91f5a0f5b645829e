// Goal: a node runs with exactly the settings that were meant, or not at all (N1).
// Method: tables of command lines and environments.
import { expect, test } from 'vitest';
import { defaultHardBytes, SEGMENT_BYTES_DEFAULT } from '#storage';
import { readInvocation } from '../../../../src/main/settings/config.ts';

type Environment = Readonly<Record<string, string>>;

function configOf(line: string, environment: Environment = {}): unknown {
  const read = readInvocation(line.split(' ').filter(Boolean), environment);
  return read.kind === 'ok' && read.value.kind === 'run' ? read.value.config : read;
}

function faultsOf(line: string, environment: Environment = {}): readonly string[] {
  const read = readInvocation(line.split(' ').filter(Boolean), environment);
  return read.kind === 'failure' ? read.reason : [];
}

const FOLLOWS = defaultHardBytes(SEGMENT_BYTES_DEFAULT);
const TLS = '--tls-cert-file=c --tls-key-file=k --tls-client-ca-file=a --auth=on';
const PEER_TLS = '--peer-port=0 --peer-tls-cert-file=c --peer-tls-key-file=k --peer-tls-ca-file=a';

test.each<[string, Environment, object]>([
  // A flag wins over a variable, and a variable over the default.
  [
    '--grpc-port 0 --data-dir=/d',
    { CAIRN_GRPC_PORT: '1', CAIRN_HTTP_PORT: '2', HOME: '/x' },
    { grpcPort: 0, httpPort: 2, metricsPort: 9464, dataDir: '/d' },
  ],
  ['--disk-soft-bytes=2GiB', {}, { diskSoftBytes: 2 ** 31, diskHardBytes: 'auto' }],
  ['', {}, { join: [], peerPort: 'off' }],
  // Kubernetes fills a variable from a label, and leaves it empty where a pod has none.
  ['', { CAIRN_ZONE: '' }, { zone: 'default' }],
  ['--database-bytes-max=1GiB', {}, { databaseBytesMax: [{ pattern: '*', bytes: 2 ** 30 }] }],
  [
    '--database-bytes-max=*=10MiB,shop=2GiB,acme-*=1MiB',
    {},
    {
      databaseBytesMax: [
        { pattern: '*', bytes: 10 * 2 ** 20 },
        { pattern: 'shop', bytes: 2 ** 31 },
        { pattern: 'acme-*', bytes: 2 ** 20 },
      ],
    },
  ],
  ['--join=none', {}, { join: [] }],
  [
    '--peer-port=50052 --join=cairn-0.cairn:50052,[::1]:7',
    {},
    {
      join: [
        { host: 'cairn-0.cairn', port: 50_052 },
        { host: '::1', port: 7 },
      ],
    },
  ],
  [
    '--cors-origins=https://shop.example:8443,http://localhost:3000',
    {},
    { corsOrigins: ['https://shop.example:8443', 'http://localhost:3000'] },
  ],
  ['--cors-origins=*', {}, { corsOrigins: '*' }],
  // The soft level of the disk may be as low as the hard one that follows from the log.
  [`--disk-soft-bytes=${FOLLOWS}`, {}, { diskSoftBytes: FOLLOWS, diskHardBytes: 'auto' }],
  ['--disk-soft-bytes=1000000000000 --disk-hard-bytes 0', {}, { diskSoftBytes: 1e12, diskHardBytes: 0 }],
  ['--disk-soft-bytes=1099511627776', {}, { diskSoftBytes: 2 ** 40 }],
  // Free ports, and one port on two hosts, are for every server.
  ['--grpc-port=0 --http-port=0 --metrics-port=0 --peer-port=0', {}, { grpcPort: 0, peerPort: 0 }],
  ['--host=10.0.0.1 --peer-host=10.0.0.2 --peer-port=3000', {}, { httpPort: 3000, peerPort: 3000 }],
  [PEER_TLS, {}, { peerTls: 'require' }],
  [`${PEER_TLS} --peer-tls=prefer`, {}, { peerTls: 'prefer' }],
  ['--auth=on --peer-port=0 --peer-secret-file=s', {}, { peerSecretFile: 's' }],
  ['--auth=on --peer-port=0 --peer-tls=off', {}, { peerTls: 'off' }],
  [
    `${TLS} --auth-certificate-roles=CN=ops=admin;URI=spiffe://shop/api?a=b=reader:shop-*,writer:shop`,
    {},
    {
      authCertificateRoles: [
        { name: 'CN=ops', grants: [{ role: 'admin', databases: '*' }] },
        {
          name: 'URI=spiffe://shop/api?a=b',
          grants: [
            { role: 'reader', databases: 'shop-*' },
            { role: 'writer', databases: 'shop' },
          ],
        },
      ],
    },
  ],
  // Kubernetes adds these for a Service named cairn.
  [
    '',
    { CAIRN_SERVICE_HOST: '10.0.0.1', CAIRN_PORT: 'tcp://10.0.0.1:50051', CAIRN_HTTP_PORT: 'tcp://10.0.0.1:3000' },
    { httpPort: 3000, grpcPort: 50_051 },
  ],
])('%j with %j is taken', (line, environment, config) => {
  expect(configOf(line, environment)).toMatchObject(config);
});

test.each(['help', 'version'])('--%s asks for itself', (kind) => {
  expect(readInvocation([`--${kind}`], {})).toEqual({ kind: 'ok', value: { kind } });
});

const arnIn = (region: string): string => `arn:aws:elasticloadbalancing:${region}:1:loadbalancer/app/shop/1`;
const SIGNED = '--signed-header-issuer=i --signed-header-keys=/k';

test.each([
  ['--grpc-prt=1', '--grpc-prt is not a setting; did you mean --grpc-port?'],
  ['--zzzzzzzzz=1', '--zzzzzzzzz is not a setting; --help lists all settings.'],
  ['--host', '--host has no value; write --host VALUE.'],
  ['--host=a --host=b', '--host is given twice; which one is meant?'],
  ['serve', '"serve" is neither a flag nor a command; settings are given as --name value, and commands are cluster,'],
  ['--http-port 65536', '--http-port is "65536"; it must be a port, 0 to 65535 (0: a free one).'],
  ['--http-port=-1', '--http-port is "-1"; it must be a port, 0 to 65535 (0: a free one).'],
  ['--http-port=03000', 'it must be a port, 0 to 65535 (0: a free one), without a leading zero.'],
  ['--peer-port=07', 'off, or a port, 0 to 65535 (0: a free one), without a leading zero.'],
  ['--read-wait-ms=00', 'milliseconds, 0 to 60000, without a leading zero.'],
  ['--data-dir=', '--data-dir is ""; it must be a directory, 1 to 4096 characters.'],
  ['--wal-segment-bytes 1KiB', '--wal-segment-bytes is "1KiB"; it must be a size from 4MiB to 1GiB'],
  ['--wal-segment-bytes 5000000', 'must be a size from 4MiB to 1GiB that is a multiple of 1KiB, in bytes or with'],
  ['--wal-segment-bytes=08MiB', 'in bytes or with KiB, MiB or GiB, without a leading zero.'],
  ['--wal-segment-bytes=0x8MiB', 'in bytes or with KiB, MiB or GiB.'],
  ['--disk-soft-bytes=1099511627777', 'from 0 to 1024GiB'],
  ...['shop', 'Shop!=1GiB', 'Shop-*=1GiB', '1KiB', '1GiB,*=2GiB', 'shop=1GiB,'].map((text): [string, string] => [
    `--database-bytes-max=${text}`,
    'it must be off, or sizes from 1MiB to 1024GiB',
  ]),
  ['--disk-soft-bytes=lots', 'it must be auto, or a size from 0'],
  ['--disk-hard-bytes=2GiB --disk-soft-bytes=1GiB', '--disk-hard-bytes (2GiB) is above --disk-soft-bytes (1GiB);'],
  [
    '--disk-soft-bytes=10MiB',
    'is below --disk-hard-bytes, which is auto: two segments of the log, 128MiB. Raise --disk',
  ],
  [`--disk-soft-bytes=${FOLLOWS - 1}`, 'is below --disk-hard-bytes, which is auto'],
  ['--disk-soft-bytes=128MiB --wal-segment-bytes=65537KiB', 'two segments of the log, 131074KiB.'],
  ['--zone=', 'a name without spaces'],
  ['--host=300.1.2.3', 'an IP address or a host name'],
  ['--cors-origins=ftp:/x,,', 'origins such as https://shop.example:8443'],
  ['--cors-origins=https://shop.example/path', 'origins such as'],
  ['--cors-origins=https://shop.example,', 'origins such as'],
  ['--cors-origins=*,https://shop.example', 'origins such as'],
  ['--peer-port=on', 'off, or a port'],
  [
    '--peer-host=10.0.0.2',
    '--peer-host is set, but --peer-port is off; it has no effect without connections between nodes',
  ],
  ['--join=cairn-0', '--join is "cairn-0"; it must be none, or addresses host:port separated by commas.'],
  ['--metrics-host=a --metrics-port=off', '--metrics-host is set, but --metrics-port is off; nothing listens there'],
  ['--join=cairn-0:7', '--join is set, but --peer-port is off;'],
  [
    '--auth=on --peer-port=0',
    '--auth is on, but every client that reaches --peer-port has all rights of a node: set --peer-secret-file',
  ],
  ['--peer-port=0 --peer-secret-file=s --peer-tls=off', '--peer-tls is off, but --peer-secret-file is set'],
  ['--peer-secret-file=s', '--peer-secret-file is set, but --peer-port is off'],
  [`${PEER_TLS} --peer-secret-file=s`, '--peer-tls-cert-file and --peer-secret-file are both set'],
  ['--http-port=7 --grpc-port=7', '--grpc-port and --http-port are both 7; every server'],
  ['--grpc-port=3000', '--grpc-port and --http-port are both 3000'],
  ['--host=0.0.0.0 --peer-host=10.0.0.1 --peer-port=3000', '--http-port and --peer-port are both 3000'],
  ['--host=10.0.0.1 --peer-host=:: --peer-port=3000', '--http-port and --peer-port are both 3000'],
  // Nothing is said of two settings of which one is malformed.
  ['--grpc-port=3000 --http-port=x', '--http-port is "x"'],
  ['--join=a:1 --peer-port=x', '--peer-port is "x"'],
  ['--learner=true --bootstrap=alone', '--learner is true, but --bootstrap is alone; a learner joins a cluster'],
  ['--auth-bootstrap-key-file=/k', '--auth-bootstrap-key-file is set, but --auth is off'],
  ['--auth-basic=on', '--auth-basic is set, but --auth is off'],
  ['--oidc-issuer=https://i.example --oidc-audience=a', '--oidc-issuer is set, but --auth is off'],
  ['--auth=on --oidc-issuer=https://i.example', '--oidc-issuer is set, but --oidc-audience is none'],
  ['--auth=on --mcp-url=https://m.example', '--mcp-url is set, but --oidc-issuer is none'],
  ['--auth=on --mcp-url=https://m.example/?a', 'must be auto, or a URL without a query'],
  ['--auth=on --oidc-audience=a', '--oidc-audience is set, but --oidc-issuer is none'],
  ['--auth=on --oidc-issuer=ftp://i.example --oidc-audience=a', 'must be none, or a URL'],
  ['--auth=on --oidc-issuer=https://a:b@i.example --oidc-audience=a', 'must be none, or a URL'],
  ['--auth=on --oidc-issuer=https://i.example --oidc-audience=a,,b', 'must be none, or names'],
  [`--alb-signer=${arnIn('eu-west-1')}`, '--alb-signer is set, but --auth is off'],
  ['--auth=on --alb-signer=shop', '--alb-keys-url is region, but --alb-signer does not name load'],
  [`--auth=on --alb-signer=${arnIn('eu-west-1')},${arnIn('eu-west-2')}`, '--alb-keys-url is region'],
  [`--auth=on --alb-signer=${arnIn('a.b/c')}`, '--alb-keys-url is region'],
  [`--signed-header=X-Who ${SIGNED} --signed-header-audience=a`, '--signed-header is set, but --auth is off'],
  [`--auth=on --signed-header=X-Who ${SIGNED} --signed-header-audience=none`, '-audience is none; tokens cannot'],
  [`--auth=on --signed-header=Authorization ${SIGNED}`, '--signed-header is "Authorization"'],
  ['--signed-header-keys=https://a:b@c', '--signed-header-keys is "https'],
  ['--tls-cert-file=c', '--tls-cert-file is set, but --tls-key-file is none'],
  ['--tls-key-file=k', '--tls-key-file is set, but --tls-cert-file is none'],
  ['--tls-client-ca-file=a', '--tls-client-ca-file is set, but --tls-cert-file is none'],
  [
    '--tls-cert-file=c --tls-key-file=k --tls-client-ca-file=a --auth-certificate-roles=CN=ops=admin',
    'but --auth is off',
  ],
  ['--auth=on --auth-certificate-roles=CN=ops=admin', '--auth-certificate-roles is set, but --tls-client-ca'],
  ['--auth-certificate-roles=ops=admin', 'must be none, or rules such as'],
  ['--auth-certificate-roles=CN=ops=root', 'must be none, or rules such as'],
  [
    '--peer-port=0 --peer-tls-cert-file=c',
    'set, but --peer-tls-key-file and --peer-tls-ca-file are none; peers need all',
  ],
  ['--peer-tls-ca-file=a --peer-tls-key-file=k', 'but --peer-tls-cert-file is none; peers need all three.'],
  [PEER_TLS.replace('--peer-port=0 ', ''), '--peer-tls-cert-file is set, but --peer-port is off'],
  ['--peer-port=0 --peer-tls=prefer', '--peer-tls is prefer, but --peer-tls-cert-file is none'],
  ['--peer-tls=maybe', 'must be one of require, prefer'],
])('%s is refused: %s', (line, says) => {
  expect(faultsOf(line)).toEqual([expect.stringContaining(says)]);
});

test.each<[string, Environment, string]>([
  ['', { CAIRN_NOPE: 'x' }, 'there is no such setting; --help lists all settings.'],
  ['', { CAIRN_DATADIR: 'x' }, 'CAIRN_DATADIR is set, but there is no such setting; did you mean CAIRN_DATA_DIR?'],
  ['', { CAIRN_LOG_LEVEL: 'loud' }, 'CAIRN_LOG_LEVEL is "loud"; it must be one of debug, info, warn, error, silent.'],
  ['--http-port=0', { CAIRN_HTTP_PORT: 'abc' }, 'CAIRN_HTTP_PORT is "abc"; it must be a port, 0 to 65535'],
  ['--http-port=7', { CAIRN_METRICS_PORT: '7' }, '--http-port and CAIRN_METRICS_PORT are'],
  ['--disk-soft-bytes=1048576', { CAIRN_DISK_HARD_BYTES: '2097153' }, 'is above --disk-soft-bytes (1MiB);'],
])('%s is refused with %j: %s', (line, environment, says) => {
  expect(faultsOf(line, environment)).toEqual([expect.stringContaining(says)]);
});

test('all faults are reported together', () => {
  expect(faultsOf('--grpc-port=x --http-port=y', { CAIRN_NOTHING: '1' })).toHaveLength(3);
});

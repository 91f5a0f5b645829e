// Goal: a node runs with exactly the settings that were meant, or not at all (N1).
// Method: tables of command lines and environments.
import { expect, test } from 'vitest';
import { defaultHardBytes, SEGMENT_BYTES_DEFAULT } from '#storage';
import { readInvocation } from '../../../src/main/config.ts';

function configOf(args: readonly string[], environment: Record<string, string> = {}): unknown {
  const read = readInvocation(args, environment);
  return read.kind === 'ok' && read.value.kind === 'run' ? read.value.config : read;
}

function faultsOf(args: readonly string[], environment: Record<string, string> = {}): readonly string[] {
  const read = readInvocation(args, environment);
  return read.kind === 'failure' ? read.reason : [];
}

test('a flag wins over a variable, and a variable over the default', () => {
  const environment = { CAIRN_GRPC_PORT: '1', CAIRN_HTTP_PORT: '2', HOME: '/x' };
  expect(configOf(['--grpc-port', '0', '--data-dir=/d'], environment)).toMatchObject({
    grpcPort: 0,
    httpPort: 2,
    metricsPort: 9464,
    dataDir: '/d',
  });
});

test('what follows from the size of the disk is left to it unless it is set', () => {
  expect(configOf(['--disk-soft-bytes=2GiB'])).toMatchObject({ diskSoftBytes: 2 ** 31, ballastBytes: 'auto' });
  expect(faultsOf(['--ballast-bytes=lots'])).toEqual([expect.stringContaining('it must be auto, or a size from 0')]);
});

test('addresses of other nodes are a list, and nothing else', () => {
  expect(configOf([])).toMatchObject({ join: [], peerPort: 'off' });
  expect(configOf(['--join=none'])).toMatchObject({ join: [] });
  expect(configOf(['--peer-port=50052', '--join=cairn-0.cairn:50052, [::1]:7'])).toMatchObject({
    join: [
      { host: 'cairn-0.cairn', port: 50_052 },
      { host: '::1', port: 7 },
    ],
  });
  expect(faultsOf(['--join=cairn-0'])).toEqual([
    '--join is "cairn-0"; it must be none, or addresses host:port separated by commas.',
  ]);
  expect(faultsOf(['--join=cairn-0:7'])).toEqual([
    expect.stringMatching(/^--join is set, but --peer-port is off; .* give it a port, usually 50052\.$/),
  ]);
});

test.each([
  ['--zone=a b', 'a name without spaces'],
  ['--node-name= ', 'a name without spaces'],
  ['--advertise-host=a b', 'auto, or an IP address or a host name'],
  ['--peer-host=a b', 'auto, or an IP address or a host name'],
  ['--host=300.1.2.3', 'an IP address or a host name'],
  ['--cors-origins=ftp:/x,,', 'origins such as https://shop.example:8443'],
  ['--cors-origins=https://shop.example/path', 'origins such as'],
  ['--cors-origins=https://shop.example,', 'origins such as'],
  ['--cors-origins=https://shop.example, ,http://localhost', 'origins such as'],
  ['--cors-origins=*,https://shop.example', 'origins such as'],
  ['--cors-origins= ', 'origins such as'],
  ['--peer-port=on', 'off, or a port'],
])('%s is refused', (flag, expected) => {
  expect(faultsOf([flag])).toEqual([expect.stringContaining(expected)]);
});

test.each([
  [
    '--http-port=03000',
    '--http-port is "03000"; it must be a port, 0 to 65535 (0: a free one), without a leading zero.',
  ],
  ['--peer-port=07', 'off, or a port, 0 to 65535 (0: a free one), without a leading zero.'],
  ['--read-wait-ms=00', 'milliseconds, 0 to 60000, without a leading zero.'],
  ['--wal-segment-bytes=08MiB', 'in bytes or with KiB, MiB or GiB, without a leading zero.'],
  ['--wal-segment-bytes=0x8MiB', 'in bytes or with KiB, MiB or GiB.'],
])('a number has no leading zero: %s', (flag, expected) => {
  expect(faultsOf([flag])).toEqual([expect.stringContaining(expected)]);
});

test('origins are what browsers send', () => {
  const corsOrigins = ['https://shop.example:8443', 'http://localhost:3000'];
  expect(configOf([`--cors-origins=${corsOrigins.join(', ')} `])).toMatchObject({ corsOrigins });
  expect(configOf(['--cors-origins=*'])).toMatchObject({ corsOrigins: '*' });
});

test.each([
  [['--help'], 'help'],
  [['--version'], 'version'],
])('%s asks for itself', (args, kind) => {
  expect(readInvocation(args, {})).toEqual({ kind: 'ok', value: { kind } });
});

test.each<[string, readonly string[], Record<string, string>, string]>([
  ['an unknown flag', ['--grpc-prt=1'], {}, '--grpc-prt is not a setting; did you mean --grpc-port?'],
  ['a flag like none', ['--zzzzzzzzz=1'], {}, '--zzzzzzzzz is not a setting; --help lists all settings.'],
  ['a short flag like none', ['--nope=1'], {}, '--nope is not a setting; --help lists all settings.'],
  ['a short flag', ['--hst=1'], {}, '--hst is not a setting; did you mean --host?'],
  ['a variable like none', [], { CAIRN_NOPE: 'x' }, 'there is no such setting; --help lists all settings.'],
  ['a flag without value', ['--host'], {}, '--host has no value; write --host VALUE.'],
  ['a flag given twice', ['--host=a', '--host=b'], {}, '--host is given twice; which one is meant?'],
  [
    'a stray word',
    ['serve'],
    {},
    '"serve" is neither a flag nor a command; settings are given as --name value, and commands are cluster, auth and recover.',
  ],
  [
    'a malformed port',
    ['--http-port', '65536'],
    {},
    '--http-port is "65536"; it must be a port, 0 to 65535 (0: a free one).',
  ],
  ['a negative port', ['--http-port=-1'], {}, '--http-port is "-1"; it must be a port, 0 to 65535 (0: a free one).'],
  ['an empty directory', ['--data-dir='], {}, '--data-dir is ""; it must be a directory, 1 to 4096 characters.'],
  [
    'a size below its bound',
    ['--wal-segment-bytes', '1KiB'],
    {},
    '--wal-segment-bytes is "1KiB"; it must be a size from 4MiB to 1GiB',
  ],
  [
    'an unknown level',
    [],
    { CAIRN_LOG_LEVEL: 'loud' },
    'CAIRN_LOG_LEVEL is "loud"; it must be one of debug, info, warn, error, silent.',
  ],
  [
    'an unknown variable',
    [],
    { CAIRN_DATADIR: 'x' },
    'CAIRN_DATADIR is set, but there is no such setting; did you mean CAIRN_DATA_DIR?',
  ],
  [
    'levels that cross',
    ['--disk-hard-bytes=2GiB', '--disk-soft-bytes=1GiB'],
    {},
    '--disk-hard-bytes (2GiB) is above --disk-soft-bytes (1GiB); it must be at most that.',
  ],
  [
    'a level of a variable that crosses one of a flag',
    ['--disk-soft-bytes=1048576'],
    { CAIRN_DISK_HARD_BYTES: '2097153' },
    'CAIRN_DISK_HARD_BYTES (2097153) is above --disk-soft-bytes (1MiB); it must be at most that.',
  ],
  [
    'a level that crosses the one which follows from the log',
    ['--disk-soft-bytes=10MiB'],
    {},
    '--disk-soft-bytes (10MiB) is below --disk-hard-bytes, which is auto: two segments of the log, 128MiB. ' +
      'It must be at least that, or --disk-hard-bytes be set.',
  ],
  [
    'a level that crosses the one which follows from the size of segments',
    ['--disk-soft-bytes=128MiB', '--wal-segment-bytes=65537KiB'],
    {},
    '--disk-soft-bytes (128MiB) is below --disk-hard-bytes, which is auto: two segments of the log, 131074KiB. ' +
      'It must be at least that, or --disk-hard-bytes be set.',
  ],
  [
    'an address for other nodes without a port for them',
    ['--peer-host=10.0.0.2'],
    {},
    '--peer-host is set, but --peer-port is off, so nothing listens there: give it a port, usually 50052.',
  ],
  [
    'a segment of half a sector',
    ['--wal-segment-bytes', '5000000'],
    {},
    '--wal-segment-bytes is "5000000"; it must be a size from 4MiB to 1GiB that is a multiple of 1KiB, in bytes or with',
  ],
  [
    'a malformed variable that a flag overrides',
    ['--http-port=0'],
    { CAIRN_HTTP_PORT: 'abc' },
    'CAIRN_HTTP_PORT is "abc"; it must be a port, 0 to 65535 (0: a free one).',
  ],
])('%s is refused with what would be right', (_what, args, environment, message) => {
  expect(faultsOf(args, environment)).toEqual([expect.stringContaining(message)]);
});

test.each<[string, readonly string[], Record<string, string>, string]>([
  ['two flags', ['--http-port=7', '--grpc-port=7'], {}, '--grpc-port and --http-port are both 7; every server'],
  ['a flag and a variable', ['--http-port=7'], { CAIRN_METRICS_PORT: '7' }, '--http-port and CAIRN_METRICS_PORT are'],
  ['a flag and a default', ['--grpc-port=3000'], {}, '--grpc-port and --http-port are both 3000'],
  ['other nodes, on the same host', ['--peer-port=3000'], {}, '--http-port and --peer-port are both 3000'],
  [
    'other nodes, on one of all addresses',
    ['--host=0.0.0.0', '--peer-host=10.0.0.1', '--peer-port=3000'],
    {},
    '--http-port and --peer-port are both 3000',
  ],
  [
    'clients, on any address of both kinds',
    ['--host=10.0.0.1', '--peer-host=::', '--peer-port=3000'],
    {},
    '--http-port and --peer-port are both 3000',
  ],
])('one port for two servers is refused: %s', (_what, args, environment, message) => {
  expect(faultsOf(args, environment)).toEqual([expect.stringContaining(message)]);
});

test('the soft level of the disk may be as low as the hard one that follows from the log, and no lower', () => {
  const follows = defaultHardBytes(SEGMENT_BYTES_DEFAULT);
  expect(configOf([`--disk-soft-bytes=${follows}`])).toMatchObject({ diskSoftBytes: follows, diskHardBytes: 'auto' });
  expect(faultsOf([`--disk-soft-bytes=${follows - 1}`])).toHaveLength(1);
});

test('free ports, and one port on two hosts, are for every server', () => {
  const free = ['--grpc-port=0', '--http-port=0', '--metrics-port=0', '--peer-port=0'];
  expect(configOf(free)).toMatchObject({ grpcPort: 0, peerPort: 0 });
  const apart = ['--host=10.0.0.1', '--peer-host=10.0.0.2', '--peer-port=3000'];
  expect(configOf(apart)).toMatchObject({ httpPort: 3000, peerPort: 3000 });
});

test('a size is taken up to its bound, however it is written', () => {
  const terabyte = ['--disk-soft-bytes=1000000000000', '--disk-hard-bytes', '0'];
  expect(configOf(terabyte)).toMatchObject({ diskSoftBytes: 1e12, diskHardBytes: 0 });
  expect(configOf(['--disk-soft-bytes=1099511627776'])).toMatchObject({ diskSoftBytes: 2 ** 40 });
  expect(faultsOf(['--disk-soft-bytes=1099511627777'])).toEqual([expect.stringContaining('from 0 to 1024GiB')]);
});

test('the variables that Kubernetes adds for a Service named cairn are not settings', () => {
  const links = {
    CAIRN_SERVICE_HOST: '10.0.0.1',
    CAIRN_SERVICE_PORT: '50051',
    CAIRN_SERVICE_PORT_GRPC: '50051',
    CAIRN_PORT: 'tcp://10.0.0.1:50051',
    CAIRN_PORT_50051_TCP: 'tcp://10.0.0.1:50051',
    CAIRN_PORT_50051_TCP_ADDR: '10.0.0.1',
    CAIRN_HTTP_PORT: 'tcp://10.0.0.1:3000',
  };
  expect(configOf([], links)).toMatchObject({ httpPort: 3000, grpcPort: 50_051 });
});

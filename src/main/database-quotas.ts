/** The setting `database-bytes-max`: disk quotas of databases. */
import type { DatabaseQuota } from '#cluster';
import { ALL_DATABASES, isDatabaseName, isPattern } from '#model';
import { byteSize, formatBytes, type SettingType } from './setting.ts';

const QUOTAS_MAX = 1_000;
const size = byteSize({ min: 2 ** 20, max: 1024 * 2 ** 30 });

/** One size for all databases, and sizes by name or pattern, separated by commas; or the word `off`. */
export const databaseQuotas: SettingType<readonly DatabaseQuota[]> = {
  expects: 'off, or sizes from 1MiB to 1024GiB such as 10GiB or *=10GiB,shop=100GiB,acme-*=1GiB',
  read: (text) => {
    if (text === 'off') return [];
    const quotas = text.split(',').map((each) => quotaOf(each.trim()));
    const known = quotas.filter((each) => each !== undefined);
    const isSound = known.length === quotas.length && known.length <= QUOTAS_MAX;
    return isSound && new Set(known.map(({ pattern }) => pattern)).size === known.length ? known : undefined;
  },
  write: (quotas) =>
    quotas.length === 0 ? 'off' : quotas.map(({ pattern, bytes }) => `${pattern}=${formatBytes(bytes)}`).join(','),
};

function quotaOf(text: string): DatabaseQuota | undefined {
  const [first = '', second] = text.split(/=(.*)/s);
  const [pattern, bytes] = second === undefined ? [ALL_DATABASES, size.read(first)] : [first, size.read(second)];
  if (bytes === undefined || !isOfNames(pattern)) return undefined;
  return { pattern, bytes };
}

function isOfNames(pattern: string): boolean {
  return pattern.includes(ALL_DATABASES) ? isPattern(pattern) : isDatabaseName(pattern);
}

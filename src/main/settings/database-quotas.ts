/** The setting `database-bytes-max`: disk quotas of databases. */
import type { DatabaseQuota } from '#cluster';
import { ALL_DATABASES, isDatabaseName, isPattern } from '#model';
import { byteSize, formatBytes, listOf, type SettingType } from './setting.ts';

const size = byteSize({ min: 2 ** 20, max: 1024 * 2 ** 30 });

/** One size for all databases, and sizes by name or pattern, separated by commas; or the word `off`. */
const quotas: SettingType<readonly DatabaseQuota[]> = listOf({
  expects: 'sizes from 1MiB to 1024GiB such as 10GiB or *=10GiB,shop=100GiB,acme-*=1GiB',
  max: 1_000,
  read: quotaOf,
  write: ({ pattern, bytes }) => `${pattern}=${formatBytes(bytes)}`,
  none: 'off',
});

export const databaseQuotas: SettingType<readonly DatabaseQuota[]> = {
  ...quotas,
  read: (text) => {
    const read = quotas.read(text);
    return new Set(read?.map(({ pattern }) => pattern)).size === read?.length ? read : undefined;
  },
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

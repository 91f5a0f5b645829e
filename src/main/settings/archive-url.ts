/** Where an archive is, as a setting or an option names it. */
import type { S3Place } from '#objects';
import type { SettingType } from './setting.ts';

export type ArchivePlace = { readonly directory: string } | { readonly s3: Omit<S3Place, 'isPathStyle'> };

/** Rules of S3 for names of buckets. */
const S3_URL = /^s3:\/\/([a-z\d][a-z\d.-]{1,61}[a-z\d])(?:\/([^?#]*))?$/;
const SCHEME = /^[a-z][a-z\d+.-]*:\/\//;

export const archiveUrl: SettingType<string> = {
  expects: 'file:///DIRECTORY or s3://BUCKET/PREFIX',
  read: (text) => (SCHEME.test(text) && archivePlace(text) !== undefined ? text : undefined),
  write: String,
};

/** A directory may also be given by its path. Undefined for another URL. */
export function archivePlace(text: string): ArchivePlace | undefined {
  if (!SCHEME.test(text)) return { directory: text };
  const [, bucket, path = ''] = S3_URL.exec(text) ?? [];
  if (bucket !== undefined) return { s3: { bucket, prefix: path.replace(/\/*$/, path === '' ? '' : '/') } };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isFile = url?.protocol === 'file:' && url.host === '' && url.search === '' && url.hash === '';
  return isFile ? { directory: decodeURIComponent(url.pathname) } : undefined;
}

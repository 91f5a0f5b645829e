/** The setting `auth-certificate-roles`: roles of clients by their certificates. */
import type { CertificateRule } from '#auth';
import { formatGrant, parseGrant } from '#model';
import { listOf, type SettingType } from './setting.ts';

const NAME = /^(?:CN|DNS|URI)=[^;]{1,1024}$/;

/** Rules separated by semicolons, or the word `none`. The roles follow the last equals sign. */
export const certificateRoles: SettingType<readonly CertificateRule[]> = listOf({
  expects: 'rules such as CN=ops=admin;URI=spiffe://shop/api=reader:shop,writer:shop',
  max: 1_000,
  read: ruleOf,
  write: formatRule,
  separator: ';',
});

function ruleOf(text: string): CertificateRule | undefined {
  const at = text.lastIndexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  const grants = text
    .slice(at + 1)
    .split(',')
    .map(parseGrant);
  const known = grants.filter((each) => each !== undefined);
  return NAME.test(name) && known.length === grants.length ? { name, grants: known } : undefined;
}

function formatRule({ name, grants }: CertificateRule): string {
  return `${name}=${grants.map(formatGrant).join(',')}`;
}

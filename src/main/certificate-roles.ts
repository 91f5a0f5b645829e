/** The setting `auth-certificate-roles`: roles of clients by their certificates. */
import type { CertificateRule } from '#auth';
import { formatGrant, parseGrant } from '#model';
import type { SettingType } from './setting.ts';

const RULES_MAX = 1_000;
const NAME = /^(?:CN|DNS|URI)=[^;]{1,1024}$/;

/** Rules separated by semicolons, or the word `none`. The roles follow the last equals sign. */
export const certificateRoles: SettingType<readonly CertificateRule[]> = {
  expects: 'none, or rules such as CN=ops=admin;URI=spiffe://shop/api=reader:shop,writer:shop',
  read: (text) => {
    if (text === 'none') return [];
    const rules = text.split(';').map((each) => ruleOf(each.trim()));
    const known = rules.filter((each) => each !== undefined);
    return known.length === rules.length && known.length <= RULES_MAX ? known : undefined;
  },
  write: (rules) => (rules.length === 0 ? 'none' : rules.map(formatRule).join(';')),
};

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

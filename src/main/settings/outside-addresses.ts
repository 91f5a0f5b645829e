/**
 * Addresses of all nodes for clients outside the cluster, from the setting `advertise-outside`, which is the same on
 * every node (ADR 0178).
 */
import { formatAddress, parseAddress } from '#base';
import type { OutsideAddresses } from '#transport';
import { listOf, type SettingType } from './setting.ts';

/** The address of one node, or a pattern whose `*` in the first label is replaced by the node name. */
export interface OutsideRule {
  readonly node: string | undefined;
  readonly host: string;
  readonly port: number;
}

const ANY = '*';
/** Placeholder for the node name when the rest of a pattern is checked. */
const SOME_NAME = 'n';

/** Rules separated by commas, or the word `none`. */
export const outsideRules: SettingType<readonly OutsideRule[]> = {
  ...listOf({ expects: '', max: 100, read: ruleOf, write: formatRule }),
  expects: 'none, *.DOMAIN:PORT, or NODE=HOST:PORT for each node, separated by commas',
};

/** Undefined without rules. */
export function outsideAddresses(rules: readonly OutsideRule[]): OutsideAddresses | undefined {
  if (rules.length === 0) return undefined;
  const hosts = new Set(rules.filter(({ node }) => node !== undefined).map(({ host }) => host));
  const domains = rules.filter(({ node }) => node === undefined).map(({ host }) => host.slice(host.indexOf('.')));
  return {
    isOutside: (host) => hosts.has(host) || domains.some((domain) => `.${host}`.endsWith(domain)),
    addressOf: (name) => {
      const rule = rules.find(({ node }) => node === name) ?? rules.find(({ node }) => node === undefined);
      const address = rule && { host: rule.host.replace(ANY, () => name.toLowerCase()), port: rule.port };
      return address && parseAddress(formatAddress(address)) && formatAddress(address);
    },
  };
}

function ruleOf(text: string): OutsideRule | undefined {
  const at = text.lastIndexOf('=');
  const node = at < 0 ? undefined : text.slice(0, at);
  const address = text.slice(at + 1).toLowerCase();
  const [label = '', ...domain] = address.split('.');
  const isPattern = label.split(ANY).length === 2 && domain.length > 0;
  if (node === '' || (node === undefined) !== isPattern) return undefined;
  const parsed = parseAddress(isPattern ? address.replace(ANY, SOME_NAME) : address);
  if (parsed === undefined) return undefined;
  const host = isPattern ? `${label}${parsed.host.slice(parsed.host.indexOf('.'))}` : parsed.host;
  return { node, host, port: parsed.port };
}

function formatRule({ node, host, port }: OutsideRule): string {
  return `${node === undefined ? '' : `${node}=`}${formatAddress({ host, port })}`;
}

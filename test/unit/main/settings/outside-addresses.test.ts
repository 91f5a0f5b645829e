// Goal: the outside addresses of nodes are read as they were meant, written as they were read, and tell a client from
// outside by the host that it has dialled (ADR 0178). Method: tables of texts and hosts.
import { describe, expect, it } from 'vitest';
import { outsideAddresses, outsideRules } from '../../../../src/main/settings/outside-addresses.ts';

const DOMAIN = '*.cairn.example.com:443';
const NAMED = 'cairn-0=203.0.113.7:31050,cairn-1=[2001:db8::1]:31051';

describe('outside addresses', () => {
  it.each([
    'none',
    DOMAIN,
    'shop-*.example.com:50051',
    'shop-*-eu.example.com:50051',
    NAMED,
    `cairn-9=other.example.com:1,${DOMAIN}`,
  ])('%s is read, and written as it was', (text) => {
    const rules = outsideRules.read(text);
    expect(rules && outsideRules.write(rules)).toBe(text);
  });

  it.each([
    '',
    '*:443',
    '*.cairn.example.com',
    'cairn.example.com:443',
    '*.*.example.com:443',
    '**.example.com:443',
    'cairn-0=*.example.com:443',
    '=cairn.example.com:443',
    'cairn-0=cairn.example.com:0',
    `${DOMAIN},`,
  ])('%j is no such setting', (text) => {
    expect(outsideRules.read(text)).toBeUndefined();
  });

  it.each([
    [DOMAIN, 'cairn-0', 'cairn-0.cairn.example.com:443'],
    ['Shop-*.Example.com:50051', 'Node-1', 'shop-node-1.example.com:50051'],
    [NAMED, 'cairn-1', '[2001:db8::1]:31051'],
    [NAMED, 'cairn-2', undefined],
    [`${NAMED},${DOMAIN}`, 'cairn-0', '203.0.113.7:31050'],
    [`${NAMED},${DOMAIN}`, 'cairn-2', 'cairn-2.cairn.example.com:443'],
    [DOMAIN, 'a node', undefined],
    [DOMAIN, '$&', undefined],
  ])('by %s the node %s is found at %s', (text, name, address) => {
    expect(outsideAddresses(outsideRules.read(text) ?? [])?.addressOf(name)).toBe(address);
  });

  it.each([
    ['cairn-0.cairn.example.com', true],
    ['any.other.cairn.example.com', true],
    ['cairn.example.com', true],
    ['203.0.113.7', true],
    ['2001:db8::1', true],
    ['notcairn.example.com', false],
    ['example.com', false],
    ['cairn-0.cairn.shop.svc.cluster.local', false],
    ['203.0.113.8', false],
    ['', false],
  ])('whoever has dialled %j is outside: %s', (host, isOutside) => {
    expect(outsideAddresses(outsideRules.read(`${NAMED},${DOMAIN}`) ?? [])?.isOutside(host)).toBe(isOutside);
  });

  it('are none without a setting', () => {
    expect(outsideAddresses([])).toBeUndefined();
  });
});

// Goal: a command is found by its method and path, and what is not found, or written wrongly, is told. Method: tables.
import { describe, expect, it } from 'vitest';
import { Router } from '../../sdk/component/src/routes.ts';

const router = new Router({
  'POST /accounts/{account}': 'open',
  'POST /accounts/all': 'all',
  'GET /{kind}/{name}/x': 'x',
  'GET /accounts/{name}/{part}': 'part',
  'DELETE /': 'root',
});

describe('Router', () => {
  it.each([
    ['POST', '/accounts/a', 'open', { account: 'a' }],
    ['post', '/accounts/a?b=/c', 'open', { account: 'a' }],
    ['POST', '/accounts/a%2Fb%20%C3%A4', 'open', { account: 'a/b ä' }],
    ['POST', '/accounts/all', 'all', {}],
    ['GET', '/accounts/a/x', 'part', { name: 'a', part: 'x' }],
    ['GET', '/other/a/x', 'x', { kind: 'other', name: 'a' }],
    ['DELETE', '/', 'root', {}],
  ])('finds %s %s', (method, path, target, parameters) => {
    expect(router.find(method, path)).toEqual({ target, parameters });
  });

  it.each([
    ['GET', '/accounts/a'],
    ['POST', '/accounts/'],
    ['POST', '/accounts'],
    ['POST', 'accounts/a'],
    ['POST', '/accounts/a/b'],
    ['POST', '/accounts/%zz'],
    ['POST', ''],
  ])('finds nothing for %s %s', (method, path) => {
    expect(router.find(method, path)).toBeUndefined();
  });

  it.each([
    ['accounts/{a}', /"accounts\/\{a\}" is none; write it like/],
    ['POST accounts', /is none/],
    ['POST /a{b}', /"a\{b\}" .* is neither fixed nor \{named\}/],
  ])('refuses the route %s', (route, says) => {
    expect(() => new Router({ [route]: 1 })).toThrow(says);
  });

  it('refuses two routes of one shape', () => {
    expect(() => new Router({ 'GET /{a}': 1, 'GET /{b}': 2 })).toThrow(/the same commands/);
  });
});

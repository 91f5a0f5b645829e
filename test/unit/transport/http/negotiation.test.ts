// Goal: content negotiation handles any Accept header (ADR 0115). Method: tables of headers.
import { expect, it } from 'vitest';
import { negotiate } from '../../../../src/transport/http/negotiation.ts';

const OFFERS = ['text/html', 'text/csv;charset=utf-8', 'application/json'];

it.each<readonly [accept: string | undefined, chosen: string | undefined]>([
  [undefined, 'text/html'],
  ['', 'text/html'],
  [' , ,', 'text/html'],
  ['image/png', undefined],
  ['text/htm', undefined],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
  ['text/html;q=0.5, text/csv;q=0.9, application/json;q=0.7', 'text/csv;charset=utf-8'],
  ['application/json, */*', 'application/json'],
  ['text/html;q=0.1, */*;q=0.2', 'text/csv;charset=utf-8'],
  ['*/*;q=0.000, application/json;q=0.001', 'application/json'],
  ['text/*;q=0, text/csv;q=0.1', 'text/csv;charset=utf-8'],
  ['text/csv ; CHARSET="UTF-8"', 'text/csv;charset=utf-8'],
  ['text/csv;charset=utf-8;header=present', undefined],
  ['application/json;q=0.5;level=1', 'application/json'],
  ['image/png;a="\\", application/json", text/csv', 'text/csv;charset=utf-8'],
  ['text/csv;;q=0.5;', 'text/csv;charset=utf-8'],
  ['application/json; charset=utf-8', 'application/json'],
  ['text/html;q=0.5, application/json;charset="UTF-8"', 'application/json'],
  ['application/json; charset=iso-8859-1', undefined],
])('negotiation chooses for %j %s', (accept, chosen) => {
  const index = negotiate(accept, OFFERS);
  expect(index === undefined ? undefined : OFFERS[index]).toBe(chosen);
});

it('negotiation ignores what it cannot parse', () => {
  const paths =
    '*/json text text/ /html text/html/x täxt/html " text/html;level text/html;level="1 text/html;level="1"x';
  const weights = '*;q=.2 text/html;q=2 text/html;q=-1 text/html;q=0.0001 text/html;q=1.001 text/html;q=';
  for (const unreadable of [...paths.split(' '), ...weights.split(' '), '*; q=.2', 'text/ html']) {
    const taken = [negotiate(unreadable, OFFERS), negotiate(`application/json, ${unreadable}`, OFFERS)];
    expect([unreadable, ...taken]).toEqual([unreadable, undefined, 2]);
  }
});

it('negotiation chooses nothing when nothing is offered', () => {
  expect([negotiate(undefined, []), negotiate('*/*', [])]).toEqual([undefined, undefined]);
});

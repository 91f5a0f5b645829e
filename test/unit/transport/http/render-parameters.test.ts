// Goal: each parameter of a render goes to the State View, the presenter or the server, and the link to the next page
// has all of them (ADR 0115). Method: queries of examples.
import { expect, it } from 'vitest';
import { parseQueryString } from '../../../../src/transport/http/query-string.ts';
import { continuationOf, renderParameters } from '../../../../src/transport/http/render-parameters.ts';
import { nextLink } from '../../../../src/transport/http/reply.ts';

it('parameters of a render with a dot bind the view, and all others and those go to the presenter', () => {
  const query = parseQueryString('limit=5&subject.path=a%26b&effective_time_end_at=now&continuation=x&=y&.=z');
  const { cut, bindings, presented } = renderParameters(query, { name: 'tree', isPresented: true });
  expect(cut).toBe('now');
  expect([...bindings]).toEqual([
    ['subject.path', 'a&b'],
    ['.', 'z'],
  ]);
  expect([...presented]).toEqual([
    ['limit', '5'],
    ['subject.path', 'a&b'],
    ['continuation', 'x'],
    ['', 'y'],
    ['.', 'z'],
  ]);
});

it.each(['limit', 'continuation', '', '__proto__'])(
  'parameters of a render without a dot are rejected without a presenter: %j',
  (name) => {
    const query = parseQueryString(`subject.path=a&${name}=5`);
    expect(() => renderParameters(query, { name: 'tree', isPresented: false })).toThrow(
      `The parameter ${JSON.stringify(name)} is for a presenter, and tree names none; a State View takes parameters such as`,
    );
  },
);

it.each([
  ['', 'b'],
  ['limit=5&subject.path=a%26b', 'ö, "b" <c>; d&e=f'],
  ['continuation=old&x=1', 'new'],
  ['effective_time_end_at=2024-01-01T00%3A00%3A00Z', '+ +'],
])('the link to the next page of ?%s has all parameters, and the token %j', (search, token) => {
  const query = parseQueryString(search);
  const link = nextLink(continuationOf('/api/v1/db/a/7/state-views/tree/v1', query, token))['link'] ?? '';
  const [, target = ''] = /^<([^<>\s]*)>; rel="next"$/.exec(link) ?? [];
  const url = new URL(target, 'http://a');
  expect(url.pathname).toBe('/api/v1/db/a/7/state-views/tree/v1');
  const asked = new Map([...query.names()].map((name) => [name, query.get(name)]));
  expect(new Map(url.searchParams)).toEqual(asked.set('continuation', token));
});

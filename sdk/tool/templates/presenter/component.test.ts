import { after, describe, test } from 'node:test';
import { built, plainPresenter, presenter } from 'cairn/testing';
import { component } from './component.ts';

const STATE = [{ task: 'a', title: 'R & D <now>' }];

const real = await built('component.wasm', 'presenter');
after(() => real[Symbol.asyncDispose]());

for (const [name, host] of Object.entries({ 'plain code': plainPresenter(component), 'what was built': real })) {
  describe(name, () => {
    test('lines of text', () =>
      presenter(host).given(STATE).when({ contentType: 'text/plain' }).thenWrites('a  R & D <now>\n'));
    test('HTML, in which text is text', () =>
      presenter(host)
        .given(STATE)
        .when({ contentType: 'text/html' })
        .thenWrites('<!doctype html>\n<meta charset="utf-8">\n<ul>\n<li>a, R &#38; D &#60;now&#62;</li>\n</ul>\n'));
  });
}

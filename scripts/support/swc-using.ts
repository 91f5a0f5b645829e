/**
 * Teaches the visitor of @swc/core the statements `using` and `await using`.
 *
 * dependency-cruiser reads imports through that visitor, which stops at a statement that it does not know although the
 * parser of the same package produces it. To be removed when @swc/core visits it (seen with 1.16.22).
 */
import type { Span, Statement, VariableDeclarator } from '@swc/core';
import { Visitor } from '@swc/core/Visitor.js';

interface UsingDeclaration {
  readonly type: 'UsingDeclaration';
  readonly span: Span;
  readonly decls: VariableDeclarator[];
}

/** Changes the prototype that all visitors of this process share; a second call changes nothing. */
export function teachSwcUsing(): void {
  if (taught) return;
  taught = true;
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the visitor as `this`, two lines below
  const visitKnown = Visitor.prototype.visitStatement;
  Visitor.prototype.visitStatement = function visit(statement: Statement | UsingDeclaration): Statement {
    return visitKnown.call(this, statement.type === 'UsingDeclaration' ? asConst(statement) : statement);
  };
}

let taught = false;

function asConst({ span, decls }: UsingDeclaration): Statement {
  return { type: 'VariableDeclaration', span, kind: 'const', declare: false, declarations: decls };
}

// A log that keeps the errors.
import type { ErrorLog } from '#base';

type Logged = Parameters<ErrorLog['error']>;

export class LoggedErrors implements ErrorLog {
  readonly errors: Logged[] = [];

  error(...logged: Logged): void {
    this.errors.push(logged);
  }
}

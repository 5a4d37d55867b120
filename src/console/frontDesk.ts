/** Who comes in: signing in and out, and what a request must bring along before anything is done for it. */
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { SandboxError } from '../errors.ts';
import type { ConsoleBackend, ConsoleKey } from './backend.ts';
import type { Visitor } from './pages/layout.ts';
import { isSameSecret, SESSION_LIMITS, Sessions } from './sessions.ts';
import { SignInLimit } from './signInLimit.ts';

/** Pages ask with it for what has changed: that is no sign of a person. */
export const REFRESH_HEADER = 'x-refresh';

export interface FrontDeskOptions {
  /** Where browsers find the console, as `https://glovebox.example.org`; the address of each request when absent. */
  readonly publicUrl?: string;
  /** From where a request comes; what tries to sign in are counted by it. */
  readonly addressOf: (context: Context) => string;
  readonly now: () => number;
}

/** Somebody who is signed in, with a key that still holds. */
export interface SignedIn {
  readonly key: ConsoleKey;
  readonly visitor: Visitor;
}

export type SignInOutcome =
  | { readonly outcome: 'signed in' }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'wait'; readonly seconds: number };

export class FrontDesk {
  readonly #backend: ConsoleBackend;
  readonly #options: FrontDeskOptions;
  readonly #sessions: Sessions;
  readonly #limit = new SignInLimit();

  constructor(backend: ConsoleBackend, options: FrontDeskOptions) {
    this.#backend = backend;
    this.#options = options;
    this.#sessions = new Sessions(options.now);
  }

  /** Who asks; undefined for nobody who is signed in, or whose key holds no more. */
  async whoAsks(context: Context): Promise<SignedIn | undefined> {
    const isUse = context.req.header(REFRESH_HEADER) === undefined;
    return this.#find(context, isUse);
  }

  /** The same for what goes on by itself, which is no use of a session. */
  async whoListens(context: Context): Promise<SignedIn | undefined> {
    return this.#find(context, false);
  }

  /**
   * A right key is let in however many were wrong before: keys are too long to be guessed, and whoever tries them must not
   * keep out the people who have to answer.
   */
  async signIn(context: Context, secret: string): Promise<SignInOutcome> {
    const address = this.#options.addressOf(context);
    const seconds = await this.#limit.begin(address);
    const key = await this.#backend.authenticate(secret);
    if (key === undefined || !mayEnter(key))
      return seconds > 0 ? { outcome: 'wait', seconds } : { outcome: 'refused' };
    await this.#limit.succeeded(address);
    // A cookie that was there before is worth nothing any more.
    this.#sessions.end(this.#token(context));
    const { name, isSecure } = this.#cookie(context);
    setCookie(context, name, this.#sessions.start(key.id), {
      ...{ httpOnly: true, sameSite: 'Strict', path: '/', secure: isSecure },
      maxAge: SESSION_LIMITS.lifetimeSec,
    });
    return { outcome: 'signed in' };
  }

  signOut(context: Context): void {
    this.#sessions.end(this.#token(context));
    const { name, isSecure } = this.#cookie(context);
    deleteCookie(context, name, { path: '/', secure: isSecure });
  }

  /** Throws `FORBIDDEN` for what a page of another origin sends. */
  assertOwnOrigin(context: Context): void {
    const origin = context.req.header('origin');
    if (origin === this.#origin(context)) return;
    throw new SandboxError('FORBIDDEN', 'The form was not sent by a page of this console.', {
      hint: 'Open the console again. Behind a proxy, its public address has to be set.',
    });
  }

  /** Throws `FORBIDDEN` for a form that is not from a page that this very session was shown. */
  assertOwnForm(form: Readonly<Record<string, unknown>>, { visitor }: SignedIn): void {
    const given = form['csrf'];
    if (typeof given === 'string' && isSameSecret(given, visitor.csrf)) return;
    throw new SandboxError('FORBIDDEN', 'The form is from another session.', {
      hint: 'Open the page again, and send it from there.',
    });
  }

  async #find(context: Context, isUse: boolean): Promise<SignedIn | undefined> {
    const token = this.#token(context);
    const session = this.#sessions.find(token, { isUse });
    if (session === undefined) return undefined;
    const key = await this.#backend.key(session.keyId);
    if (key === undefined || !mayEnter(key)) {
      this.#sessions.end(token);
      return undefined;
    }
    return { key, visitor: { name: key.name, scopes: key.scopes, csrf: session.csrf } };
  }

  #token(context: Context): string | undefined {
    return getCookie(context, this.#cookie(context).name);
  }

  /** Browsers keep cookies of one host for all its ports, so the port is in the name; `__Host-` pins it to https. */
  #cookie(context: Context): { readonly name: string; readonly isSecure: boolean } {
    const { protocol, port } = new URL(this.#origin(context));
    const isSecure = protocol === 'https:';
    const name = `glovebox_session${port === '' ? '' : `_${port}`}`;
    return { name: isSecure ? `__Host-${name}` : name, isSecure };
  }

  #origin(context: Context): string {
    return new URL(this.#options.publicUrl ?? context.req.url).origin;
  }
}

function mayEnter({ scopes }: ConsoleKey): boolean {
  return scopes.includes('approve') || scopes.includes('audit');
}
